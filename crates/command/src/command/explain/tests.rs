use std::path::Path;

use super::*;

/// `resume` refuses a change of anything but the budget.
#[test]
fn a_change_is_that_of_a_new_run_with_the_profile_and_the_settings_of_the_old_one() {
    let text = "
name: queue
where: {backend: simulated}
simulated: {service_time: 1ms}
workload: {get: /}
load: {model: closed, connections: 4}
profiles: {ci: {phases: {measure: {time: 1s}}}}
";
    let set = ["seed=3".to_owned()];
    let read = |profile: Option<&str>, set: &[String]| {
        lab::spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), profile, set).unwrap()
    };
    assert_eq!(
        new_run(&read(Some("ci"), &set), "repeat.order={blocks: 4}"),
        "benchwright run SPEC --profile ci --set seed=3 --set 'repeat.order={blocks: 4}'"
    );
    assert_eq!(
        new_run(&read(None, &[]), "repeat.trials=6"),
        "benchwright run SPEC --set repeat.trials=6"
    );
}
