use expect_test::expect;

use super::*;

fn read(text: &str) -> Result<Vec<Action>, String> {
    serde_saphyr::from_str(text).map_err(|error| error.without_snippet().to_string())
}

#[test]
fn actions_state_their_timeouts_and_read_as_themselves() {
    let actions = read(
        "[http: {post: /reset}, run: {command: [sh, -c, \"true\"], output_equals: ok}, \
         wait: {time: 2s}, wait: {until: {http: {get: /}}}, \
         wait: {until: {run: {command: [x], timeout: 1s}}, timeout: 2m}]",
    );
    let actions = actions.unwrap();
    let written = serde_saphyr::to_string(&actions).unwrap();
    expect![[r#"
        - http:
            post: /reset
            status: 200
        - run:
            command:
            - sh
            - -c
            - "true"
            output_equals: ok
            timeout: 60s
        - wait:
            time: 2s
        - wait:
            until:
              http:
                get: /
                status: 200
            timeout: 60s
        - wait:
            until:
              run:
                command:
                - x
                timeout: 1s
            timeout: 120s
    "#]]
    .assert_eq(&written);
    assert_eq!(read(&written), Ok(actions));
}

#[test]
fn a_wait_is_for_a_time_or_for_a_check() {
    let refused = |text: &str, reason: &str| {
        let error = read(text).unwrap_err();
        assert!(error.contains(reason), "{error}");
    };
    refused("[wait: {}]", "a wait is either `time: 2s` or");
    refused("[wait: {time: 1s, until: {http: {get: /}}}]", "a wait is either");
    refused("[wait: {time: 1s, timeout: 2s}]", "`timeout` belongs to `until`");
    refused("[sleep: 1s]", "sleep");
}
