use super::*;
use crate::properties::Place;
use crate::workload::Part;

fn settings(phase: Phase, text: &str) -> Result<Settings, Wrong> {
    let mut properties = Properties::default();
    properties.set("workload", "site.ycsb.workloads.CoreWorkload", Place::Default);
    properties.set("recordcount", "1000", Place::Default);
    properties.read("w", text.as_bytes()).unwrap();
    let client = Part { number: 1, of: 3 };
    let workload = Workload::new(&properties, client, |_| unreachable!("no lengths are in a file"));
    Settings::new(&properties, phase, &workload?)
}

#[test]
fn a_load_has_the_records_of_the_client_and_a_run_its_operations() {
    assert_eq!(settings(Phase::Load, "").unwrap().operations, Some(333));
    assert_eq!(settings(Phase::Run, "operationcount=7").unwrap().operations, Some(7));
    let timed = settings(Phase::Run, "maxexecutiontime=5").unwrap();
    assert_eq!((timed.operations, timed.longest), (None, Some(Nanos::from_secs(5))));
}

#[test]
fn threads_above_the_operations_are_reduced_with_a_warning() {
    let settings = settings(Phase::Run, "operationcount=7\nthreadcount=8").unwrap();
    assert_eq!(settings.threads, 7);
    assert_eq!(
        settings.warnings,
        ["`threadcount` is 8, above the number of operations: it is reduced to 7"]
    );
}

#[test]
fn an_empty_share_is_a_warning_of_its_own() {
    let mut properties = Properties::default();
    let text = "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=5\nthreadcount=8";
    properties.read("x", text.as_bytes()).unwrap();
    let client = Part { number: 0, of: 100 };
    let workload = Workload::new(&properties, client, |_| unreachable!()).unwrap();
    let settings = Settings::new(&properties, Phase::Load, &workload).unwrap();
    let why = "5 records are divided between 100 clients, and the share of this one is empty: it inserts nothing";
    assert_eq!((settings.operations, settings.threads), (Some(0), 1));
    assert_eq!(settings.warnings, [why]);
}

#[test]
fn the_command_says_the_phase() {
    let warnings = |phase, text: &str| settings(phase, text).unwrap().warnings;
    assert_eq!(
        warnings(Phase::Load, "dotransactions=true"),
        ["w:1: the property `dotransactions` is `true`, but the command says the phase"]
    );
    assert_eq!(warnings(Phase::Load, "dotransactions=false"), [""; 0]);
    assert_eq!(warnings(Phase::Load, ""), [""; 0]);
}

#[test]
fn a_target_prints_the_intended_times_too() {
    let interval = |text: &str| settings(Phase::Load, text).unwrap().output.interval;
    assert_eq!(interval(""), Interval::Operation);
    assert_eq!(interval("target=100"), Interval::Both);
    assert_eq!(interval("target=100\nmeasurement.interval=op"), Interval::Operation);
    assert_eq!(interval("measurement.interval=intended"), Interval::Intended);
}

#[test]
fn exporters_have_the_names_of_the_original() {
    for (class, exporter) in [
        ("site.ycsb.measurements.exporter.TextMeasurementsExporter", Exporter::Text),
        ("com.yahoo.ycsb.measurements.exporter.JSONMeasurementsExporter", Exporter::Json),
        ("site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter", Exporter::JsonArray),
    ] {
        let text = format!("exporter={class}");
        assert_eq!(settings(Phase::Load, &text).unwrap().output.exporter, exporter);
    }
}

#[test]
fn the_rest_is_read() {
    let settings = settings(
        Phase::Load,
        "status=true\nlabel=x\ntarget=5\nhdrhistogram.fileoutput=true\nhdrhistogram.output.path=out/\n\
         latencytrackederrors=ERROR, NOT_FOUND\nhdrhistogram.percentiles=50, 99.9\nexportfile=a\n\
         measurementtype=hdrhistogram+raw\nmeasurement.raw.output_file=b\nmeasurement.raw.no_summary=true\n\
         core_workload_insertion_retry_limit=4\ncore_workload_insertion_keep_going_on_error=true",
    )
    .unwrap();
    assert_eq!((settings.status, &*settings.label), (Some(Nanos::from_secs(10)), "x"));
    let output = settings.output;
    assert_eq!(output.hdr_prefix.as_deref(), Some("out/"));
    assert_eq!((output.file.as_deref(), output.raw_file.as_deref()), (Some("a"), Some("b")));
    assert_eq!((output.percentiles, output.has_summary), (vec![50.0, 99.9], false));
    let tracked = |status| settings.terms.tracked[status as usize];
    assert!(tracked(Status::Error) && tracked(Status::NotFound) && !tracked(Status::Forbidden));
    assert_eq!(settings.retries, Retries { limit: 4, wait: Nanos::from_secs(3), goes_on: true });
}

#[test]
fn what_makes_no_run_is_refused_with_the_remedy() {
    let wrong = |text: &str| settings(Phase::Run, text).map(|_| ()).unwrap_err().to_string();
    let cases = [
        "operationcount=0",
        "operationcount=1\nthreadcount=0",
        "operationcount=1\nmeasurementtype=hdr",
        "operationcount=1\nmeasurement.interval=none",
        "operationcount=1\nhdrhistogram.percentiles=50,x",
        "operationcount=1\nhdrhistogram.percentiles=0",
        "operationcount=1\nexporter=my.Exporter",
        "operationcount=1\nlatencytrackederrors=TIMEOUT",
        "operationcount=1\nstatus.interval=0",
    ];
    expect_test::expect![[r#"
        w:1: the property `operationcount` is 0, as is `maxexecutiontime`, so that the run would not end; set one of them
        w:2: the property `threadcount` is `0`; write a whole number from 1 to 1048576
        w:2: the property `measurementtype` is `hdr`; write one of: hdrhistogram, histogram, hdrhistogram+histogram, hdrhistogram+raw, timeseries, raw
        w:2: the property `measurement.interval` is `none`; write one of: op, intended, both
        w:2: the property `hdrhistogram.percentiles` is `50,x`; write numbers from above 0 to 100 with commas between, such as 50,99.9
        w:2: the property `hdrhistogram.percentiles` is `0`; write numbers from above 0 to 100 with commas between, such as 50,99.9
        w:2: the property `exporter` is not supported; write one of: site.ycsb.measurements.exporter.TextMeasurementsExporter, site.ycsb.measurements.exporter.JSONMeasurementsExporter, site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter
        w:2: the property `latencytrackederrors` has `TIMEOUT`, which is not a status; write some of: OK, ERROR, NOT_FOUND, NOT_IMPLEMENTED, UNEXPECTED_STATE, BAD_REQUEST, FORBIDDEN, SERVICE_UNAVAILABLE, BATCHED_OK
        w:2: the property `status.interval` is `0`; write a whole number from 1 to 2147483647"#]].assert_eq(&cases.map(wrong).join("\n"));
}
