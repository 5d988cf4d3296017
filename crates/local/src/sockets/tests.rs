use std::net::{TcpListener, TcpStream};

use super::*;

const TABLE: &[u8] = b"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1B59 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:1B59 0100007F:9C40 01 00000000:0000012C 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
   2: 0100007F:1B59 0100007F:9C42 01 00000010:00000000 00:00000000 00000000     0        0 3 1 0 20 4 30 10 -1
   3: 0100007F:9C40 0100007F:1B59 01 00000000:00000007 00:00000000 00000000     0        0 4 1 0 20 4 30 10 -1
   4: 0100007F:1B59 0100007F:9C44 06 00000000:00000000 03:000017A1 00000000     0        0 0 3 0
   torn";

#[test]
fn a_table_is_counted_by_local_port() {
    let mut seen =
        BTreeMap::from([(7_001, PortSockets::default()), (7_002, PortSockets::default())]);
    assert!(count(TABLE, &mut seen));
    let expected =
        PortSockets { listens: true, established: 2, unread: 1, unread_bytes: 300, backlog: 3 };
    assert_eq!(seen[&7_001], expected);
    assert_eq!(seen[&7_002], PortSockets::default());
}

#[test]
fn the_kernels_own_tables_show_unread_bytes_and_connections_not_accepted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    std::io::Write::write_all(&mut client, b"GET /").unwrap();
    let mut sockets = Sockets::default();
    // The sent bytes arrive when the kernel processes them.
    let has_arrived = || {
        sockets.look([port].into_iter());
        sockets.of(port).is_some_and(|seen| (seen.unread, seen.backlog) == (1, 1))
    };
    assert!(eventually(has_arrived), "{:?}", sockets.of(port));
    for _ in 0..2 {
        sockets.look([port].into_iter());
        let seen = sockets.of(port).unwrap();
        assert_eq!((seen.unread, seen.unread_bytes, seen.backlog), (1, 5, 1));
    }
    assert_eq!(sockets.tables, ["/proc/net/tcp"]);
    let _accepted = listener.accept().unwrap();
    sockets.look([port].into_iter());
    assert_eq!(sockets.of(port).unwrap().backlog, 0);
    drop(listener);
    // A process that another test is starting holds a copy until its exec.
    let is_over = || {
        sockets.look([port].into_iter());
        sockets.of(port).is_none()
    };
    assert!(eventually(is_over), "nothing listens");
}

fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    (0..1000).any(|_| {
        lab::host::rest(std::time::Duration::from_millis(10));
        is_so()
    })
}

#[test]
fn the_process_behind_a_port_is_found() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    assert!(listeners(&[port].into()).contains(&std::process::id()));
    drop(listener);
    assert!(listeners(&[port].into()).is_empty());
}
