use std::net::TcpListener;

use super::*;

#[test]
fn every_choice_is_free_and_different() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    assert!(!is_free(listener.local_addr().unwrap().port()));
    let first = free().unwrap();
    let second = free().unwrap();
    assert_ne!(first, second);
    assert!(is_free(first), "{first}");
    let _both = [first, second].map(|port| TcpListener::bind(("127.0.0.1", port)).unwrap());
    assert!(!is_free(first), "{first}");
}

#[test]
fn ports_lie_below_the_kernels_own_if_there_are_enough() {
    assert_eq!(range("32768\t60999\n"), LOWEST..32_768);
    assert_eq!(range("1024\t65535\n"), LOWEST..65_535);
    assert_eq!(range(""), LOWEST..32_768);
}

#[test]
fn a_taken_port_is_known_by_the_words_of_the_program() {
    let line = |text: &str| [text.to_owned()];
    assert!(was_taken(&line(
        "nginx: [emerg] bind() to 127.0.0.1:80 failed (98: Address already in use)"
    )));
    assert!(was_taken(&line("OSError: [Errno 98] Address already in use")));
    assert!(!was_taken(&line("out of memory")));
}
