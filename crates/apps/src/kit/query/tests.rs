use super::*;

fn check(query: &str, name: &str, value: &str) {
    assert_eq!(Query::new(Some(query)).get(name), value, "{name} in {query}");
}

#[test]
fn the_first_value_of_a_name_counts() {
    check("a=1&b=2&a=3", "a", "1");
    check("a=1&b=2&a=3", "b", "2");
    check("a=1", "c", "");
    check("", "a", "");
    check("a", "a", "");
    check("a=x=y", "a", "x=y");
    assert_eq!(Query::new(None).get("a"), "");
}

#[test]
fn names_and_values_are_decoded() {
    check("na%6de=M%C3%BCller+%26+Co", "name", "Müller & Co");
    check("name=%ff", "name", "\u{fffd}");
}

#[test]
fn a_broken_pair_is_ignored() {
    check("a=%zz&a=2", "a", "2");
    check("a=%2&a=3", "a", "3");
    check("a=1;b=2&a=3", "a", "3");
    check("%=1&a=3", "a", "3");
}

#[test]
fn a_text_that_is_not_a_number_is_zero() {
    assert_eq!(number::<f32>("38.5"), 38.5);
    assert_eq!(number::<f32>("nil"), 0.0);
    assert_eq!(number::<i32>(""), 0);
}
