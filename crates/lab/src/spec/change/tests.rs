use expect_test::expect;

use super::super::Action;

fn read(text: &str) -> Result<Vec<Action>, String> {
    serde_saphyr::from_str(text).map_err(|error| error.without_snippet().to_string())
}

const GUIDE: &str = r#"
- config: {map: home-timeline, namespace: social, key: service-config.json, pointer: /home-timeline-redis/addr, value: redis-ha-master, restart: home-timeline}
- config: {map: nginx-thrift, key: nginx.conf, line: '^\s*worker_processes', value: "worker_processes 110;", timeout: 10s}
- config: {map: home-timeline, key: BENCHWRIGHT_REDIS, value: "${addresses.redis}"}
- scale: {namespace: social, deployments: {home-timeline: 18, front: 3}}
"#;

#[test]
fn changes_read_as_themselves_and_are_told_as_commands() {
    let actions = read(GUIDE).unwrap();
    let written = serde_saphyr::to_string(&actions).unwrap();
    assert_eq!(read(&written), Ok(actions.clone()));
    let told = actions.iter().map(|action| format!("{}\n", action.change().unwrap()));
    expect![[r#"
        edit -n social configmap home-timeline: service-config.json at /home-timeline-redis/addr = redis-ha-master, then restart home-timeline
        edit configmap nginx-thrift: nginx.conf, lines `^\s*worker_processes` = worker_processes 110;
        edit configmap home-timeline: BENCHWRIGHT_REDIS = ${addresses.redis}
        scale -n social front to 3, home-timeline to 18
    "#]]
    .assert_eq(&told.collect::<String>());
}

#[test]
fn an_edit_has_one_place() {
    let refused = |fields: &str, reason: &str| {
        let text = format!("[config: {{map: m, key: k, value: v, {fields}}}]");
        let error = read(&text).unwrap_err();
        assert!(error.contains(reason), "{error}");
    };
    refused("pointer: /a, line: b", "either `pointer` or `line`");
    refused("pointer: a.b", "begins with `/`");
    refused("line: '('", "not a valid regular expression");
    refused("lines: x", "lines");
}
