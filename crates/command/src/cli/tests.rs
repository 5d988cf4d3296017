//! The options of `load`, compared with those that an experiment can set.

use std::collections::BTreeSet;
use std::fs;

use clap::{Arg, CommandFactory};
use expect_test::expect;
use lab::spec::generator::{self, Origin, options};
use lab::spec::{self, Resolved};
use load::network::Choice;
use measure::{Nanos, Rate};
use net::Timer;

use super::*;

mod documents;
mod reference;

const PAGE: &str = include_str!("../../../../docs/book/the-load-of-an-experiment.md");

/// Returns the names of the arguments of `benchwright load`, as `lab` lists them.
fn arguments() -> BTreeSet<String> {
    let command = Cli::command();
    let load = command.find_subcommand("load").unwrap();
    let name = |argument: &Arg| match argument.get_long() {
        Some(long) => format!("--{long}"),
        None => argument.get_value_names().unwrap()[0].to_string(),
    };
    load.get_arguments().map(name).filter(|name| name != "--help").collect()
}

#[test]
fn every_option_of_a_load_is_in_the_spec_or_on_the_short_list() {
    let listed: BTreeSet<String> = options().map(|known| known.name.to_owned()).collect();
    assert_eq!(listed.len(), options().count(), "each option once");
    let arguments = arguments();
    let forgotten: Vec<&String> = arguments.difference(&listed).collect();
    assert!(
        forgotten.is_empty(),
        "an experiment cannot set {forgotten:?}: add a field of the spec, or a reason, to \
         crates/lab/src/spec/generator/options.rs"
    );
    let gone: Vec<&String> = listed.difference(&arguments).collect();
    assert!(gone.is_empty(), "`benchwright load` has no {gone:?}");
}

/// The options that an experiment cannot set. A new one needs a reason that a user accepts.
#[test]
fn the_short_list_has_a_reason_for_each_option() {
    let nothing = options().filter_map(|known| match known.origin {
        Origin::Nothing { because } => Some(format!("{}: {because}\n", known.name)),
        Origin::Spec { .. } | Origin::Workload { .. } | Origin::Runner { .. } => None,
    });
    expect![[r#"
        --header-file: workload.headers has ${env.NAME} for secrets
        --no-tui: the generator of an experiment has no terminal
        --part: the backend divides a load between its generators
        --framed: the backend reads the document where logs have other lines
        --start: the backend starts the generators of a load together
        --requests: a trial measures for a time, phases.measure.time: the budget is planned in time, and the use of resources is compared over it
        --connect-to: the runner's own requests (ready, smoke, reset) go to sut.endpoint too, so it is the place; another name is said by workload.headers (Host) and load.tls.sni
        --pace: load.shape says the same, with its rests
        --notes: workload.events.receive joins the notes of both sides in each trial; files for `benchwright join` are of programs that a person starts
        --compare-clock: it is part of --notes
        --csv: load.json of each trial has the same series
        --hlog: each trial keeps its histograms: response_time.hlog, service_time.hlog
        --samples: a row for each request has no bound, and a results directory keeps all its trials
        --report: the run has a report of all its trials
        --self-test: it calibrates the generator, and loads a server of its own
        --attempts: it is part of the self-test
    "#]]
    .assert_eq(&nothing.collect::<String>());
}

#[test]
fn the_page_names_every_field_and_every_option() {
    let missing = options().filter(|known| match known.origin {
        Origin::Spec { field, .. } | Origin::Workload { field } => {
            let section = ["load.", "workload."].iter().find_map(|s| field.strip_prefix(s));
            !PAGE.contains(&format!("`{}`", section.unwrap_or(field)))
        }
        Origin::Nothing { .. } => !PAGE.contains(&format!("`{}`", known.name)),
        Origin::Runner { .. } => false,
    });
    let missing: Vec<&str> = missing.map(|known| known.name).collect();
    assert!(missing.is_empty(), "docs/book/the-load-of-an-experiment.md lacks {missing:?}");
}

/// The arguments of a spec's load are ones that `benchwright load` takes.
#[test]
fn all_that_a_spec_can_say_is_understood() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["mix.jsonl", "rows.csv", "body.bin", "w.lua", "starts.txt", "a.pem", "ycsb"] {
        fs::write(folder.path().join(file), "").unwrap();
    }
    let resolved = |workload: &str, load: &str| {
        let is_store = workload.contains("ycsb");
        let endpoint = if is_store { "redis://a.example/" } else { "https://a.example/" };
        let text = format!(
            "name: x\nwhere: {{backend: external}}\nslo: [{{metric: p99, max: 5ms}}]\n\
             sut: {{endpoint: \"{endpoint}\"}}\nphases: {{measure: {{time: 5s}}}}\n\
             workload: {{{workload}}}\nload: {{{load}}}\n"
        );
        let read = spec::from_bytes("my.yaml", text.as_bytes(), folder.path(), None, &[]);
        read.unwrap_or_else(|error| panic!("{error}"))
    };
    let how = "connect_timeout: 2s, backlog: 10k, max_body: 1MiB, keep_alive: 9, pipeline: 8, \
               open_rate: 1k/s, address: first, source: [127.0.0.1], shards: 2, pin: off, \
               io: epoll, timer: spin, congestion_control: reno, kernel_timestamps: true, \
               tls: {cert: a.pem, key: a.pem, sni: b.example, insecure: true, version: 1.3, \
               resume: false}";
    let specs = [
        resolved(
            "mix: mix.jsonl, data: rows.csv, headers: {A: [b, c]}",
            &format!("model: open, rate: 5/s, arrivals: 'normal:0.5', {how}"),
        ),
        resolved(
            "path: /x, method: PUT, body: x, check: status=2xx",
            "model: open, rate: 5/s, connections: {per_rate: 0.1}, tls: {ca: a.pem}",
        ),
        resolved("get: /, body_file: body.bin", "model: open, shape: '1/s 2s, ->5/s 3s'"),
        resolved("get: /", "model: open, trace: starts.txt, speed: 2.5"),
        resolved("ycsb: ycsb, properties: {recordcount: '9'}", "model: open, rate: 5/s"),
        resolved(
            "path: /in, events: {mode: structured, type: x.y, size: 2KiB, receive: '127.0.0.1:9', \
             within: 2s, refuse: '503:2'}",
            "model: open, rate: 5/s",
        ),
        resolved(
            "script: w.lua, args: [-x, y]",
            "model: closed, think: 'exp:1ms', script_threads: 4",
        ),
    ];
    let mut used = BTreeSet::new();
    for resolved in &specs {
        let rate = rate(resolved);
        let wanted = generator::AskedLoad {
            rate,
            warm_up: Nanos::SECOND,
            measure: Nanos::from_secs(5),
            drain: Nanos::SECOND,
            interval: None,
            seed: 7,
        };
        let targets = ["https://a.example/".to_owned()];
        let arguments = generator::arguments(resolved, &targets, &[], &wanted);
        for arguments in [arguments, generator::check(resolved)] {
            let arguments = arguments.words();
            let words = std::iter::once("benchwright").chain(arguments.iter().map(String::as_str));
            let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
            assert!(matches!(cli.command, Command::Load(_)), "{arguments:?}");
            used.extend(arguments);
        }
    }
    let of_spec = options()
        .filter(|known| matches!(known.origin, Origin::Spec { .. } | Origin::Workload { .. }));
    let options = of_spec.filter(|known| known.name.starts_with("--"));
    let untried: Vec<&str> =
        options.map(|known| known.name).filter(|name| !used.contains(*name)).collect();
    assert!(untried.is_empty(), "try {untried:?} here");
}

fn rate(resolved: &Resolved) -> Option<Rate> {
    let load = &resolved.spec.load;
    let has_rate = matches!(load.model, spec::Model::Rate { .. });
    has_rate.then(|| Rate::per_second(5.0).unwrap())
}

#[test]
fn a_spec_has_the_same_choices() {
    let command = Cli::command();
    let load = command.find_subcommand("load").unwrap();
    let choices = |long: &str| -> Vec<String> {
        let argument = load.get_arguments().find(|argument| argument.get_long() == Some(long));
        let argument = argument.unwrap();
        let possible = argument.get_possible_values();
        match possible.is_empty() {
            true => argument.get_value_names().unwrap()[0].split('|').map(str::to_owned).collect(),
            false => possible.iter().map(|value| value.get_name().to_owned()).collect(),
        }
    };
    let words = |words: &[&dyn std::fmt::Display]| -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    };
    let [hybrid, sleep, spin] = spec::Timer::ALL;
    assert_eq!(choices("timer"), words(&[&hybrid, &sleep, &spin]));
    let [auto, epoll, uring] = spec::Io::ALL;
    assert_eq!(choices("io"), words(&[&auto, &epoll, &uring]));
    assert_eq!(choices("tls"), spec::TlsVersion::ALL.map(spec::TlsVersion::name));
    assert_eq!(choices("events"), spec::EventMode::ALL.map(|mode| mode.to_string()));
    for timer in spec::Timer::ALL {
        timer.to_string().parse::<Timer>().unwrap();
    }
    for io in spec::Io::ALL {
        io.to_string().parse::<Choice>().unwrap();
    }
}

#[test]
fn the_short_help_of_a_load_fits_on_a_screen_and_the_long_one_has_all() {
    let mut cli = command().term_width(100);
    cli.build();
    let mut load = cli.find_subcommand("load").unwrap().clone().term_width(100);
    let short = load.render_help().to_string();
    let lines = short.lines().count();
    assert!(lines <= 50, "{lines} lines:\n{short}");
    for shown in OF_A_FIRST_LOAD {
        assert!(short.contains(&format!("--{shown}")), "{shown}:\n{short}");
    }
    let long = load.render_long_help().to_string();
    for option in options().filter(|option| option.name.starts_with("--")) {
        assert!(long.contains(option.name), "{}", option.name);
    }
}

/// Whoever looks for the way to log in searches the help for one of these words.
#[test]
fn searching_the_help_for_a_login_finds_the_options_for_it() {
    let mut cli = command().term_width(100);
    cli.build();
    for name in ["load", "capacity"] {
        let mut command = cli.find_subcommand(name).unwrap().clone().term_width(100);
        for help in [command.render_help(), command.render_long_help()] {
            let help = help.to_string().to_lowercase();
            for word in ["cookie", "token", "auth", "password"] {
                assert!(help.contains(word), "{name}: {word}:\n{help}");
            }
        }
    }
}

#[test]
fn short_options_mean_what_they_mean_in_oha_and_wrk() {
    let words = ["benchwright", "load", "http://h/", "--closed", "-c8", "-k", "-mPUT", "-HA: b"];
    assert!(matches!(Cli::try_parse_from(words).unwrap().command, Command::Load(_)));
    let words =
        ["benchwright", "capacity", "https://h/", "--slo", "9ms", "-c8", "-k", "-mPUT", "-HA: b"];
    assert!(matches!(Cli::try_parse_from(words).unwrap().command, Command::Capacity(_)));
}

#[test]
fn a_mistyped_word_is_guessed() {
    let told = |words: &[&str]| {
        let words = std::iter::once("benchwright").chain(words.iter().copied());
        command().try_get_matches_from(words).unwrap_err().to_string()
    };
    assert!(told(&["laod", "http://h/"]).contains("'load'"));
    assert!(told(&["capactiy"]).contains("'capacity'"));
    assert!(told(&["load", "http://h/", "--conections", "3"]).contains("'--connections'"));
    assert!(told(&["run", "a.yaml", "--profil", "ci"]).contains("'--profile'"));
}
