use std::path::Path;

use expect_test::{Expect, expect};

use crate::spec::{Resolved, SpecError, from_bytes};

/// Reads a system with one foreign program, with these further fields, and `rest` behind it.
fn read(fields: &str, rest: &str) -> Result<Resolved, SpecError> {
    let text = format!(
        "name: shop\nsut:\n  deploy:\n    - process: {{name: db, {fields}}}\n{rest}\
         workload: {{get: /}}\nload: {{model: open, rate: 1/s}}\n"
    );
    from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[])
}

fn check(fields: &str, rest: &str, expected: Expect) {
    let error = read(fields, rest).map(|resolved| resolved.to_yaml()).unwrap_err();
    expected.assert_eq(&format!("{error}\n"));
}

#[test]
fn a_foreign_program_states_its_port_its_files_and_its_readiness() {
    let resolved = read(
        "command: [db, -p, \"${port}\", -d, \"${folder}\"], port: auto, \
         files: {conf/db.conf: \"port ${port}\"}, ready: {tcp, log: 'listening on \\d+'}",
        "",
    );
    let resolved = resolved.unwrap();
    let yaml = resolved.to_yaml();
    let deploy = &yaml[yaml.find("deploy:").unwrap()..yaml.find("simulated").unwrap_or(yaml.len())];
    expect![[r#"
        deploy:
          - process:
              name: db
              command:
              - db
              - -p
              - ${port}
              - -d
              - ${folder}
              port: auto
              files:
                conf/db.conf: port ${port}
              ready:
                tcp: true
                log: listening on \d+
                within: 30s
    "#]]
    .assert_eq(deploy.split("  ready:\n    within").next().unwrap());
    let again = from_bytes("again", yaml.as_bytes(), Path::new("."), None, &[]).unwrap();
    assert_eq!(again.spec, resolved.spec);
    let set = ["repeat.trials=2".to_owned()];
    let patched = from_bytes("again", yaml.as_bytes(), Path::new("."), None, &set).unwrap();
    assert_eq!(patched.spec.sut, resolved.spec.sut);
}

#[test]
fn readiness_by_a_request_has_two_spellings() {
    let get = read("command: [db], port: 80, ready: {get: /}", "").unwrap();
    let http = read("command: [db], port: 80, ready: {http: /}", "").unwrap();
    assert_eq!(get.spec, http.spec);
}

#[test]
fn ports_that_cannot_be_used_are_errors_with_their_remedy() {
    check(
        "command: [db], port: 0",
        "",
        expect![[r#"
        `0` is not a valid port; write `auto` or a number from 1 to 65535
         --> my.yaml:4:48
          |
        4 |     - process: {name: db, command: [db], port: 0}
          |                                                ^
    "#]],
    );
    check(
        "command: [db], port: any",
        "",
        expect![[r#"
        `any` is not a valid port; write `auto` or a number from 1 to 65535
         --> my.yaml:4:48
          |
        4 |     - process: {name: db, command: [db], port: any}
          |                                                ^^^
    "#]],
    );
    check(
        "command: [db], port: auto",
        "",
        expect![[r#"
            `db` never uses its port
             --> my.yaml:4:23
              |
            4 |     - process: {name: db, command: [db], port: auto}
              |                       ^^ write ${port} in its command, environment or files
        "#]],
    );
    check(
        "command: [db, \"${port}\"]",
        "",
        expect![[r#"
        `${port}` is not allowed here
         --> my.yaml:4:42
          |
        4 |     - process: {name: db, command: [db, "${port}"]}
          |                                          ^^^^^^^ only a process with a port may use it; add for example port: auto
    "#]],
    );
    check(
        "command: [db], port: 80, replicas: 2",
        "",
        expect![[r#"
        the replicas of `db` cannot share port 80
         --> my.yaml:4:48
          |
        4 |     - process: {name: db, command: [db], port: 80, replicas: 2}
          |                                                ^^ write port: auto
    "#]],
    );
    let other = "    - process: {name: web, command: [web], port: 80}\n";
    check(
        "command: [db], port: 80",
        other,
        expect![[r#"
        `db` and `web` cannot share port 80
         --> my.yaml:4:48
          |
        4 |     - process: {name: db, command: [db], port: 80}
          |                                                ^^ write port: auto
    "#]],
    );
    check(
        "command: [db], ready: {tcp: true}",
        "",
        expect![[r#"
        `db` has no port, so it must print `ready <url>`
         --> my.yaml:4:23
          |
        4 |     - process: {name: db, command: [db], ready: {tcp: true}}
          |                       ^^ add for example port: auto, or remove `tcp` and `log`
    "#]],
    );
    check(
        "command: [db], port: 80",
        "  ready: {tcp: true}\n",
        expect![[r#"
        `tcp` and `log` belong to one component
         --> my.yaml:5:3
          |
        5 |   ready: {tcp: true}
          |   ^^^^^^ write it in the `ready` of a component that has a port
    "#]],
    );
}

#[test]
fn patterns_and_file_names_are_checked_when_they_are_read() {
    check(
        "command: [db], port: 80, ready: {log: 'a('}",
        "",
        expect![[r#"
        `a(` is not a valid regular expression: unclosed group
         --> my.yaml:4:65
          |
        4 |     - process: {name: db, command: [db], port: 80, ready: {log: 'a('}}
          |                                                                 ^^^^
    "#]],
    );
    check(
        "command: [db], files: {../x: y}",
        "",
        expect![[r#"
        `../x` is not a valid file name; write a path below ${folder}, for example nginx.conf
         --> my.yaml:4:49
          |
        4 |     - process: {name: db, command: [db], files: {../x: y}}
          |                                                 ^
    "#]],
    );
    check(
        "command: [db], files: {/etc/x: y}",
        "",
        expect![[r#"
        `/etc/x` is not a valid file name; write a path below ${folder}, for example nginx.conf
         --> my.yaml:4:49
          |
        4 |     - process: {name: db, command: [db], files: {/etc/x: y}}
          |                                                 ^
    "#]],
    );
}

#[test]
fn a_port_and_a_folder_belong_to_a_component_alone() {
    check(
        "command: [db], port: 80",
        "  smoke: [{get: \"/${port}\"}]\n",
        expect![[r#"
        `${port}` is not allowed here
         --> my.yaml:5:19
          |
        5 |   smoke: [{get: "/${port}"}]
          |                   ^^^^^^^ only a component's run, command, environment and files may use it
    "#]],
    );
    check(
        "command: [db], port: 80",
        "  teardown: [run: {command: [rm, \"${folder}\"]}]\n",
        expect![[r#"
            `${folder}` is not allowed here
             --> my.yaml:5:35
              |
            5 |   teardown: [run: {command: [rm, "${folder}"]}]
              |                                   ^^^^^^^^^ only a component's run, command, environment and files may use it
        "#]],
    );
}

#[test]
fn actions_use_only_what_is_started_before_them() {
    check(
        "command: [db], port: 80",
        "    - http: {post: /fill}\n    - process: {name: web, command: [web]}\n",
        expect![[r#"
            this action uses `web`, which starts after it
             --> my.yaml:5:20
              |
            5 |     - http: {post: /fill}
              |                    ^^^^^ put the action after the component, or name another one with `to`
        "#]],
    );
    check(
        "command: [db], port: 80",
        "    - run: {command: [fill, \"${addresses.web}\"]}\n    - process: {name: web, command: [web]}\n",
        expect![[r#"
            this action uses `web`, which starts after it
             --> my.yaml:5:30
              |
            5 |     - run: {command: [fill, "${addresses.web}"]}
              |                              ^^^^^^^^^^^^^^^^ put the action after the component, or name another one with `to`
        "#]],
    );
    check(
        "command: [db], port: 80, needs: [web]",
        "    - wait: {time: 1s}\n    - process: {name: web, command: [web]}\n",
        expect![[r#"
            `db` needs `web`, which starts after a later action
             --> my.yaml:4:60
              |
            4 |     - process: {name: db, command: [db], port: 80, needs: [web]}
              |                                                            ^^^ put it before the action
        "#]],
    );
    check(
        "command: [db], port: 80",
        "  initialise: {steps: [http: {post: /fill, to: dbb}]}\n",
        expect![[r#"
            no component is called `dbb`; did you mean `db`?
             --> my.yaml:5:48
              |
            5 |   initialise: {steps: [http: {post: /fill, to: dbb}]}
              |                                                ^^^ components here: db
        "#]],
    );
    let fine = "    - http: {post: /fill, to: db}\n    - process: {name: web, command: [web]}\n";
    read("command: [db], port: 80", fine).unwrap();
}
