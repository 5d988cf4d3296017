use super::*;

use expect_test::{Expect, expect};
use tokio::net::TcpListener;

fn parsed(text: &str) -> String {
    match text.parse() {
        Ok(Servers { addresses, prefix }) => format!("{} {prefix:?}", addresses.join(" ")),
        Err(error) => format!("{error:#}"),
    }
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&parsed(text));
}

#[test]
fn servers_are_read_from_a_url() {
    check("memcached://a:1,b:2", expect![[r#"a:1 b:2 """#]]);
    check("memcached://127.0.0.1:11211/first", expect![[r#"127.0.0.1:11211 "first""#]]);
    check(
        "127.0.0.1:11211",
        expect!["write memcached://HOST:PORT,HOST:PORT or memcached://HOST:PORT/PREFIX"],
    );
    check(
        "memcached://a:0",
        expect![
            "`a:0` is not a valid address of a server; write memcached://HOST:PORT,HOST:PORT or memcached://HOST:PORT/PREFIX"
        ],
    );
    check(
        "memcached://a:1/x y",
        expect![
            "`x y` is not a valid prefix: at most 64 visible ASCII characters; write memcached://HOST:PORT,HOST:PORT or memcached://HOST:PORT/PREFIX"
        ],
    );
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

const TIMEOUT: Duration = Duration::from_secs(1);

fn cache(address: impl ToString) -> Memcached {
    let servers = format!("memcached://{}/p", address.to_string()).parse().unwrap();
    Memcached::new(&servers, TIMEOUT, Arc::default())
}

/// Returns what the cache makes of a server that sends these bytes on every connection.
async fn answer_to(answer: &'static str) -> Found {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let cache = cache(listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut [0; b"get p:rate:1\r\n".len()]).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        time::sleep(Duration::from_secs(60)).await;
    });
    // The first connection takes a moment, during which requests are queued.
    cache.get(&[cache.key("rate", "1")]).await.remove(0)
}

#[test]
fn an_answer_is_understood_or_is_an_error_in_time() {
    wait(async {
        assert_eq!(
            answer_to("VALUE p:rate:1 0 5\r\na\r\nbc\r\nEND\r\n").await,
            Ok(Some(b"a\r\nbc".into()))
        );
        assert_eq!(answer_to("END\r\n").await, Ok(None));
        assert_eq!(answer_to("VALUE p:rate:1 0 0\r\n\r\nEND\r\n").await, Ok(Some(Vec::new())));
        for nonsense in [
            "ERROR\r\n",
            "VALUE p:rate:1 0 99999999\r\n",
            "VALUE p:rate:1 0 5\r\nab",
            "\n\0\u{1}\r\n",
            "",
        ] {
            assert_eq!(answer_to(nonsense).await, Err(Failed), "{nonsense:?}");
        }
        assert_eq!(answer_to(&"x".repeat(100_000).leak()[..]).await, Err(Failed));
    });
}

#[test]
fn a_dead_server_is_an_error_at_once() {
    wait(async {
        let cache = cache("127.0.0.1:1");
        time::sleep(Duration::from_millis(10)).await;
        let keys = [cache.key("rate", "1"), None];
        let answers = time::timeout(TIMEOUT / 2, cache.get(&keys))
            .await
            .expect("a dead server is not waited for");
        assert_eq!(answers, [Err(Failed), Ok(None)]);
    });
}

#[test]
fn names_that_cannot_be_keys_are_not_cached() {
    wait(async {
        let cache = cache("127.0.0.1:1");
        assert_eq!(cache.key("rate", "39").as_deref(), Some("p:rate:39"));
        for name in ["a b", "a\r\nflush_all", "ä", "\0", &"x".repeat(250)] {
            assert_eq!(cache.key("rate", name), None, "{name:?}");
        }
    });
}

#[test]
fn keys_are_spread_over_the_servers() {
    let mut of_servers = [0; 4];
    for number in 1..=80 {
        of_servers[(hash(format!("profile:{number}").as_bytes()) % 4) as usize] += 1;
    }
    assert!(of_servers.iter().all(|keys| (10..=30).contains(keys)), "{of_servers:?}");
}
