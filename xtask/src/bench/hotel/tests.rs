use super::*;

#[test]
fn shares_of_ticks_divide_the_exact_time() {
    assert_eq!(row("geo", 9.0, 2.0, 1.0), "geo                9.0 µs  (user 6.0, kernel 3.0)");
    assert_eq!(row("geo", 0.0, 0.0, 0.0), "geo                0.0 µs  (user 0.0, kernel 0.0)");
}

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
