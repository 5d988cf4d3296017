use super::*;

#[test]
fn a_program_is_there_if_a_folder_of_the_path_holds_it() {
    assert!(Proof::Program("sh").holds());
    assert!(!Proof::Program("no-program-has-this-name").holds());
}

#[test]
fn a_file_is_there_if_it_exists() {
    assert!(Proof::File("/proc/self/status").holds());
    assert!(!Proof::File("/proc/self/no-such-file").holds());
}

#[test]
fn a_file_of_any_version_is_enough() {
    assert!(Proof::Versioned("/proc", "status").holds());
    assert!(!Proof::Versioned("/proc", "no-such-file").holds());
    assert!(!Proof::Versioned("/no-such-folder", "status").holds());
}
