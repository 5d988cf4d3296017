use super::*;
use crate::hotel::data;

fn nearby(lat: f32, lon: f32) -> Vec<String> {
    Places::new(data::places()).near(lat.into(), lon.into())
}

/// Returns the distance by the textbook formula.
fn haversine_km(one: (f64, f64), other: (f64, f64)) -> f64 {
    let [lat_1, lon_1, lat_2, lon_2] = [one.0, one.1, other.0, other.1].map(f64::to_radians);
    let half = |angle: f64| (angle / 2.0).sin().powi(2);
    let inner = half(lat_2 - lat_1) + lat_1.cos() * lat_2.cos() * half(lon_2 - lon_1);
    2.0 * EARTH_KM * inner.sqrt().asin()
}

#[test]
fn the_five_nearest_are_found_nearest_first() {
    assert_eq!(nearby(38.0235, -122.095), ["40", "39", "41", "38", "42"]);
}

#[test]
fn fewer_are_near_at_the_end_of_the_line() {
    let last = &data::places()[79];
    assert_eq!(nearby(last.lat as f32 + 0.07, last.lon as f32 + 0.04), ["80", "79"]);
}

#[test]
fn nothing_is_near_in_the_sea_or_nowhere() {
    assert_eq!(nearby(0.0, 0.0), [""; 0]);
    assert_eq!(nearby(f32::NAN, f32::INFINITY), [""; 0]);
}

#[test]
fn chords_choose_as_haversine_distances_do() {
    for step in 0..4000_u32 {
        let here = (37.75 + f64::from(step % 100) * 0.007, -122.5 + f64::from(step / 100) * 0.02);
        let here = (f64::from(here.0 as f32), f64::from(here.1 as f32));
        let mut expected: Vec<_> = data::places()
            .into_iter()
            .map(|place| (haversine_km(here, (place.lat, place.lon)), place.id))
            .filter(|(km, _)| *km <= RADIUS_KM)
            .collect();
        expected.sort_by(|one, other| one.0.total_cmp(&other.0));
        let expected: Vec<_> = expected.into_iter().take(NEAREST).map(|(_, id)| id).collect();
        assert_eq!(nearby(here.0 as f32, here.1 as f32), expected, "at {here:?}");
    }
}
