use super::*;

#[test]
fn a_deployment_names_the_places_of_its_data_and_what_a_post_survives() {
    let [embedded, .., replicated] = DEPLOYMENTS.map(|deployed| deployed.to_string());
    assert_eq!(
        embedded,
        "timelines in the embedded store; a process for each service, all on one CPU; a post survives \
         kill -9 but not a power failure"
    );
    assert_eq!(
        replicated,
        "timelines in Redis, read from 2 replicas, on its disk within two seconds; a process for each \
         service, all on one CPU; a post survives kill -9 but not a power failure"
    );
}

#[test]
fn costs_stand_beside_the_goal_and_the_original() {
    let costs = Costs {
        saturated: vec![240.0, 260.0, 255.0],
        at_half: vec![410.0],
        rates: vec![3900.0],
        initialised: vec![2000.0],
    };
    let [saturated, at_half, initialised] = costs.findings(Deployment::Embedded);
    assert_eq!(saturated.verdict(), "must ≤ 400 met, stretch ≤ 250 missed");
    assert_eq!(saturated.beside, "3900 reads/s");
    assert!(!at_half.is_met() && at_half.beside == "the original: about 2,000");
    assert_eq!(initialised.verdict(), "printed");
    assert!(!OF_INITIALISER.is_met(9_999.0) && OF_INITIALISER.is_met(10_000.0));
}
