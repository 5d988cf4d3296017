use super::*;

fn searched(capacity: &str) -> Searched {
    let answer = format!(r#"{{"searches": [{{"capacity": {capacity}}}]}}"#);
    let journal = "{\"status\": \"valid\"}\n{\"status\": \"bounded\"}\n{\"status\": \"invalid\"}\n";
    Searched::read(&Value::read(&answer).unwrap(), journal)
}

#[test]
fn a_search_is_read_from_its_answer_and_its_journal() {
    assert_eq!(
        searched("842.4").to_string(),
        "842/s after 1 valid trials and 1 slowed ones; 1 more were repeated"
    );
    assert_eq!(searched("null").capacity, None);
}

#[test]
fn starved_answers_are_compared_with_the_undisturbed_median() {
    let quiet = ["800", "840", "820"].map(searched);
    let met = |starved: &[&str]| {
        let starved: Vec<Searched> = starved.iter().map(|text| searched(text)).collect();
        findings(&quiet, &starved)[0].is_met()
    };
    assert!(met(&["810", "830"]));
    assert!(!met(&["810", "780"]));
    assert!(!met(&["810", "null"]));
    assert_eq!(findings(&quiet, &quiet)[1].figures, [0.5]);
}
