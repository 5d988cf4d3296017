use super::*;

#[test]
fn a_deployment_names_the_places_of_its_data() {
    let [embedded, .., both] = DEPLOYMENTS.map(|deployed| deployed.to_string());
    assert_eq!(
        embedded,
        "instances 1 × replicas 1, all on one CPU; rates and profiles in the services' memory; \
         store a process per instance; a booking survives kill -9 but not a power failure"
    );
    assert_eq!(
        both,
        "instances 2 × replicas 2, all on one CPU; rates and profiles in one memcached; \
         store one PostgreSQL, a database per instance; a booking survives kill -9 but not a power \
         failure"
    );
}
