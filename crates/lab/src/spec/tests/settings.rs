//! Settings of the command line: `--set KEY=VALUE`.

use super::*;

#[test]
fn a_setting_names_an_item_of_a_list_by_its_place() {
    let text = spec("slo: [{metric: p99, max: 9ms}, {metric: failures, max: 1%}]\n");
    let resolved = read(&text, None, &["slo.0.max=7ms"]).unwrap();
    assert_eq!(results::slo::written(&resolved.slos()), "p99<=7ms,failures<=1%");
    assert!(read(&text, None, &["slo.2.max=7ms"]).is_err());
    // A message has the path that a setting has.
    let wrong = read(&text, None, &["slo.0.max=soon"]).unwrap_err().to_string();
    assert!(wrong.contains("slo.0: ") && !wrong.contains('['), "{wrong}");
}

#[test]
fn settings_are_checked_together() {
    let search = "search: {start: 500/s, step: 100/s, stop: [{rule: slo_violated}]}\nslo: [{metric: p99, max: 9ms}]\n";
    let text = spec(search).replace(", rate: 500/s", "");
    let strategy = |set: &[&str]| match read(&text, None, set) {
        Ok(resolved) => resolved.spec.search.unwrap().sweep().is_some().to_string(),
        Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
    };
    let [adaptive, step] = ["search.strategy=adaptive", "search.step=25%"];
    assert_eq!(strategy(&[adaptive, step]), "false");
    assert_eq!(strategy(&[step, adaptive]), "false", "in any order");
    // None of them fails like this alone.
    let [range, seed] = ["search.range=[5/s, 9/s]", "seed=7"];
    expect!["--set search.strategy=adaptive --set search.range=[5/s, 9/s] --set search.step=25% --set seed=7: search: a range is bisected: remove `step`, or write `start` instead of `range`"].assert_eq(&strategy(&[adaptive, range, step, seed]));
    let closed = ["load.think=10ms", "load.model=closed", "search=null"];
    let resolved = read(&text, None, &closed).unwrap();
    let Model::Closed { think } = resolved.spec.load.model else { panic!("it is closed") };
    assert!(think.is_some(), "the model before it is not dropped after it");
}
