use expect_test::expect;

use super::*;
use crate::spec::from_bytes;
use crate::spec::workload::Given;

const SPEC: &str = r#"
name: shop
vars: {session: canary-session, page: "7"}
where: {backend: local}
sut:
  deploy:
    - process:
        name: shop
        command: [shop]
        environment: {PASSWORD: "${env.BW_ABSENT}", DB: "postgres://u:canary-db@h/x"}
  endpoint: shop
  smoke:
    - {get: /, send: {headers: {authorization: "Basic canary-basic"}}}
workload:
  path: "/p/${vars.page}?key=${env.PATH}"
  headers:
    Authorization: Bearer ${env.PATH}
    Cookie: "id=${vars.session}; theme=canary-theme"
    X-Api-Key: [canary-key, canary-key]
    Accept: text/plain
    X-Whatever: Bearer canary-bearer
  get: null
load: {model: open, rate: 100/s}
"#;

fn read(text: &str, set: &[&str]) -> Resolved {
    let set: Vec<String> = set.iter().map(|one| (*one).to_owned()).collect();
    let folder = std::path::Path::new(".");
    from_bytes("shop.yaml", text.as_bytes(), folder, None, &set).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(text: &str) -> String {
    let folder = std::path::Path::new(".");
    from_bytes("shop.yaml", text.as_bytes(), folder, None, &[]).unwrap_err().to_string()
}

#[test]
fn secrets_that_are_written_plainly_leave_the_spec() {
    let resolved = read(SPEC, &["vars.session=canary-set", "phases.drain=2s"]);
    let yaml = resolved.to_yaml();
    assert!(!yaml.contains("canary"), "{yaml}");
    for kept in [
        "Authorization: Bearer ${env.PATH}",
        "authorization: Basic ${redacted.",
        "Accept: text/plain",
        "page: \"7\"",
        "postgres://u:${redacted.",
    ] {
        assert!(yaml.contains(kept), "{kept}: {yaml}");
    }
    let set = resolved.set.join(" ");
    assert!(!set.contains("canary") && set.ends_with("phases.drain=2s"), "{set}");
    let secrets = &resolved.secrets;
    let cookie = headers(&resolved, "Cookie")[0];
    assert_eq!(secrets.reveal(&resolved.text(cookie, 1)), "id=canary-set; theme=canary-theme");
    let keys = headers(&resolved, "X-Api-Key");
    assert_eq!(keys[0], keys[1]);
    assert_eq!(secrets.reveal(keys[0]), "canary-key");
    assert!(!format!("{secrets:?}").contains("canary"));
}

/// Returns the values of a header field, as they are kept.
fn headers<'a>(resolved: &'a Resolved, wanted: &str) -> Vec<&'a str> {
    let given = resolved.spec.workload.set().into_iter().flat_map(|set| set.given);
    let value = |given| match given {
        Given::Field(name, value) if name == wanted => Some(value),
        _ => None,
    };
    given.filter_map(value).collect()
}

#[test]
fn the_secret_parameters_of_a_url_leave_it_and_a_constant_for_one_stays() {
    let text = SPEC.replace("get: null", "get: null\n  method: POST").replace(
        "/p/${vars.page}?key=${env.PATH}",
        "/p?key=canary%2Fkey&password=canary-pw&pin=${vars.page}&page=first",
    );
    let resolved = read(&text, &[]);
    let yaml = resolved.to_yaml();
    assert!(!yaml.contains("canary"), "{yaml}");
    let path = resolved.spec.workload.path().unwrap();
    assert!(path.contains("&pin=${vars.page}&page=first"), "{path}");
    let sent = resolved.secrets.reveal_in_url(&resolved.text(path, 1));
    assert_eq!(sent, "/p?key=canary%2Fkey&password=canary-pw&pin=7&page=first");
}

#[test]
fn a_spec_without_secrets_stays_as_it_is() {
    let resolved = read(
        "name: a\nwhere: {backend: external}\nsut: {endpoint: 'http://127.0.0.1:1'}\nload: {model: closed}\n",
        &[],
    );
    assert!(resolved.secrets.is_empty());
    resolved.check_secrets().unwrap();
}

#[test]
fn a_run_is_refused_while_a_variable_is_not_set() {
    let error = read(SPEC, &[]).check_secrets().unwrap_err().to_string();
    expect![[r#"
        the variable BW_ABSENT is not set in the environment
          --> shop.yaml:10:34
           |
        10 |         environment: {PASSWORD: "${env.BW_ABSENT}", DB: "postgres://u:(redacted)@h/x"}
           |                                  ^^^^^^^^^^^^^^^^ set it where this command runs: export BW_ABSENT=…"#]]
    .assert_eq(&error);
}

#[test]
fn all_variables_that_are_not_set_are_named_at_once() {
    let error = read(
        "name: a\nwhere: {backend: external}\nsut: {endpoint: 'http://127.0.0.1:1'}\n\
         workload: {get: /, headers: {A: '${env.BW_ONE}', B: '${env.BW_TWO}', C: '${env.BW_ONE}'}}\nload: {model: closed}\n",
        &[],
    );
    expect![[r#"
        the variables BW_ONE, BW_TWO are not set in the environment
         --> shop.yaml:4:34
          |
        4 | workload: {get: /, headers: {A: '${env.BW_ONE}', B: '${env.BW_TWO}', C: '${env.BW_ONE}'}}
          |                                  ^^^^^^^^^^^^^ set them where this command runs: export BW_ONE=… BW_TWO=…"#]].assert_eq(&error.check_secrets().unwrap_err().to_string());
}

#[test]
fn what_was_kept_without_its_secrets_is_read_but_not_run() {
    let kept = read(&SPEC.replace("${env.BW_ABSENT}", "x"), &[]).to_yaml();
    let again = read(&kept, &[]);
    assert_eq!(again.to_yaml(), kept);
    assert_eq!(again.secrets.plain(), 0);
    let error = again.check_secrets().unwrap_err().to_string();
    assert!(
        error.contains("stands for a secret that was written plainly and is not kept"),
        "{error}"
    );
    assert!(error.contains("start a new run, with ${env.NAME}"), "{error}");
}

#[test]
fn the_generator_gets_the_secrets_of_its_requests_only() {
    let resolved = read(SPEC, &[]);
    let of_load = resolved.secrets_of_load();
    let values: Vec<&str> = of_load.known().map(|(_, value)| value).collect();
    assert!(values.contains(&"canary-session") && values.contains(&"canary-key"), "{of_load:?}");
    assert!(!values.contains(&"canary-db") && !values.contains(&"canary-basic"), "{of_load:?}");
    assert!(of_load.names().any(|name| name == "env.PATH"));
    assert!(!of_load.names().any(|name| name == "env.BW_ABSENT"));
    let wanted = crate::spec::generator::AskedLoad {
        rate: None,
        warm_up: measure::Nanos::ZERO,
        measure: measure::Nanos::SECOND,
        drain: measure::Nanos::SECOND,
        interval: None,
        seed: 1,
    };
    let targets = [crate::spec::generator::target(&resolved, "http://127.0.0.1:1", 1)];
    let words = crate::spec::generator::arguments(&resolved, &targets, &[], &wanted).to_string();
    assert!(!words.contains("canary"), "{words}");
    assert!(words.contains("/p/7?key=${env.PATH}") && words.contains("--secrets -"), "{words}");
}

#[test]
fn a_secret_in_a_command_or_a_name_is_refused_with_the_remedy() {
    let of_command = SPEC.replace("command: [shop]", "command: [shop, \"${env.PATH}\"]");
    expect![[r#"
        `${env.PATH}` is not allowed here
         --> shop.yaml:9:26
          |
        9 |         command: [shop, "${env.PATH}"]
          |                          ^^^^^^^^^^^ the process list shows commands to everybody; give it by `environment`"#]]
    .assert_eq(&refused(&of_command));
    let through_a_variable = SPEC
        .replace("command: [shop]", "command: [shop, \"${vars.page}\"]")
        .replace("page: \"7\"", "page: \"${env.PATH}\"");
    assert!(refused(&through_a_variable).contains("`${env.PATH}` is not allowed here"));
    let of_name =
        SPEC.replace("get: null", "body_file: \"${env.PATH}\"\n  method: POST\n  get: null");
    let error = refused(&of_name);
    assert!(error.contains("`${env.PATH}` is not allowed here"), "{error}");
    assert!(error.contains("only header fields, bodies"), "{error}");
    let unknown = refused(&SPEC.replace("${env.BW_ABSENT}", "${env.A-B}"));
    assert!(unknown.contains("unknown variable `env.A-B`"), "{unknown}");
    let bare = refused(&SPEC.replace("${env.BW_ABSENT}", "${BW_ABSENT}"));
    assert!(bare.contains("write ${env.BW_ABSENT} for one of the environment"), "{bare}");
}

#[test]
fn an_error_does_not_show_the_secret_of_its_line() {
    let text = SPEC.replace(
        "Authorization: Bearer ${env.PATH}",
        "Authorization: Bearer canary ${vars.nobody}",
    );
    let error = refused(&text);
    assert!(error.contains("unknown variable"), "{error}");
    let folder = std::path::Path::new(".");
    let set = ["workload.headers.Cookie=canary-c".to_owned(), "load.rate=many".to_owned()];
    let error = from_bytes("shop.yaml", SPEC.as_bytes(), folder, None, &set).unwrap_err();
    assert!(!error.to_string().contains("canary-c"), "{error}");
}

#[test]
fn levels_and_searches_keep_their_secrets_apart_too() {
    let text = SPEC.to_owned()
        + "factors:\n  user: {levels: [{name: a, set: {workload: {headers: {Cookie: id=canary-a}}}}, {name: b, set: {vars: {session: canary-b}}}]}\n  key: {path: workload.headers.X-Api-Key, levels: [canary-k1, canary-k2]}\n";
    let resolved = read(&text, &[]);
    assert!(!resolved.to_yaml().contains("canary"), "{}", resolved.to_yaml());
    let (_, questions) = crate::spec::questions(&resolved).unwrap();
    let last = &questions[3].resolved;
    let key = headers(last, "X-Api-Key")[0];
    assert_eq!(last.secrets.reveal(key), "canary-k2");
    assert_eq!(last.secrets.reveal(&last.text("${vars.session}", 1)), "canary-b");
}

#[test]
fn an_error_shows_no_item_of_the_list_of_a_secret_field() {
    let text = SPEC.replace(
        "Authorization: Bearer ${env.PATH}",
        "Authorization:\n      - \"canary ${vars.nobody}\"",
    );
    let error = refused(&text);
    assert!(error.contains("unknown variable") && !error.contains("canary"), "{error}");
    assert!(error.contains("|       - (redacted)"), "{error}");
    let set = ["workload.headers={Cookie: [\"id=canary-c\"], X: {a: b}}".to_owned()];
    let folder = std::path::Path::new(".");
    let error = from_bytes("shop.yaml", SPEC.as_bytes(), folder, None, &set).unwrap_err();
    assert!(!error.to_string().contains("canary"), "{error}");
}
