use super::*;

#[test]
fn a_cost_is_shown_as_a_rate_beside_its_time_and_that_of_the_guide() {
    let of_guide = finding(10, &[0.058, 0.0625, 0.07]);
    assert_eq!(
        of_guide.to_string(),
        "bcrypt cost 10, logins per CPU-second (guide 4: about 15): \
         median 16.000 (14.286 … 17.241): printed"
    );
    assert_eq!(of_guide.beside, "62.500 ms each");
    assert_eq!(finding(4, &[0.001]).what, "bcrypt cost 4, logins per CPU-second");
}
