use clap::Parser;
use ycsb::properties::Place;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    run: Run,
}

fn parsed(words: &str) -> Result<Run, String> {
    let line = Line::try_parse_from(format!("x {words}").split_whitespace());
    line.map(|line| line.run).map_err(|error| error.to_string())
}

/// The workloads that ship, by their letters.
const SHIPPED: [(char, &str); 6] = [
    ('a', include_str!("../../../../../../experiments/ycsb/workloada")),
    ('b', include_str!("../../../../../../experiments/ycsb/workloadb")),
    ('c', include_str!("../../../../../../experiments/ycsb/workloadc")),
    ('d', include_str!("../../../../../../experiments/ycsb/workloadd")),
    ('e', include_str!("../../../../../../experiments/ycsb/workloade")),
    ('f', include_str!("../../../../../../experiments/ycsb/workloadf")),
];

#[test]
fn the_binding_is_that_of_the_command_line_or_of_the_class() {
    let binding = |words: &str, class: &str| {
        let mut properties = Properties::default();
        if !class.is_empty() {
            properties.set("db", class, Place::Argument("-db".into()));
        }
        parsed(words).unwrap().binding(&properties)
    };
    for (words, class, expected) in [
        ("", "", Binding::Basic),
        ("redis", "", Binding::Redis),
        ("kv", "", Binding::Kv),
        ("", "site.ycsb.BasicDB", Binding::Basic),
        ("", "com.yahoo.ycsb.db.RedisClient", Binding::Redis),
        ("redis", "basic", Binding::Basic),
    ] {
        assert_eq!(binding(words, class).unwrap(), expected, "{words} {class}");
    }
    let refused = binding("", "site.ycsb.db.MongoDbClient").unwrap_err();
    assert_eq!(
        refused.error.to_string(),
        "-db: the property `db` is `site.ycsb.db.MongoDbClient`, which is not a binding here; write \
         site.ycsb.BasicDB or site.ycsb.db.RedisClient, or name the binding: basic, kv, redis"
    );
}

#[test]
fn a_client_is_one_of_several() {
    let client = |text: &str| parsed(&format!("basic --client {text}")).map(|run| run.client);
    assert_eq!(client("1/3"), Ok(Some(Part { number: 1, of: 3 })));
    for text in ["3/3", "1", "1/-2", "a/b", "0/0"] {
        let refused = client(text).unwrap_err();
        assert!(refused.contains("write 0/2 and 1/2"), "{text}: {refused}");
    }
}

#[test]
fn a_document_is_alone_on_stdout_unless_a_file_has_it() {
    for (words, properties, expected) in [
        ("basic --json", "", true),
        ("basic --json", "exportfile=result.json", false),
        ("basic", "", false),
    ] {
        let (arguments, mut all) = (parsed(words).unwrap(), Properties::default());
        let of_all = "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=1\noperationcount=1\n";
        all.read("w", format!("{of_all}{properties}").as_bytes()).unwrap();
        let workload =
            Workload::new(&all, Part::WHOLE, |_| unreachable!("no lengths are in a file"));
        let workload = Arc::new(workload.unwrap());
        let settings = Settings::new(&all, Phase::Run, &workload).unwrap();
        let prepared = Prepared { arguments: &arguments, properties: &all, workload, settings };
        assert_eq!(prepared.is_for_document(), expected, "{words} {properties}");
    }
    // What is left out is not written: nothing fails, wherever stdout leads.
    let mut operations = Operations { is_left_out: true };
    assert_eq!(operations.write(b"READ usertable\n").unwrap(), 15);
}

#[test]
fn servers_that_cannot_divide_the_keys_are_refused_before_anything_is_sent() {
    let workload = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/ycsb/workloada");
    let refused = |servers: &str| {
        let words = format!("kv -P {workload} -p kv.servers={servers}");
        let failure = run(Phase::Load, &parsed(&words).unwrap()).unwrap_err();
        assert_eq!(failure.exit, Exit::Question);
        failure.error.to_string()
    };
    let twice = "the property `kv.servers` names a server twice";
    for servers in ["127.0.0.1:7952,127.0.0.1:7952", "127.0.0.1:7720,127.0.0.1"] {
        let why = refused(servers);
        assert!(why.starts_with("-p") && why.contains(twice), "{why}");
    }
    // No name of these is looked up.
    let many = vec!["nowhere.invalid"; 5000].join(",");
    let why = refused(&many);
    let remedy = "names 5,000 servers, and keys are divided between at most 4,096";
    assert!(why.ends_with(remedy), "{}", &why[why.len() - 200..]);
}

#[test]
fn the_workloads_that_ship_are_those_of_ycsb() {
    let mut text = String::new();
    for (letter, content) in SHIPPED {
        let mut properties = Properties::default();
        properties.read("w", content.as_bytes()).unwrap();
        assert_eq!(properties.warnings(basic::PROPERTIES), [""; 0]);
        Workload::new(&properties, Part::WHOLE, |_| unreachable!("no lengths are in a file"))
            .unwrap();
        text += &format!("{letter}:");
        for (name, value) in properties.resolved(&[]) {
            if value.place != Place::Default && name != "workload" {
                text += &format!(" {name}={}", value.text);
            }
        }
        text.push('\n');
    }
    expect_test::expect![[r#"
        a: insertproportion=0 operationcount=1000 readmodifywriteproportion=0 readproportion=0.5 recordcount=1000 requestdistribution=zipfian scanproportion=0 updateproportion=0.5
        b: insertproportion=0 operationcount=1000 readmodifywriteproportion=0 readproportion=0.95 recordcount=1000 requestdistribution=zipfian scanproportion=0 updateproportion=0.05
        c: insertproportion=0 operationcount=1000 readmodifywriteproportion=0 readproportion=1 recordcount=1000 requestdistribution=zipfian scanproportion=0 updateproportion=0
        d: insertproportion=0.05 operationcount=1000 readmodifywriteproportion=0 readproportion=0.95 recordcount=1000 requestdistribution=latest scanproportion=0 updateproportion=0
        e: insertproportion=0.05 maxscanlength=100 operationcount=1000 readmodifywriteproportion=0 readproportion=0 recordcount=1000 requestdistribution=zipfian scanlengthdistribution=uniform scanproportion=0.95 updateproportion=0
        f: insertproportion=0 operationcount=1000 readmodifywriteproportion=0.5 readproportion=0.5 recordcount=1000 requestdistribution=zipfian scanproportion=0 updateproportion=0
    "#]].assert_eq(&text);
}

#[test]
fn every_property_has_its_default() {
    let resolved = Properties::default().resolved(basic::PROPERTIES);
    let lines = resolved.iter().map(|(name, value)| format!("{name}={}\n", value.text));
    expect_test::expect![[r#"
        basicdb.count=false
        basicdb.randomizedelay=true
        basicdb.simulatedelay=0
        basicdb.verbose=true
        core_workload_insertion_keep_going_on_error=false
        core_workload_insertion_retry_interval=3
        core_workload_insertion_retry_limit=0
        dataintegrity=false
        db=
        dotransactions=true
        exponential.frac=0.8571428571
        exponential.percentile=95
        exporter=site.ycsb.measurements.exporter.TextMeasurementsExporter
        exportfile=
        fieldcount=10
        fieldlength=100
        fieldlengthdistribution=constant
        fieldlengthhistogram=hist.txt
        fieldnameprefix=field
        hdrhistogram.fileoutput=false
        hdrhistogram.output.path=
        hdrhistogram.percentiles=50,95,99
        histogram.buckets=1000
        hotspotdatafraction=0.2
        hotspotopnfraction=0.8
        insertcount=
        insertorder=hashed
        insertproportion=0
        insertstart=0
        label=
        latencytrackederrors=
        maxexecutiontime=0
        maxscanlength=1000
        measurement.histogram.verbose=false
        measurement.interval=
        measurement.raw.no_summary=false
        measurement.raw.output_file=
        measurementtype=hdrhistogram
        minfieldlength=1
        minscanlength=1
        operationcount=0
        readallfields=true
        readallfieldsbyname=false
        readmodifywriteproportion=0
        readproportion=0.95
        recordcount=0
        reportlatencyforeacherror=false
        requestdistribution=uniform
        scanlengthdistribution=uniform
        scanproportion=0
        status=false
        status.interval=10
        table=usertable
        target=0
        threadcount=1
        timeseries.granularity=1000
        updateproportion=0.05
        workload=
        writeallfields=false
        zeropadding=1
    "#]]
    .assert_eq(&lines.collect::<String>());
}
