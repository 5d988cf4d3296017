use std::collections::BTreeMap;

use measure::Nanos;

use super::*;

fn seen(statuses: &[(u16, u64)], reconnects: u64) -> Seen {
    Seen {
        statuses: BTreeMap::from_iter(statuses.iter().copied()),
        version: "HTTP/1.1".to_owned(),
        body_bytes: 1_234,
        alone: Some(Nanos::from_micros(2_500)),
        reconnects,
        took: Nanos::from_millis(31),
        ..Seen::default()
    }
}

#[test]
fn what_was_seen_is_said_with_what_it_means() {
    let mut plain = seen(&[(200, 10)], 0);
    plain.fields.insert("server".to_owned(), "nginx\u{1b}[2J".to_owned());
    let mut moved = seen(&[(301, 10)], 3);
    moved.fields.insert("location".to_owned(), "https://h/".to_owned());
    let mut old = Seen { version: "HTTP/1.0".to_owned(), ..seen(&[(401, 9)], 9) };
    old.failed.insert("timeout".to_owned(), 1);
    let [plain, moved, old] = [plain, moved, old].map(|seen| of(&seen).join("\n"));
    assert!(
        plain.starts_with(
            "10 requests one after the other in 31.0 ms: 10 × 200, the first with 1,234 bytes\n"
        ),
        "{plain}"
    );
    assert!(plain.contains("a request that is alone takes 2.50 ms (p50)\n"), "{plain}");
    assert!(plain.ends_with("the connection stayed open\nserver: nginx[2J"), "{plain}");
    assert!(moved.contains("it redirects to https://h/, which is not followed"), "{moved}");
    assert!(moved.contains("HTTP/1.1: it closed the connection 3 times"), "{moved}");
    assert!(old.contains(": 9 × 401, 1 × timeout, "), "{old}");
    assert!(
        old.contains("401 counts as a failure: give it a token with -H or --header-file"),
        "{old}"
    );
    assert!(old.contains("HTTP/1.0 without keep-alive"), "{old}");
}
