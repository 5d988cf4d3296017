use super::*;

#[test]
fn the_figure_of_a_name_is_not_that_of_a_longer_one() {
    let text = "operations-uniform 3.5\noperations 4.5\n";
    assert_eq!(figure(text, "operations"), Some(4.5));
    assert_eq!(figure(text, "operations-uniform"), Some(3.5));
    assert_eq!(figure(text, "names"), None);
}
