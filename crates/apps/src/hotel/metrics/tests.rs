use super::*;

use tonic::Code;

use crate::kit::metrics::Metrics as _;

#[test]
fn what_was_counted_is_in_the_text() {
    let metrics = Metrics::default();
    metrics.answered(Endpoint::Hotels, 200, Duration::from_micros(3));
    metrics.answered(Endpoint::Hotels, 400, Duration::from_micros(1));
    metrics.called(Service::Geo);
    metrics.basic().ended(Service::Geo, Code::Ok, Duration::from_micros(3));
    metrics.basic().ended(Service::Geo, Code::Unavailable, Duration::from_micros(1));
    metrics.searched(2);
    metrics.logged_in(false);
    metrics.reserved(Reserving::Full);
    metrics.looked_up(Lookup::Hit, 3);
    let text = metrics.text();
    for line in [
        "hotel_requests_total{endpoint=\"/hotels\",code=\"200\"} 1",
        "hotel_requests_total{endpoint=\"/hotels\",code=\"400\"} 1",
        "hotel_request_duration_seconds_bucket{endpoint=\"/hotels\",le=\"0.000002\"} 1",
        "hotel_request_duration_seconds_bucket{endpoint=\"/hotels\",le=\"+Inf\"} 2",
        "hotel_request_duration_seconds_sum{endpoint=\"/hotels\"} 0.000004",
        "hotel_service_calls_total{service=\"geo\"} 1",
        "hotel_calls_answered_total{service=\"geo\",code=\"Ok\"} 1",
        "hotel_calls_answered_total{service=\"geo\",code=\"Unavailable\"} 1",
        "hotel_call_duration_seconds_count{service=\"geo\"} 2",
        "hotel_search_results_total{hotels=\"2\"} 1",
        "hotel_logins_total{outcome=\"ok\"} 0",
        "hotel_logins_total{outcome=\"failed\"} 1",
        "hotel_reservations_total{outcome=\"full\"} 1",
        "hotel_cache_lookups_total{outcome=\"hit\"} 3",
        "hotel_cache_lookups_total{outcome=\"error\"} 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
}
