use std::net::TcpListener;
use std::sync::mpsc::{self, Sender};

use super::*;
use crate::spec::Port;

fn foreign(tcp: bool, log: Option<&str>, port: u16) -> (Sender<String>, Waiting) {
    let (sender, lines) = mpsc::channel();
    let log = log.map(|text| text.to_owned().try_into().unwrap());
    let foreign = Foreign { port: Port::Auto, tcp, log };
    (sender, Waiting::new(lines, Some(port), Some(foreign)))
}

#[test]
fn a_component_is_ready_when_it_prints_its_url() {
    let (sender, lines) = mpsc::channel();
    let mut waiting = Waiting::new(lines, None, None);
    sender.send("starting".to_owned()).unwrap();
    assert_eq!(waiting.poll(), None);
    assert_eq!(waiting.missing(), "it never printed `ready <url>`");
    sender.send("ready http://127.0.0.1:9/ ".to_owned()).unwrap();
    assert_eq!(waiting.poll(), Some("http://127.0.0.1:9/".to_owned()));
}

#[test]
fn a_foreign_program_is_ready_when_all_its_signs_are_there() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, mut waiting) = foreign(true, Some("^ready in \\d+ s$"), port);
    sender.send("loading".to_owned()).unwrap();
    assert_eq!(waiting.poll(), None);
    assert_eq!(waiting.missing(), "it never printed a line that `^ready in \\d+ s$` matches");
    sender.send("ready in 3 s".to_owned()).unwrap();
    assert_eq!(waiting.poll(), Some(format!("http://127.0.0.1:{port}")));

    drop(listener);
    let (_sender, mut waiting) = foreign(true, None, port);
    assert_eq!(waiting.poll(), None);
    assert_eq!(waiting.missing(), format!("it accepts no connection at port {port}"));
    let (_sender, mut waiting) = foreign(false, None, port);
    assert_eq!(waiting.poll(), Some(format!("http://127.0.0.1:{port}")));
}
