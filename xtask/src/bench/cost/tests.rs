use super::*;

const TABLES: [Table; 6] =
    [rows::HOTEL, rows::HOTEL_QUICK, rows::USERS, rows::SOCIAL, rows::CHANNEL, rows::RECEIVE];

#[test]
fn each_figure_of_a_row_has_its_goal() {
    for row in TABLES.iter().flat_map(|table| table.rows) {
        let figures = row.steps.iter().filter(|step| !matches!(step, Step::Load(_)));
        assert_eq!(figures.count(), row.goals.len(), "{}", row.what);
    }
}

#[test]
fn a_service_starts_after_the_stores_and_services_that_it_calls() {
    let optional = ["cache", "redis", "redis-replicas", "timelines"];
    for row in TABLES.iter().flat_map(|table| table.rows) {
        let mut known: Vec<&str> = row.stores.iter().map(|store| store.place).collect();
        known.extend(optional.iter().chain(&["scratch"]));
        for service in row.services {
            let called = service.split('{').skip(1).filter_map(|rest| rest.split('}').next());
            called.for_each(|name| assert!(known.contains(&name), "{name} in `{service}`"));
            known.extend(service.split(' ').next());
        }
    }
}

#[test]
fn shares_of_ticks_divide_the_exact_time() {
    assert_eq!(shares("geo", 9.0, 2.0, 1.0), "geo                9.0 µs  (user 6.0, kernel 3.0)");
    assert_eq!(shares("geo", 0.0, 0.0, 0.0), "geo                0.0 µs  (user 0.0, kernel 0.0)");
}
