use std::path::Path;

use expect_test::expect;

use super::*;
use crate::course::{Attempt, Position, Trial};
use crate::plan::{Plan, Turns};
use crate::spec;
use crate::spec::workload::ARGUMENTS;
use crate::system::System;
use crate::trial;

fn read(load: &str, further: &str) -> Resolved {
    let text = format!(
        "name: x\nwhere: {{backend: external}}\nsut: {{endpoint: [\"http://a:1/\", \"http://b:2\"]}}\n\
         load: {{{load}}}\nphases: {{measure: {{time: 5s}}}}\n{further}\n"
    );
    spec::from_bytes("my.yaml", text.as_bytes(), Path::new("/specs"), None, &[]).unwrap()
}

fn command(resolved: &Resolved, rate: Option<f64>) -> String {
    let wanted = AskedLoad {
        rate: rate.and_then(Rate::per_second),
        warm_up: Nanos::from_millis(1_500),
        measure: Nanos::from_secs(5),
        drain: Nanos::ZERO,
        interval: None,
        seed: 7,
    };
    let urls = ["http://a:1/", "http://b:2"];
    let targets: Vec<String> = urls.iter().map(|url| target(resolved, url, 1)).collect();
    arguments(resolved, &targets, &[], &wanted).to_string()
}

/// Without a workload `/` is requested, and that is the path of the endpoint, if it has one.
#[test]
fn the_path_of_an_endpoint_is_requested_as_it_is_written() {
    for (endpoint, without, with) in [
        ("http://host", "http://host/", "http://host/a"),
        ("http://host/", "http://host/", "http://host/a"),
        ("http://host/fast", "http://host/fast", "http://host/fast/a"),
        ("http://host/fast/", "http://host/fast/", "http://host/fast/a"),
    ] {
        let first = |workload: &str| {
            let text = format!(
                "name: x\nwhere: {{backend: external}}\nsut: {{endpoint: {endpoint:?}}}\n\
                 load: {{model: closed}}\n{workload}"
            );
            let resolved =
                spec::from_bytes("my.yaml", text.as_bytes(), Path::new("/specs"), None, &[]);
            let command = check(&resolved.unwrap()).to_string();
            command.split(' ').nth(2).unwrap().to_owned()
        };
        assert_eq!((first(""), first("workload: {get: /}\n")), (without.into(), without.into()));
        assert_eq!(first("workload: {get: /a}\n"), with);
    }
    let plain = read("model: closed", "");
    for endpoint in ["http://host/fast?x=1", "http://host?x=1"] {
        assert_eq!(target(&plain, endpoint, 1), endpoint);
    }
    let with_path = read("model: closed", "workload: {get: /a}");
    for (endpoint, with) in
        [("http://h:1#top", "http://h:1/a"), ("http://me@h:1/x/#?", "http://me@h:1/x/a")]
    {
        assert_eq!(target(&with_path, endpoint, 1), with);
    }
}

/// A URL that is not of HTTP has a path, too.
#[test]
fn the_path_of_any_endpoint_is_told_to_another_generator_as_it_is_written() {
    let text = "name: x\nwhere: {backend: external}\nsut: {endpoint: 'redis://h/0'}\n\
                load: {model: closed}\n\
                workload: {exec: [wrk, '${url}', '${duration}'], parse: wrk, path: /}\n";
    let resolved = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("/specs"), None, &[]);
    let resolved = resolved.unwrap();
    for (url, told) in [("redis://h/0", "redis://h/0"), ("redis://h", "redis://h/")] {
        assert_eq!(target(&resolved, url, 1), told);
    }
}

#[test]
fn an_open_loop_gets_its_rate_and_arrivals() {
    let resolved = read("model: open, rate: 5k/s, arrivals: constant", "workload: {get: /a}");
    expect!["load http://a:1/a http://b:2/a --rate 5000/s --arrivals constant --connections 32 --warm-up 1500ms --duration 5s --drain 0s --timeout 10s --seed 7 --progress lines --json --per-target"].assert_eq(&command(&resolved, Some(5_000.0)));
}

#[test]
fn a_closed_loop_gets_its_think_time() {
    let resolved =
        read("model: closed, think: 10ms, connections: 4, timeout: 2s", "workload: {get: /}");
    expect!["load http://a:1/ http://b:2/ --closed --think 10ms --connections 4 --warm-up 1500ms --duration 5s --drain 0s --timeout 2s --seed 7 --progress lines --json --per-target"].assert_eq(&command(&resolved, None));
}

#[test]
fn the_number_of_script_threads_comes_from_the_spec() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/hotel-mixed.lua");
    let workload = format!("workload: {{script: {script}}}");
    let resolved = read("model: closed, script_threads: 48", &workload);
    let command = command(&resolved, None);
    assert!(
        command.contains(" --script-threads 48 ") && command.ends_with("hotel-mixed.lua"),
        "{command}"
    );
}

#[test]
fn the_generator_judges_by_the_same_objectives() {
    let slo =
        "slo: [{metric: p99.9, max: 80ms}, {metric: p50, max: 5ms}, {metric: failures, max: 1%}]";
    let command = command(&read("model: open, rate: 1/s", slo), Some(1.0));
    assert!(
        command.contains("--seed 7 --slo 'p99.9<=80ms,p50<=5ms,failures<=1%' --progress"),
        "{command}"
    );
}

#[test]
fn the_addresses_of_replicas_are_given_once_for_each_target() {
    let resolved = read("model: closed", "");
    let wanted = AskedLoad {
        rate: None,
        warm_up: Nanos::ZERO,
        measure: Nanos::SECOND,
        drain: Nanos::ZERO,
        interval: None,
        seed: 7,
    };
    let targets = ["http://a:1/", "http://b:1/"].map(str::to_owned);
    let addresses = ["a:1,a:2", "b:1,b:2"].map(str::to_owned);
    let arguments = arguments(&resolved, &targets, &addresses, &wanted).to_string();
    let begin = "load http://a:1/ http://b:1/ --address a:1,a:2 --address b:1,b:2 --closed ";
    assert!(arguments.starts_with(begin), "{arguments}");
}

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// Returns the arguments of the first load of a small spec with these settings, as one text.
fn first_load(set: &[&str]) -> String {
    let text = "name: x\nwhere: {backend: external}\nsut: {endpoint: \"https://a:1/\"}\n\
                load: {model: open, rate: 500/s}\nphases: {measure: {time: 5s}}\n";
    let set: Vec<String> = set.iter().map(|&setting| setting.to_owned()).collect();
    let resolved = spec::from_bytes("my.yaml", text.as_bytes(), Path::new(FOLDER), None, &set);
    let resolved = resolved.unwrap_or_else(|error| panic!("{set:?}: {error}"));
    let plan = Plan::of(&resolved).unwrap_or_else(|error| panic!("{set:?}: {error}"));
    let turn = Turns::new(&plan, Vec::new()).next_turn().expect("a first trial");
    let Attempt { purpose, asked, repetition, attempt, .. } = turn.attempt;
    let place = Position::default();
    let trial = Trial { number: 1, purpose, asked, repetition, attempt, seed: 7, place };
    let mut system = System::default();
    system.urls = vec!["https://a:1/".to_owned()];
    trial::load(&trial, &resolved, &system).arguments.to_string()
}

/// A field of a spec, settings that set it, and its words on the command line.
type Reaching = (&'static str, &'static [&'static str], &'static str);

const CLOSED: &str = "load={model: closed, rate: null, arrivals: null}";
const TRACE: &str = "load={rate: null, arrivals: null, trace: Cargo.toml}";
const MIX: &str = "workload={get: null, mix: Cargo.toml}";
const SCRIPT: &str = "workload={get: null, script: Cargo.toml}";
const YCSB: &str = "workload={get: null, ycsb: Cargo.toml}";
const STORE: &str = "sut.endpoint='redis://a:1/'";
const RECEIVED: &str = "workload={get: null, events: {receive: '127.0.0.1:9'}}";

/// The setting of each field, in the order of the options.
const REACHING: &[Reaching] = &[
    ("load.address", &["load.address=[10.0.0.7, 10.0.0.8:81]"], "--address 10.0.0.7,10.0.0.8:81"),
    ("load.rate", &["load.rate=77/s"], "--rate 77/s"),
    ("load.shape", &["load={rate: null, shape: '1/s 2s, ->5/s 3s'}"], "--shape '1/s 2s, ->5/s 3s'"),
    ("load.trace", &[TRACE], "--trace FOLDER/Cargo.toml"),
    ("load.speed", &[TRACE, "load.speed=2"], "--speed 2"),
    ("load.arrivals", &["load.arrivals=lognormal:2"], "--arrivals lognormal:2"),
    ("load.model", &[CLOSED], "--closed"),
    ("load.think", &[CLOSED, "load.think=exp:10ms"], "--think exp:10ms"),
    ("load.connections", &["load.connections={per_rate: 0.1}"], "--connections 50"),
    ("phases.warm_up.fixed", &["phases.warm_up.fixed=3s"], "--warm-up 3s"),
    ("phases.measure.time", &["phases.measure.time=7s"], "--duration 7s"),
    ("phases.drain", &["phases.drain=4s"], "--drain 4s"),
    ("load.timeout", &["load.timeout=3s"], "--timeout 3s"),
    ("slo", &["slo=[{metric: p99, max: 5ms}]"], "--slo 'p99<=5ms'"),
    ("load.connect_timeout", &["load.connect_timeout=2s"], "--connect-timeout 2s"),
    ("load.backlog", &["load.backlog=10k"], "--backlog 10000"),
    ("load.max_body", &["load.max_body=1MiB"], "--max-body 1048576B"),
    ("load.keep_alive", &["load.keep_alive=9"], "--keep-alive 9"),
    ("load.pipeline", &["load.pipeline=8"], "--pipeline 8"),
    ("load.open_rate", &["load.open_rate=50/s"], "--open-rate 50/s"),
    ("load.source", &["load.source=[10.0.0.7, 10.0.0.8]"], "--source 10.0.0.7,10.0.0.8"),
    ("load.tls.ca", &["load.tls.ca=Cargo.toml"], "--ca FOLDER/Cargo.toml"),
    ("load.tls.cert", &["load.tls.cert=Cargo.toml"], "--cert FOLDER/Cargo.toml"),
    (
        "load.tls.key",
        &["load.tls={cert: Cargo.toml, key: Cargo.toml}"],
        "--cert FOLDER/Cargo.toml --key FOLDER/Cargo.toml",
    ),
    ("load.tls.sni", &["load.tls.sni=a.example"], "--sni a.example"),
    ("load.tls.insecure", &["load.tls.insecure=true"], "--insecure"),
    ("load.tls.version", &["load.tls.version=1.3"], "--tls 1.3"),
    ("load.tls.resume", &["load.tls.resume=false"], "--no-resume"),
    ("load.shards", &["load.shards=2"], "--shards 2"),
    ("load.pin", &["load.pin=off"], "--pin off"),
    ("load.io", &["load.io=epoll"], "--io epoll"),
    ("load.timer", &["load.timer=spin"], "--timer spin"),
    ("load.congestion_control", &["load.congestion_control=reno"], "--congestion-control reno"),
    ("load.kernel_timestamps", &["load.kernel_timestamps=true"], "--kernel-timestamps"),
    ("load.script_threads", &[SCRIPT, "load.script_threads=4"], "--script-threads 4"),
    ("workload.method", &["workload={get: null, path: /x, method: PUT}"], "--method PUT"),
    (
        "workload.headers",
        &["workload.headers={Accept: [a, b], X-Id: '${vars.id}'}", "vars.id=7"],
        "--header 'Accept: a' --header 'Accept: b' --header 'X-Id: 7'",
    ),
    ("workload.body", &["workload.body='${vars.id}!'", "vars.id=7"], "--body '7!'"),
    ("workload.body_file", &["workload.body_file=Cargo.toml"], "--body-file FOLDER/Cargo.toml"),
    ("workload.check", &["workload.check=status=2xx body~ok"], "--check 'status=2xx body~ok'"),
    ("workload.mix", &[MIX], "--mix FOLDER/Cargo.toml"),
    ("workload.data", &[MIX, "workload.data=Cargo.toml"], "--data FOLDER/Cargo.toml"),
    ("workload.script", &[SCRIPT], "--script FOLDER/Cargo.toml"),
    ("workload.args", &[SCRIPT, "workload.args=[a, '7']"], "-- a 7"),
    ("workload.ycsb", &[STORE, YCSB], "--ycsb FOLDER/Cargo.toml"),
    (
        "workload.properties",
        &[STORE, YCSB, "workload.properties={table: '${vars.name}'}", "vars.name=t"],
        "--ycsb-property table=t",
    ),
    (
        "workload.events",
        &["workload={get: null, events: {mode: structured}}"],
        "--events structured",
    ),
    ("workload.events.type", &["workload={get: null, events: {type: a.b}}"], "--event-type a.b"),
    ("workload.events.size", &["workload={get: null, events: {size: 2KiB}}"], "--event-size 2048B"),
    ("workload.events.receive", &[RECEIVED], "--receive 127.0.0.1:9"),
    ("workload.events.within", &[RECEIVED, "workload.events.within=2s"], "--receive-within 2s"),
    (
        "workload.events.refuse",
        &[RECEIVED, "workload.events.refuse='503:2'"],
        "--receive-refuse 503:2",
    ),
];

#[test]
fn each_field_of_the_list_sets_its_option() {
    let listed = options().filter_map(|known| match known.origin {
        Origin::Spec { field, .. } | Origin::Workload { field } => Some((field, known.name)),
        Origin::Runner { .. } | Origin::Nothing { .. } => None,
    });
    let listed: Vec<_> = listed.collect();
    let fields: Vec<&str> = listed.iter().map(|(field, _)| *field).collect();
    let tried: Vec<&str> = REACHING.iter().map(|(field, ..)| *field).collect();
    assert_eq!(tried, fields, "a setting for each field of the list");
    let unset = format!("{} ", first_load(&[]));
    for ((_, name), (field, set, words)) in listed.iter().zip(REACHING) {
        let words = format!(" {} ", words.replace("FOLDER", FOLDER));
        let load = format!("{} ", first_load(set));
        assert!(load.contains(&words), "{field}: `{words}` is not in\n{load}");
        assert!(!unset.contains(&words), "{field}: `{words}` is always there");
        let mark = if *name == ARGUMENTS { "--" } else { name };
        assert!(words.contains(&format!(" {mark} ")), "{field} sets {name}, not `{words}`");
    }
}

#[test]
fn the_file_with_a_token_is_found_in_the_folder_of_the_spec() {
    let load = first_load(&[STORE, YCSB, "workload.properties={kv.tokenfile: token}"]);
    let words = format!(" --ycsb-property kv.tokenfile={FOLDER}/token");
    assert!(load.contains(&words), "{load}");
}

#[test]
fn a_load_without_further_fields_has_no_further_options() {
    expect!["load https://a:1/ --rate 500/s --arrivals poisson --connections 32 --warm-up 1s --duration 5s --drain 1s --timeout 10s --seed 7 --progress lines --json"].assert_eq(&first_load(&[]));
    expect!["load https://a:1/x --rate 500/s --arrivals poisson --connections 32 --warm-up 1s --duration 5s --drain 1s --timeout 10s --seed 7 --progress lines --json --method HEAD"].assert_eq(&first_load(&["workload={get: null, path: x, method: HEAD}"]));
}

#[test]
fn connections_per_rate_are_rounded_up_and_enough_for_each_script_thread() {
    let at = |rate: f64, per_rate: &str, threads: Option<u32>| {
        let threads = threads.map(|n| format!(", script_threads: {n}")).unwrap_or_default();
        let load =
            format!("model: open, rate: 1/s, connections: {{per_rate: {per_rate}}}{threads}");
        let rate = Rate::per_second(rate);
        let arguments = command(&read(&load, ""), rate.map(Rate::as_per_second));
        let (_, behind) = arguments.split_once("--connections ").unwrap();
        behind.split(' ').next().unwrap().parse::<u32>().unwrap()
    };
    // 0.1 cannot be stored exactly, and these are still whole numbers.
    for thousands in 71..=100 {
        assert_eq!(at(f64::from(thousands) * 1e3, "0.1", None), thousands * 100);
    }
    assert_eq!(at(71_001.0, "0.1", None), 7_101);
    assert_eq!(at(3.0, "0.1", None), 1);
    assert_eq!(at(500.0, "2", None), 1_000);
    assert_eq!(at(500.0, "0.1", Some(100)), 100);
    assert_eq!(at(5_000.0, "0.1", Some(100)), 500);
}

#[test]
fn the_check_before_a_run_sends_nothing_and_names_all_files() {
    let settings = "workload: {mix: answer.rs, data: trial.rs}";
    let text = format!(
        "name: x\nwhere: {{backend: external}}\nsut: {{endpoint: [\"http://a:1/\", \"http://b:2\"]}}\n\
         load: {{model: open, trace: search.rs}}\n{settings}\n"
    );
    let folder = Path::new(FOLDER).join("src");
    let resolved = spec::from_bytes("my.yaml", text.as_bytes(), &folder, None, &[]).unwrap();
    let shown = check(&resolved).to_string().replace(&folder.display().to_string(), "src");
    let seed = resolved.seed().to_string();
    expect!["load --dry-run http://a:1/ http://b:2 --trace src/search.rs --connections 32 --warm-up 1s --duration 10s --drain 1s --timeout 10s --seed SEED --per-target --mix src/answer.rs --data src/trial.rs"].assert_eq(&shown.replace(&seed, "SEED"));
}

#[test]
fn an_option_that_a_backend_sets_comes_before_the_arguments_of_a_script() {
    let mut arguments = Arguments::default()
        // A text that is the same as the separator is still a text.
        .with("--body", "--".into())
        .with("--script", Value::File("/specs/a.lua".into()))
        .with(UNTIL_MISSED, Value::Flag)
        .with(SECRETS, "-".into())
        .with(ARGUMENTS, UNTIL_MISSED.into())
        .with(ARGUMENTS, "/specs/a.lua".into());
    arguments.set(SECRETS, Value::File("/secrets/load.json".into()));
    arguments.set(PART, "#1/2".into());
    arguments.remove(UNTIL_MISSED);
    arguments.files_mut().next().unwrap().clone_from(&Path::new("/load/a.lua").to_owned());
    assert_eq!(
        arguments.to_string(),
        "load --body -- --script /load/a.lua --secrets /secrets/load.json --part '#1/2' -- --until-missed /specs/a.lua"
    );
    assert!(arguments.has(SECRETS) && !arguments.has(UNTIL_MISSED));
}

#[test]
fn what_the_generator_says_of_its_options_is_said_of_the_fields_that_set_them() {
    let said = [
        "Give them more time with --connect-timeout, open them slower with --open-rate, or ask for fewer with \
         --connections.",
        "wait longer for them (phases.drain, --drain)",
        "use --keep-alive 1; it is part 1 of 2 (--part), and a well--drained one",
    ];
    let expected = [
        "Give them more time with load.connect_timeout, open them slower with load.open_rate, or ask for fewer with \
         load.connections.",
        "wait longer for them (phases.drain, --drain)",
        "use load.keep_alive 1; it is part 1 of 2 (--part), and a well--drained one",
    ];
    assert_eq!(said.map(in_fields), expected);
}
