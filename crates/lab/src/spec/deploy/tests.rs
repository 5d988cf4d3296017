use std::path::Path;

use expect_test::{Expect, expect};

use crate::spec::{Action, Resolved, SpecError, Stage, from_bytes};

/// Reads a system of these steps, each with further fields.
fn read(steps: &str, rest: &str) -> Result<Resolved, SpecError> {
    let text = format!(
        "name: shop\nsut:\n  deploy:\n{steps}workload: {{get: /}}\n\
         load: {{model: open, rate: 1/s}}\n{rest}"
    );
    from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[])
}

fn steps(fields: &[(&str, &str)]) -> String {
    let step = |(name, further): &(&str, &str)| {
        format!("    - process: {{name: {name}, command: [{name}]{further}}}\n")
    };
    fields.iter().map(step).collect()
}

fn check(fields: &[(&str, &str)], expected: Expect) {
    let error = read(&steps(fields), "").map(|resolved| resolved.to_yaml()).unwrap_err();
    expected.assert_eq(&format!("{error}\n"));
}

/// Returns the names of each wave, and the actions between the waves.
fn stages(resolved: &Resolved) -> Vec<String> {
    let stage = |stage: Stage<'_>| match stage {
        Stage::Wave(wave) => wave.iter().map(|c| c.name()).collect::<Vec<_>>().join(" "),
        Stage::Action(Action::Http(exchange)) => exchange.target.clone(),
        Stage::Action(Action::Run(run)) => run.command.0.join(" "),
        Stage::Action(Action::Wait(wait)) => format!("{wait:?}"),
        Stage::Action(Action::Restart(components)) => components.0.join(" "),
        Stage::Action(change) => change.change().unwrap().to_string(),
    };
    resolved.stages().into_iter().map(stage).collect()
}

#[test]
fn steps_are_in_the_wave_after_the_last_that_they_need() {
    let fields = [
        ("front", ", needs: [cart, mail]"),
        ("cart", ", environment: {STORE: \"${addresses.store}\"}"),
        ("store", ""),
        ("mail", ""),
    ];
    let resolved = read(&steps(&fields), "").unwrap();
    assert_eq!(stages(&resolved), ["store mail", "cart", "front"]);
    let again = resolved.to_yaml();
    let again = from_bytes("again", again.as_bytes(), Path::new("."), None, &[]).unwrap();
    assert_eq!(again.spec, resolved.spec);
}

#[test]
fn needs_that_cannot_be_met_are_errors_with_their_place() {
    check(
        &[("front", ", needs: [cart]"), ("card", "")],
        expect![[r#"
        `front` needs `cart`, but no component has this name; did you mean `card`?
         --> my.yaml:4:56
          |
        4 |     - process: {name: front, command: [front], needs: [cart]}
          |                                                        ^^^^ components here: front, card
    "#]],
    );
    check(
        &[("front", ", needs: [front]")],
        expect![[r#"
        `front` needs itself
         --> my.yaml:4:56
          |
        4 |     - process: {name: front, command: [front], needs: [front]}
          |                                                        ^^^^^ it could never be started; remove it
    "#]],
    );
    check(
        &[("a", ""), ("b", ", needs: [a, d]"), ("c", ", needs: [b]"), ("d", ", needs: [c]")],
        expect![[r#"
            none of these can start first: b needs d needs c needs b
             --> my.yaml:5:23
              |
            5 |     - process: {name: b, command: [b], needs: [a, d]}
              |                       ^ remove one of these needs
        "#]],
    );
    check(
        &[("front", ""), ("front", "")],
        expect![[r#"
        two components are called `front`
         --> my.yaml:4:23
          |
        4 |     - process: {name: front, command: [front]}
          |                       ^^^^^ give each a different name
    "#]],
    );
    check(
        &[("front", ", environment: {X: \"${addresses.cart}\"}"), ("card", "")],
        expect![[r#"
        unknown variable `addresses.cart`; did you mean `addresses.card`?
         --> my.yaml:4:66
          |
        4 |     - process: {name: front, command: [front], environment: {X: "${addresses.cart}"}}
          |                                                                  ^^^^^^^^^^^^^^^^ variables here: addresses.card, addresses.front
    "#]],
    );
    check(
        &[("front", ", environment: {X: \"${addresses.front}\"}")],
        expect![[r#"
        `front` needs itself
         --> my.yaml:4:23
          |
        4 |     - process: {name: front, command: [front], environment: {X: "${addresses.front}"}}
          |                       ^^^^^ it could never be started; remove it
    "#]],
    );
    check(
        &[("front", ", replicas: 0")],
        expect![[r#"
            `0` is too few or too many; write a number from 1 to 1000000
             --> my.yaml:4:58
              |
            4 |     - process: {name: front, command: [front], replicas: 0}
              |                                                          ^
        "#]],
    );
    check(
        &[("front", ", memory_limit: 64")],
        expect![[r#"
        `64` is not a valid memory limit from 1MiB; write for example 64MiB
         --> my.yaml:4:62
          |
        4 |     - process: {name: front, command: [front], memory_limit: 64}
          |                                                              ^^
    "#]],
    );
    check(
        &[("front", ", memory_limit: 64kB")],
        expect![[r#"
        `64kB` is not a valid memory limit from 1MiB; write for example 64MiB
         --> my.yaml:4:62
          |
        4 |     - process: {name: front, command: [front], memory_limit: 64kB}
          |                                                              ^^^^
    "#]],
    );
    check(
        &[("front", ", replicas: 1001")],
        expect![[r#"
        this is a system of 1001 processes
         --> my.yaml:2:1
          |
        2 | sut:
          | ^^^^ reduce instances or replicas: at most 1000 processes
    "#]],
    );
    check(
        &[("front", ", replicas: 2"), ("front.2", "")],
        expect![[r#"
        two components would be called `front.2`
         --> my.yaml:5:23
          |
        5 |     - process: {name: front.2, command: [front.2]}
          |                       ^^^^^^^ rename this step
    "#]],
    );
}

#[test]
fn addresses_are_allowed_only_in_the_texts_of_components() {
    let error =
        read(&steps(&[("front", "")]), "reset: {steps: [http: {post: \"/${addresses.front}\"}]}\n");
    expect![[r#"
        `${addresses.front}` is not allowed here
         --> my.yaml:7:32
          |
        7 | reset: {steps: [http: {post: "/${addresses.front}"}]}
          |                                ^^^^^^^^^^^^^^^^^ only components, commands of actions and changes of a cluster may use addresses
    "#]].assert_eq(&format!("{}\n", error.unwrap_err()));
}

#[test]
fn only_what_is_deployed_has_replicas() {
    let text = "name: shop\nwhere: {backend: external}\n\
                sut: {endpoint: \"http://127.0.0.1:1\", replicas: 2}\n\
                workload: {get: /}\nload: {model: open, rate: 1/s}\n";
    let read = from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]);
    let error = read.map(|resolved| resolved.to_yaml()).unwrap_err().to_string();
    assert!(error.starts_with("only what is deployed has replicas"), "{error}");
    assert!(error.contains("my.yaml:3:"), "{error}");
}

#[test]
fn objects_of_a_cluster_are_changed_only_there() {
    let error =
        read(&steps(&[("front", "")]), "reset: {steps: [config: {map: home, key: a, value: b}]}\n");
    expect![[r#"
        `config:` changes an object of a cluster
         --> my.yaml:7:31
          |
        7 | reset: {steps: [config: {map: home, key: a, value: b}]}
          |                               ^^^^ choose backend: kubernetes
    "#]]
    .assert_eq(&format!("{}\n", error.unwrap_err()));
}

#[test]
fn files_of_objects_are_for_one_instance_on_a_cluster() {
    let servers = "    - manifest: {name: servers, file: servers.yaml, port: 7720}\n";
    let cluster = "where: {backend: kubernetes, cluster: {image: \"a:1\"}}\n";
    assert_eq!(stages(&read(servers, cluster).unwrap()), ["servers"]);
    let instances = format!("{servers}  instances: 2\n");
    for (steps, rest, words) in [
        (servers, "", "`servers` is a file of objects, which needs a cluster"),
        (&instances, cluster, "`servers` cannot have several instances"),
    ] {
        let error = read(steps, rest).map(|resolved| resolved.to_yaml()).unwrap_err().to_string();
        assert!(error.starts_with(words) && error.contains("my.yaml:4:"), "{error}");
    }
}

#[test]
fn a_program_is_a_command_or_a_job_of_a_cluster() {
    let servers = "    - process: {name: front, command: [front]}\n";
    let cluster = "where: {backend: kubernetes, cluster: {image: \"a:1\"}}\n";
    let with = |run: &str| format!("{servers}    - run: {{{run}}}\n");
    let resolved = read(&with("job: load.yaml"), cluster).unwrap();
    assert!(resolved.to_yaml().contains("job: load.yaml"), "{}", resolved.to_yaml());
    for (run, rest, words) in [
        ("job: load.yaml", "", "`job` is a pod of a cluster"),
        ("job: load.yaml, command: [load]", cluster, "`command` and `job` exclude each other"),
        ("output: a", cluster, "this `run` has no command"),
    ] {
        let error = read(&with(run), rest).map(|resolved| resolved.to_yaml()).unwrap_err();
        assert!(error.to_string().starts_with(words), "{error}");
    }
}
