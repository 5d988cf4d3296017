//! Programs that do not know this tool, and actions, on this machine.

use super::*;

/// A generator that is as fast as possible.
const AT_ONCE: &str = r#"cat "$here/document""#;

/// An experiment with this system, in YAML.
fn experiment(sut: &str) -> String {
    format!(
        "name: demo\n{sut}workload: {{get: /}}\nload: {{model: open, rate: 500/s}}\n\
         phases: {{warm_up: {{fixed: 0s}}, measure: {{time: 300ms}}, drain: 0s}}\n"
    )
}

fn log(stage: &Stage, name: &str) -> String {
    fs::read_to_string(stage.out().join(format!("components/{name}.log"))).unwrap()
}

#[test]
fn a_foreign_program_gets_its_port_its_folder_and_its_files() {
    let stage = Stage::new(AT_ONCE);
    let resolved = stage.read(&experiment(
        r#"
sut:
  deploy:
    - process:
        name: db
        command: [sh, -c, 'cat "$DB_HOME/conf/db.conf" >&2; pwd; echo up; exec sleep 60']
        environment: {DB_HOME: "${folder}"}
        port: auto
        files: {conf/db.conf: "port ${port} of ${instance}\n"}
        ready: {log: '^port \d+ of 1$'}
"#,
    ));
    let ended = stage.run(&resolved).unwrap();
    assert_eq!(ended.answer.verdict, Verdict::Answered, "{}", ended.answer.stopped_by);
    let log = log(&stage, "db");
    let here = stage.folder.path().canonicalize().unwrap();
    // A line of stderr may be between two of stdout.
    let has = |line: &str| log.lines().any(|found| found == line);
    assert!(has(&here.display().to_string()) && has("up"), "{log}");
    let port = log.lines().find_map(|line| line.strip_prefix("port ")?.strip_suffix(" of 1"));
    let port: u16 = port.unwrap_or_else(|| panic!("{log}")).parse().unwrap();
    let load = fs::read_to_string(stage.out().join("spec.yaml")).unwrap();
    assert!(10_000 <= port && load.contains("port: auto"), "{load}");
    stage.assert_nothing_left();
}

/// The first start meets a port that was taken after its choice.
#[test]
fn a_port_that_is_taken_meanwhile_is_replaced_once() {
    let stage = Stage::new(AT_ONCE);
    let taken = "echo ${port} >>ports; [ $(wc -l <ports) -gt TIMES ] || \
                 { echo bind: Address already in use >&2; exit 1; }; echo up; exec sleep 60";
    let text = |times: &str| {
        experiment(&format!(
            "sut: {{deploy: [process: {{name: db, command: [sh, -c, '{}'], port: auto, \
             ready: {{log: up}}}}]}}\n",
            taken.replace("TIMES", times)
        ))
    };
    let ended = stage.run(&stage.read(&text("1"))).unwrap();
    assert_eq!(ended.answer.verdict, Verdict::Answered, "{}", ended.answer.stopped_by);
    let ports = fs::read_to_string(stage.folder.path().join("ports")).unwrap();
    let ports: Vec<&str> = ports.lines().collect();
    assert!(ports.len() == 2 && ports[0] != ports[1], "{ports:?}");
    stage.assert_nothing_left();

    fs::remove_file(stage.folder.path().join("ports")).unwrap();
    fs::remove_dir_all(stage.out()).unwrap();
    let why = stage.no_answer(&stage.read(&text("2")));
    expect![[r#"
        `db` ended with exit code 1
          its last output:
            bind: Address already in use"#]]
    .assert_eq(&why);
    stage.assert_nothing_left();
}

/// Otherwise the program that has the port would be measured.
#[test]
fn a_port_that_another_program_has_is_refused() {
    let stage = Stage::new(AT_ONCE);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let why = stage.no_answer(&stage.read(&experiment(&format!(
        "sut: {{deploy: [process: {{name: db, command: [sleep, '60'], port: {port}}}]}}\n"
    ))));
    let expected = format!(
        "port {port} of `db` is in use on this host: end the program that has it, or write `port: auto`"
    );
    assert_eq!(why, expected);
    stage.assert_nothing_left();
}

#[test]
fn a_foreign_program_that_never_becomes_ready_is_shown_with_the_missing_sign() {
    let stage = Stage::new(AT_ONCE);
    let why = |ready: &str| {
        let ended = stage.no_answer(&stage.read(&experiment(&format!(
            "sut: {{deploy: [process: {{name: db, command: [sh, -c, 'echo ${{port}} >/dev/null; \
             exec sleep 60'], port: auto, ready: {{{ready}, within: 300ms}}}}]}}\n"
        ))));
        fs::remove_dir_all(stage.out()).unwrap();
        ended
    };
    let tcp = why("tcp: true");
    assert!(
        tcp.starts_with("`db` did not become ready in 300 ms: it accepts no connection"),
        "{tcp}"
    );
    expect![[r#"
        `db` did not become ready in 300 ms: it never printed a line that `up` matches
          it printed nothing"#]]
    .assert_eq(&why("log: up"));
    stage.assert_nothing_left();
}

/// A server that is deployed, and initialised by these steps and expectations.
fn initialised(steps: &str, expect: &str) -> String {
    experiment(&format!(
        "sut:\n  deploy: [process: {{name: server, command: [sh, -c, '{SERVER}']}}]\n  \
         initialise: {{steps: [{steps}], expect: [{expect}]}}\n"
    ))
}

#[test]
fn actions_run_in_the_folder_of_the_spec_and_leave_nothing_running() {
    let stage = Stage::new(AT_ONCE);
    let steps = "run: {command: [sh, -c, 'echo 12 >data; sleep 60 & echo filled']}";
    let expect = "run: {command: [cat, data], output_equals: '12'}";
    let ended = stage.run(&stage.read(&initialised(steps, expect))).unwrap();
    assert_eq!(ended.answer.verdict, Verdict::Answered, "{}", ended.answer.stopped_by);
    assert_eq!(log(&stage, "_actions"), "filled\n12\n");
    let manifest = results::Directory::open(&stage.out()).unwrap().manifest().unwrap();
    let programs: Vec<&str> = manifest.binaries.keys().map(String::as_str).collect();
    assert_eq!(programs, ["action cat", "action sh", "benchwright", "server"]);
    stage.assert_nothing_left();
}

#[test]
fn a_failed_action_ends_the_run_with_its_command_and_the_difference() {
    let stage = Stage::new(AT_ONCE);
    let why = |steps: &str, expect: &str| {
        let why = stage.no_answer(&stage.read(&initialised(steps, expect)));
        fs::remove_dir_all(stage.out()).unwrap();
        stage.assert_nothing_left();
        why + "\n"
    };
    expect![[r#"
        the system could not be initialised
          sh -c echo no disk >&2; exit 3: ended with exit code 3
            no disk
          the last output:
            starting
            ready http://127.0.0.1:9
    "#]]
    .assert_eq(&why("run: {command: [sh, -c, 'echo no disk >&2; exit 3']}", ""));
    expect![[r#"
        the system could not be initialised
          sleep 60: did not end in 200 ms
          the last output:
            starting
            ready http://127.0.0.1:9
    "#]]
    .assert_eq(&why("run: {command: [sleep, '60'], timeout: 200ms}", ""));
    expect![[r#"
        the initialised system is not as expected
          echo 998: the output must be `1000`, and is `998`
          the last output:
            starting
            ready http://127.0.0.1:9
    "#]]
    .assert_eq(&why("", "run: {command: [echo, '998'], output_equals: '1000'}"));
    expect![[r#"
        the initialised system is not as expected
          echo 998: no `1000` in the output: 998
          the last output:
            starting
            ready http://127.0.0.1:9
    "#]]
    .assert_eq(&why("", "run: {command: [echo, '998'], output: '1000'}"));
    expect![[r#"
        the system could not be initialised
          GET http://127.0.0.1:9/count: connection refused
          the last output:
            starting
            ready http://127.0.0.1:9
    "#]]
    .assert_eq(&why("http: {get: /count}", ""));
    expect![[r#"
        the system could not be initialised
          waited 200 ms for: false: ended with exit code 1
          the last output:
            starting
            ready http://127.0.0.1:9
    "#]]
    .assert_eq(&why("wait: {until: {run: {command: [\"false\"]}}, timeout: 200ms}", ""));
}

#[test]
fn an_interrupt_ends_an_action_at_once() {
    let stage = Stage::new(AT_ONCE);
    let resolved = stage.read(&initialised("run: {command: [sleep, '60']}", ""));
    let begun = host::now();
    let mut progress = InterruptAt("initialise", stage.host.clone());
    let ended = experiment::run(
        &resolved,
        Some(stage.out()),
        &stage.host,
        &for_tests(&stage.host),
        &mut progress,
    )
    .unwrap();
    assert_eq!(ended.answer.verdict, Verdict::Interrupted);
    assert!(host::now() - begun < Nanos::from_secs(15));
    stage.assert_nothing_left();
}

#[test]
fn a_program_of_an_action_that_is_missing_is_found_before_anything_is_deployed() {
    let stage = Stage::new(AT_ONCE);
    let resolved = stage.read(&initialised("run: {command: [no-such-program]}", ""));
    let error = stage.run(&resolved).unwrap_err();
    assert!(matches!(error, Error::Question(_)), "{error}");
    assert!(error.to_string().starts_with("program `no-such-program` not found\n"), "{error}");
    assert!(!stage.out().exists());
}

/// A database that is restarted with what it stored.
#[test]
fn a_restarted_component_keeps_its_port_and_its_folder() {
    let stage = Stage::new(AT_ONCE);
    let resolved = stage.read(&experiment(
        r#"
sut:
  deploy:
    - process:
        name: db
        command: [sh, -c, 'echo start >>$DB_HOME/starts; echo at ${port} after $(wc -l <$DB_HOME/starts); exec sleep 60']
        environment: {DB_HOME: "${folder}"}
        port: auto
        ready: {log: '^at \d+ after \d+$'}
    - restart: db
"#,
    ));
    let ended = stage.run(&resolved).unwrap();
    assert_eq!(ended.answer.verdict, Verdict::Answered, "{}", ended.answer.stopped_by);
    let log = log(&stage, "db");
    let starts: Vec<(&str, &str)> =
        log.lines().filter_map(|line| line.strip_prefix("at ")?.split_once(" after ")).collect();
    assert_eq!(starts.len(), 2, "{log}");
    assert_eq!(starts[0].0, starts[1].0, "{log}");
    assert_eq!((starts[0].1.trim(), starts[1].1.trim()), ("1", "2"));
    stage.assert_nothing_left();
}

#[test]
fn an_unknown_component_cannot_be_restarted() {
    let stage = Stage::new(AT_ONCE);
    let text =
        experiment("sut: {deploy: [process: {name: db, command: [sleep, '60']}, restart: bd]}\n");
    let error = spec::from_bytes("my.yaml", text.as_bytes(), stage.folder.path(), None, &[]);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("no component is called `bd`"), "{error}");
    assert!(error.contains("components here: db"), "{error}");
}
