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
