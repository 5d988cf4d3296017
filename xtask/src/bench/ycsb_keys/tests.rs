use super::*;

#[test]
fn the_figure_of_a_name_is_not_that_of_a_longer_one() {
    let text = "operations-uniform 3.5\noperations 4.5\n";
    assert_eq!(figure(text, "operations"), Some(4.5));
    assert_eq!(figure(text, "operations-uniform"), Some(3.5));
    assert_eq!(figure(text, "names"), None);
}

#[test]
fn the_time_of_a_line_is_that_of_its_message() {
    let log = "[17.25]::INFO::client:: Loading workload data from a into memory\n\
               [18.50]::INFO::client:: Filling data into the server\n";
    assert_eq!(seconds(log, "Loading workload data from "), Some(17.25));
    assert_eq!(seconds(log, "Filling data into the server"), Some(18.5));
    assert_eq!(seconds(log, "Completed Experiment"), None);
}
