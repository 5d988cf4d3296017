use expect_test::expect;

use super::*;

fn asked(url: &str, slo: &[&str]) -> Asked {
    Asked {
        service: Service::At(url.to_owned()),
        slo: slo.iter().map(|slo| slo.parse().unwrap()).collect(),
        headers: Vec::new(),
        requests: Requests::One { method: None, body: None, body_file: None, check: None },
        session: Nanos::ZERO,
        connections: 64,
        timeout: Nanos::from_secs(10),
        ca: None,
        insecure: false,
        range: None,
        precision: None,
        measure: None,
        time: None,
        needs: Vec::new(),
        words: Words::of_capacity(),
    }
}

fn field(name: &str, value: &str) -> Field {
    Field { name: name.to_owned(), value: value.to_owned(), is_secret: false }
}

fn of(asked: &Asked) -> Experiment {
    experiment(asked, "mine.yaml", Path::new(".")).unwrap_or_else(|error| panic!("{error:#}"))
}

#[test]
fn a_question_becomes_an_experiment_with_comments() {
    let asked = asked("http://127.0.0.1:8080/a?b=c#d", &["p99<=50ms", "failures<=0.1%"]);
    let Experiment { yaml, resolved, variables, outlook } = of(&asked);
    expect![[r##"
        # The experiment of `benchwright capacity`. Of this file, `benchwright plan` says what a run would do, and
        # `benchwright run` asks the same again.
        name: "capacity-127.0.0.1-8080-a"
        about: "What is the capacity of http://127.0.0.1:8080/a?b=c under p99 ≤ 50 ms and failures ≤ 0.1 %?"

        # The service runs already: nothing is started.
        where: {backend: external}
        sut: {endpoint: "http://127.0.0.1:8080"}

        # The requests.
        workload:
          path: "/a?b=c"

        # The clock decides when they start, however slow the service is. One that finds no free connection waits,
        # which is a part of its response time.
        load:
          model: open
          arrivals: poisson
          connections: 64
          timeout: 10s

        # Of each trial; the warm-up does not count.
        phases: {warm_up: {fixed: 1s}, measure: {time: 5s}, drain: 1s}

        # A load meets the SLO if it meets each of these.
        slo:
          - {metric: "p99", max: "50ms"}
          - {metric: "failures", max: "0.001"}

        # The first load is this share of what a short closed loop completes; the search ends when the bounds of
        # the capacity are 2% apart.
        search: {strategy: adaptive, start: {probe: 0.7}, precision: 2%}
    "##]].assert_eq(&yaml);
    assert_eq!(resolved.spec.slo.len(), 2);
    assert_eq!(variables, []);
    expect![
        "usually 18 trials of 5 s in 93.9 s, until the capacity is known with its bounds 2 % apart"
    ]
    .assert_eq(&outlook);
    // The plan takes it, too.
    experiment::plan(&resolved).unwrap();
}

#[test]
fn the_name_and_the_words_tell_questions_about_one_service_apart() {
    let words = |url: &str, requests: Requests| {
        let asked = Asked { requests, ..asked(url, &["50ms"]) };
        let spec = of(&asked).resolved.spec;
        let about = spec.about.unwrap();
        let about = about.trim_start_matches("What is the capacity of ");
        let about = about.trim_end_matches(" under p99 ≤ 50 ms?").to_owned();
        format!("{}: {about}", &*spec.name)
    };
    let one = |method: Option<&str>| Requests::One {
        method: method.map(str::to_owned),
        body: None,
        body_file: None,
        check: None,
    };
    let questions = [
        words("http://h:1/", one(None)),
        words("http://h:1/a/b?key=abcd1234&c=d", one(Some("GET"))),
        words("http://h:1/auth", one(Some("POST"))),
    ];
    expect![[r#"
        capacity-h-1: http://h:1
        capacity-h-1-a-b: http://h:1/a/b?key=…&c=d
        capacity-h-1-auth-POST: POST http://h:1/auth"#]]
    .assert_eq(&questions.join("\n"));
}

/// A percent-encoded parameter is sent as it was written.
#[test]
fn a_parameter_with_the_name_of_a_secret_leaves_the_url() {
    let asked = asked("http://127.0.0.1:8080/a?password=s%26cret&key=abcd!efg&page=7", &["50ms"]);
    let Experiment { yaml, resolved, variables, .. } = of(&asked);
    assert!(!yaml.contains("cret") && !yaml.contains("abcd"), "{yaml}");
    let path = resolved.spec.workload.path().unwrap();
    assert_eq!(path, "/a?password=${env.URL_SECRET}&key=${env.URL_SECRET_2}&page=7");
    let sent = resolved.secrets.reveal_in_url(path);
    assert_eq!(sent, "/a?password=s%26cret&key=abcd%21efg&page=7");
    assert_eq!(variables[0].1, "the parameter password of the URL");
}

/// Whoever sets a variable finds one meaning of it, wherever the value came from.
#[test]
fn a_variable_is_the_value_of_one_part_of_a_field() {
    let mut asked = asked("http://127.0.0.1:8080/", &["50ms"]);
    let of_file = |name: &str, value: &str| Field { is_secret: true, ..field(name, value) };
    asked.headers = vec![
        of_file("Authorization", "Bearer tok-12345"),
        of_file("X-Team", "${env.MINE}"),
        field("X-Session", "sess-12345"),
    ];
    asked.needs = vec![("HEADER_X_SESSION".to_owned(), "what another part is".to_owned())];
    let Experiment { yaml, variables, .. } = of(&asked);
    assert!(yaml.contains(r#""Authorization": "Bearer ${env.HEADER_AUTHORIZATION}""#), "{yaml}");
    assert!(!yaml.contains("12345") && !yaml.contains("env.MINE"), "{yaml}");
    let variables: Vec<String> =
        variables.iter().map(|(name, of)| format!("{name}: {of}")).collect();
    expect![[r#"
        HEADER_AUTHORIZATION: what follows `Bearer ` in the header field Authorization
        HEADER_X_SESSION_2: the header field X-Session
        HEADER_X_TEAM: the header field X-Team"#]]
    .assert_eq(&variables.join("\n"));
}

#[test]
fn secrets_are_sent_and_written_nowhere() {
    let mut asked = asked("http://me:pass-word@127.0.0.1:8080/?api_key=abcdefgh", &["50ms"]);
    asked.headers = vec![
        field("Authorization", "Bearer tok-12345"),
        field("Cookie", "a=first-one; b=second-one"),
        field("Accept", "*/*"),
        field("X-Token", "${env.MINE}"),
        Field { is_secret: true, ..field("X-Team", "the-seventh") },
        // By their looks, whatever their names are.
        field("X-Whatever", "Bearer tok-67890"),
        field("X-User-Id", "7; token=tok-24680"),
    ];
    let Experiment { yaml, resolved, variables, .. } = of(&asked);
    let known = ["pass-word", "abcdefgh", "tok-12345", "first-one", "second-one", "the-seventh"];
    for secret in known.into_iter().chain(["tok-67890", "7; token=tok-24680"]) {
        assert!(!yaml.contains(secret), "{secret}: {yaml}");
        assert!(!resolved.to_yaml().contains(secret), "{secret}");
        let known = resolved.secrets.known().any(|(_, value)| value == secret);
        assert!(known, "{secret}: it is not sent");
    }
    // None of them has to be kept apart by the reader of specs, so the run can be resumed.
    assert_eq!(resolved.secrets.plain(), 0);
    let names: Vec<&str> = variables.iter().map(|(name, _)| name.as_str()).collect();
    expect![
        "HEADER_AUTHORIZATION HEADER_COOKIE HEADER_COOKIE_2 HEADER_X_TEAM HEADER_X_USER_ID HEADER_X_WHATEVER URL_SECRET URL_SECRET_2"
    ]
    .assert_eq(&names.join(" "));
    assert!(yaml.contains("#   export HEADER_AUTHORIZATION=…    what follows `Bearer ` in the header field Authorization"));
    assert!(yaml.contains(r#""Authorization": "Bearer ${env.HEADER_AUTHORIZATION}""#), "{yaml}");
    assert!(yaml.contains(r#""X-Token": "${env.MINE}""#), "{yaml}");
    assert!(yaml.contains(r#""Accept": "*/*""#), "{yaml}");
}

#[test]
fn any_text_of_a_question_is_the_same_text_in_its_experiment() {
    let body =
        "{\"a\": \"b\\n\"}\n# no comment: yes 'quoted' \u{1F600}\ttab\u{7f}\u{85}\u{2028}\u{feff}";
    let mut asked = asked("https://[::1]:8443/%20x", &["p99.9<=1.5ms", "failures<=100%"]);
    asked.requests = Requests::One {
        method: Some("POST".to_owned()),
        body: Some(body.to_owned()),
        body_file: None,
        check: Some("status=2xx body~\"a b\"".to_owned()),
    };
    asked.headers = vec![field("X-A", "yes"), field("x-a", "0x10"), field("No", "null")];
    asked.insecure = true;
    let Experiment { resolved, .. } = of(&asked);
    let workload = serde_json::to_value(&resolved.spec.workload).unwrap();
    let headers = serde_json::json!({"No": "null", "X-A": ["yes", "0x10"]});
    assert_eq!(workload["headers"], headers);
    assert_eq!((&workload["method"], &workload["path"]), (&"POST".into(), &"/%20x".into()));
    assert_eq!(workload["check"], "status=2xx body~\"a b\"");
    assert_eq!(workload["body"], body);
    assert_eq!(resolved.spec.workload.path(), Some("/%20x"));
    assert_eq!(resolved.spec.sut.endpoint.0, ["https://[::1]:8443"]);
    assert_eq!(&*resolved.spec.name, "capacity---1-8443--20x-POST");
    assert!(resolved.spec.load.tls.unwrap().insecure);
    assert_eq!(resolved.spec.slo.iter().map(|slo| slo.0).collect::<Vec<_>>(), asked.slo);
}

#[test]
fn scripts_and_mixes_are_named_from_the_folder_of_the_experiment() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("w.lua");
    std::fs::write(&script, "").unwrap();
    let mut asked = asked("http://127.0.0.1:8080/base", &["50ms"]);
    asked.requests = Requests::Script {
        file: script.clone(),
        arguments: vec!["-x".to_owned(), "y z".to_owned()],
        method: None,
        body: None,
        body_file: None,
    };
    let Experiment { resolved, .. } = experiment(&asked, "b/mine.yaml", Path::new("b")).unwrap();
    assert_eq!(resolved.files()[0].path, script);
    asked.requests = Requests::Mix { file: script.clone(), data: None };
    let Experiment { resolved, .. } = of(&asked);
    assert_eq!(resolved.spec.sut.endpoint.0, ["http://127.0.0.1:8080/base"]);
    asked.requests = Requests::Mix { file: "nowhere.jsonl".into(), data: None };
    let refused = experiment(&asked, "mine.yaml", Path::new(".")).unwrap_err();
    assert!(format!("{refused:#}").contains("nowhere.jsonl does not exist"), "{refused:#}");
}

#[test]
fn a_short_time_makes_shorter_trials_and_then_a_coarser_answer() {
    let mut asked = asked("http://127.0.0.1:8080/", &["p99<=50ms"]);
    let chosen: Vec<String> = [20, 40, 60, 120, 300, 900]
        .map(|seconds| {
            asked.time = Some(Nanos::from_secs(seconds));
            let Experiment { resolved, outlook, .. } = of(&asked);
            let budget = &resolved.spec.budget;
            let whole = *budget.time.unwrap() + *budget.disturbance.unwrap();
            assert_eq!(whole, Nanos::from_secs(seconds), "both together are what was allowed");
            outlook
        })
        .into();
    expect![[r#"
        20 s may be too short: 16.0 s of it are for trials, and even bounds 20 % apart usually take 11 trials of 3 s, 35.2 s; a search that has to end before knows only *at least* or *at most*
        40 s may be too short: 32.0 s of it are for trials, and even bounds 20 % apart usually take 11 trials of 3 s, 35.2 s; a search that has to end before knows only *at least* or *at most*
        in 1 min: usually 11 trials of 3 s in 35.2 s, until the capacity is known with its bounds 20 % apart; more time makes it finer
        in 2 min: usually 18 trials of 3 s in 61.1 s, until the capacity is known with its bounds 2 % apart
        in 5 min: usually 18 trials of 10 s in 2 min 37 s, until the capacity is known with its bounds 2 % apart
        in 15 min: usually 18 trials of 10 s in 2 min 37 s, until the capacity is known with its bounds 2 % apart"#]].assert_eq(&chosen.join("\n"));
}

/// The value of the remedy is enough, and one that is a second shorter is not.
#[test]
fn a_time_that_is_too_short_for_one_load_is_refused_with_one_that_is_enough() {
    let mut asked = asked("http://127.0.0.1:8080/", &["p99<=50ms"]);
    let mut why = |seconds: u64, measure: Option<Nanos>| {
        (asked.time, asked.measure) = (Some(Nanos::from_secs(seconds)), measure);
        experiment(&asked, "mine.yaml", Path::new(".")).err().map(|error| format!("{error:#}"))
    };
    let refused = expect![[r#"
        --time 10s: it is too short, as one load takes 8.20 s, and a fifth of the time is for those that the machine disturbs; write --time 11s or more"#]];
    refused.assert_eq(&why(10, None).unwrap());
    assert_eq!(why(11, None), None);
    let given = why(10, Some(Nanos::from_secs(30))).unwrap();
    assert!(given.ends_with(" or more, or a shorter --duration"), "{given}");
}

#[test]
fn a_precision_and_a_length_that_are_given_are_kept() {
    let mut asked = asked("http://127.0.0.1:8080/", &["p99<=50ms"]);
    asked.time = Some(Nanos::from_secs(30));
    asked.precision = Some(Share(0.01));
    asked.measure = Some(Nanos::from_secs(7));
    asked.range = Some("500/s..5k/s".parse().unwrap());
    let Experiment { yaml, outlook, .. } = of(&asked);
    assert!(yaml.contains("range: [500/s, 5000/s], precision: 1%"), "{yaml}");
    assert!(yaml.contains("measure: {time: 7s}"), "{yaml}");
    assert!(outlook.contains("24.0 s of it are for trials, and bounds 1 % apart"), "{outlook}");
}

#[test]
fn a_slow_objective_has_longer_measurements() {
    let asked = asked("http://127.0.0.1:8080/", &["p99<=2s"]);
    let yaml = of(&asked).yaml;
    assert!(yaml.contains("measure: {time: 20s}, drain: 4s"), "{yaml}");
}

/// Otherwise most sessions would not end in a measurement, and its begin would have fewer of them than its end.
#[test]
fn a_measurement_is_as_long_as_several_sessions_and_its_warm_up_as_one() {
    let mut asked = asked("http://127.0.0.1:8080/", &["p99<=50ms"]);
    let mut phases = |session: Nanos, measure: Option<Nanos>| {
        (asked.session, asked.measure) = (session, measure);
        let yaml = of(&asked).yaml;
        yaml.lines().find(|line| line.starts_with("phases:")).unwrap().to_owned()
    };
    let chosen = [
        phases(Nanos::from_millis(900), None),
        phases(Nanos::from_millis(3_900), None),
        phases(Nanos::from_secs(30), None),
        phases(Nanos::from_secs(600), None),
        phases(Nanos::from_millis(3_900), Some(Nanos::from_secs(20))),
    ];
    expect![[r#"
        phases: {warm_up: {fixed: 1s}, measure: {time: 5s}, drain: 1s}
        phases: {warm_up: {fixed: 4s}, measure: {time: 12s}, drain: 1s}
        phases: {warm_up: {fixed: 30s}, measure: {time: 60s}, drain: 1s}
        phases: {warm_up: {fixed: 60s}, measure: {time: 60s}, drain: 1s}
        phases: {warm_up: {fixed: 4s}, measure: {time: 20s}, drain: 1s}"#]]
    .assert_eq(&chosen.join("\n"));
}

#[test]
fn ranges_are_read_with_their_units() {
    assert_eq!("10/s..1k/s".parse::<Range>().unwrap().1.as_per_second(), 1_000.0);
    for wrong in ["10..20", "10/s", "10/s-20/s", "..", "1k/s..10/s", "5/s..5/s"] {
        let why = wrong.parse::<Range>().unwrap_err();
        assert!(why.contains("500/s..5k/s") || why.contains("the lower rate first"), "{why}");
    }
}

#[test]
fn a_url_that_cannot_be_loaded_is_refused_with_the_remedy() {
    let refused = |url: &str| {
        let refused = experiment(&asked(url, &["50ms"]), "mine.yaml", Path::new("."));
        format!("{:#}", refused.unwrap_err())
    };
    assert!(refused("127.0.0.1:8080").contains("has no scheme; write http://127.0.0.1:8080"));
    assert!(refused("redis://127.0.0.1/").contains("there are `http`, `https`"));
}

#[test]
fn a_program_is_started_at_a_port_of_its_command() {
    let mut asked = asked("http://unused/", &["50ms"]);
    asked.service = Service::Started(Started {
        name: "svc".to_owned(),
        command: ["./svc", "--port", "${port}"].map(str::to_owned).into(),
        path: "/items?a=b".to_owned(),
        cpus: Some(("0".to_owned(), "1".to_owned())),
    });
    asked.needs = vec![("TOKEN".to_owned(), "a token\nof two lines".to_owned())];
    asked.words = Words {
        head: vec!["From a test.".to_owned()],
        prefix: String::new(),
        guesses: guess::usual(),
    };
    asked.words.guesses.insert(words::Guessed::Cpus, "half of them each".to_owned());
    asked
        .words
        .guesses
        .insert(words::Guessed::Ready, "a port that accepts is ready\n# no: comment".to_owned());
    let Experiment { yaml, resolved, .. } = of(&asked);
    assert!(yaml.starts_with("# From a test.\n# It needs these variables"), "{yaml}");
    assert!(yaml.contains("#   export TOKEN=…    a token of two lines\n"), "{yaml}");
    assert!(
        yaml.contains("# guess: half of them each\nwhere: {roles: {sut: {cpus: \"0\"}, load: {cpus: \"1\"}}}\n"),
        "{yaml}"
    );
    assert!(
        yaml.contains("        # guess: a port that accepts is ready # no: comment\n        ready: {tcp: true}\n"),
        "{yaml}"
    );
    assert!(
        yaml.contains("  # guess: the longest time that a user would wait\n  timeout: 10s\n"),
        "{yaml}"
    );
    assert_eq!(resolved.spec.workload.path(), Some("/items?a=b"));
    experiment::plan(&resolved).unwrap();
}

/// Everybody can read commands in the process list.
#[test]
fn a_command_with_a_password_is_refused() {
    let mut asked = asked("http://unused/", &["50ms"]);
    asked.service = Service::Started(Started {
        name: "svc".to_owned(),
        command: ["./svc", "--db=kv://me:pass-word@h/"].map(str::to_owned).into(),
        path: "/".to_owned(),
        cpus: None,
    });
    let refused = experiment(&asked, "mine.yaml", Path::new(".")).map(|_| ()).unwrap_err();
    let refused = format!("{refused:#}");
    assert!(refused.contains("word 2 of the command has a password"), "{refused}");
    assert!(!refused.contains("pass-word"), "{refused}");
}
