use super::*;

#[test]
fn segments_are_found_by_their_names() {
    let snmp = "Ip: Forwarding\nIp: 1\nTcp: RtoMin OutSegs RetransSegs\nTcp: 200 1000 7\nUdp: A\n";
    assert_eq!(read_segments(snmp), Some(Segments { sent: 1000, retransmitted: 7 }));
    assert_eq!(read_segments("Tcp: OutSegs\nTcp: 1000\n"), None);
    assert!(segments().is_some_and(|segments| segments.retransmitted <= segments.sent));
}

#[test]
fn ports_are_held_for_a_while() {
    let sockstat =
        "sockets: used 123\nTCP: inuse 71 orphan 0 tw 435 alloc 71 mem 239\nUDP: inuse 9";
    assert_eq!(read_waiting(sockstat), Some(435));
    assert_eq!(read_waiting("UDP: inuse 9"), None);
    assert!(waiting_ports().is_some());
    assert_eq!(read_range("32768\t60999\n"), Some(28_232));
}

#[test]
fn a_time_namespace_has_a_clock_of_its_own() {
    let usual = "monotonic           0         0\nboottime            0         0\n";
    assert_eq!(named_clock("a-b", usual), "a-b");
    assert_eq!(named_clock("a-b", ""), "a-b");
    let moved = "monotonic       -7200         5\nboottime            0         0\n";
    assert_eq!(named_clock("a-b", moved), "a-b+-7200s+5ns");
    assert_eq!(clock_name(), clock_name());
    assert!(clock_name().is_some_and(|name| name.starts_with(&boot_id().unwrap())));
}
