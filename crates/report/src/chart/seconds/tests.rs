use super::*;

#[test]
fn events_of_one_cause_never_shade_a_second_twice() {
    let event = |from_s, to_s, text: &str| Event { from_s, to_s, text: text.to_owned() };
    let events =
        [event(3.0, 5.0, "b"), event(1.0, 4.0, "a"), event(4.5, 4.8, "c"), event(5.0, 6.0, "d")];
    let expected = [event(1.0, 5.0, "a; b; c"), event(5.0, 6.0, "d")];
    assert_eq!(apart(&events), expected);
}
