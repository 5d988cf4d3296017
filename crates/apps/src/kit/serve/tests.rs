use super::*;

use std::sync::atomic::AtomicU32;

use hyper::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;

/// A site that responds after a while, so that an end can come in between. It keeps the bodies that
/// are put, and returns them; a GET of `/large` gets more than a peer's kernel takes.
#[derive(Default)]
struct Slow {
    refused: AtomicU32,
}

const WHILE: Duration = Duration::from_millis(100);
const LARGE: usize = 32 << 20;
const LOOK: Duration = Duration::from_millis(150);

impl Site for Slow {
    async fn answer(&self, request: Request<Bytes>) -> FullResponse {
        time::sleep(WHILE).await;
        if request.uri().path() == "/large" {
            return Response::new(Full::new(vec![b'x'; LARGE].into()));
        }
        let body = request.into_body();
        Response::new(Full::new(if body.is_empty() { Bytes::from_static(b"done") } else { body }))
    }

    fn keeps_body(&self, head: &Head) -> bool {
        head.method == Method::PUT
    }

    fn refused_connection(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }
}

/// Serves on a free port while `guest` runs, which may end the server.
fn visit<F: Future<Output = ()>>(
    guest: impl FnOnce(SocketAddr, oneshot::Sender<()>, Arc<Slow>) -> F,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (body_bytes, kept_bytes) = (PIECE + 16, 8);
        let limits = Limits {
            connections: 2,
            look: LOOK,
            body_bytes,
            kept_bytes,
            unsent_bytes: LARGE,
            ..Limits::default()
        };
        let (end, ending) = oneshot::channel();
        let ending = async move {
            if ending.await.is_err() {
                std::future::pending().await
            }
        };
        let site = Arc::new(Slow::default());
        tokio::spawn(until(ending, listener, limits, Arc::default(), Arc::clone(&site)));
        guest(address, end, site).await;
    });
}

async fn rest_of(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_head_which_does_not_arrive_in_time_closes_its_connection() {
    visit(|address, _end, _| async move {
        let began = Instant::now();
        let mut stream = TcpStream::connect(address).await.unwrap();
        // It sends one byte at a time, without end.
        let (mut from, mut to) = stream.split();
        let dribble = async {
            while to.write_all(b"G").await.is_ok() {
                time::sleep(LOOK / 4).await;
            }
        };
        let mut byte = [0];
        tokio::select! {
            () = dribble => {}
            _ = from.read(&mut byte) => {}
        }
        let took = began.elapsed();
        assert!(took >= LOOK && took < 50 * LOOK, "{took:?}");
    });
}

#[test]
fn a_body_which_does_not_arrive_in_time_closes_its_connection() {
    visit(|address, _end, _| async move {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf").await.unwrap();
        assert_eq!(rest_of(&mut stream).await, "");
    });
}

/// Sends a request with this body in chunks of two bytes; returns the status and the body of the
/// response.
async fn sent(address: SocketAddr, method: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut request =
        format!("{method} / HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
    for chunk in body.as_bytes().chunks(2) {
        request.push_str(&format!("{:x}\r\n{}\r\n", chunk.len(), chunk.escape_ascii()));
    }
    // It may refuse the body before it has read everything.
    let _ = stream.write_all((request + "0\r\n\r\n").as_bytes()).await;
    let answer = rest_of(&mut stream).await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    (head[9..12].to_owned(), body.to_owned())
}

#[test]
fn a_body_is_kept_where_it_is_wanted_and_within_bounds() {
    visit(|address, _end, _| async move {
        let beyond_a_piece = |bytes: usize| "1".repeat(PIECE + bytes);
        let kept = |body: &str| ("200".to_owned(), body.to_owned());
        // The room of the first is free when the second comes.
        for body in [beyond_a_piece(8), beyond_a_piece(7), "abc".to_owned()] {
            assert_eq!(sent(address, "PUT", &body).await, kept(&body));
        }
        assert_eq!(sent(address, "POST", &beyond_a_piece(10)).await, kept("done"));
        let no_room = ("503".to_owned(), "too many bodies at once\n".to_owned());
        assert_eq!(sent(address, "PUT", &beyond_a_piece(10)).await, no_room);
        let too_large = ("413".to_owned(), "body too large\n".to_owned());
        assert_eq!(sent(address, "POST", &beyond_a_piece(17)).await, too_large);
    });
}

#[test]
fn bodies_of_one_piece_are_kept_when_large_ones_have_all_the_room() {
    let room = Semaphore::new(8);
    let mut large = Kept::default();
    assert!(large.add(&[b'1'; PIECE + 8], &room).is_ok());
    let mut small = Kept::default();
    assert!(small.add(&[b'1'; PIECE - 1], &room).is_ok() && small.add(b"1", &room).is_ok());
    assert!(small.add(b"1", &room).is_err(), "its second piece");
    drop(large);
    assert!(small.add(b"1", &room).is_ok());
}

#[test]
fn a_connection_which_waits_between_requests_stays() {
    visit(|address, _end, _| async move {
        let mut stream = TcpStream::connect(address).await.unwrap();
        for _ in 0..2 {
            time::sleep(4 * LOOK).await;
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            let mut answer = String::new();
            while !answer.ends_with("done") {
                let mut bytes = [0; 512];
                let length = stream.read(&mut bytes).await.unwrap();
                assert!(length > 0, "closed after {answer}");
                answer.push_str(std::str::from_utf8(&bytes[..length]).unwrap());
            }
        }
    });
}

#[test]
fn requests_in_flight_at_the_end_are_answered() {
    visit(|address, end, _| async move {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        time::sleep(WHILE / 2).await;
        end.send(()).unwrap();
        assert!(rest_of(&mut stream).await.ends_with("\r\n\r\ndone"));
        assert!(TcpStream::connect(address).await.is_err(), "it does not listen any more");
    });
}

#[test]
fn one_connection_too_many_is_closed_and_reported() {
    visit(|address, _end, site| async move {
        let _first = TcpStream::connect(address).await.unwrap();
        let _second = TcpStream::connect(address).await.unwrap();
        let mut third = TcpStream::connect(address).await.unwrap();
        assert_eq!(rest_of(&mut third).await, "");
        assert_eq!(site.refused.load(Ordering::Relaxed), 1);
    });
}

const GET_LARGE: &[u8] = b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

#[test]
fn large_responses_that_nobody_reads_are_bounded_and_their_connections_closed() {
    visit(|address, _end, _| async move {
        let mut lazy = TcpStream::connect(address).await.unwrap();
        lazy.write_all(GET_LARGE).await.unwrap();
        // The other is answered after it, and before it is closed.
        time::sleep(WHILE / 2).await;
        let mut refused = TcpStream::connect(address).await.unwrap();
        refused.write_all(GET_LARGE).await.unwrap();
        let answer = rest_of(&mut refused).await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer:.99}");
        assert!(answer.ends_with("too many responses at once\n"), "{answer}");
        time::sleep(3 * LOOK).await;
        let part = rest_of(&mut lazy).await.len();
        assert!(part < LARGE, "it was closed in the middle: {part} bytes");
        let mut reader = TcpStream::connect(address).await.unwrap();
        reader.write_all(GET_LARGE).await.unwrap();
        assert!(LARGE < rest_of(&mut reader).await.len(), "there is room again");
    });
}
