use std::collections::BTreeMap;

use expect_test::expect;
use measure::Nanos;

use super::*;

fn seen(statuses: &[(u16, u64)], closed: u64) -> Probed {
    Probed {
        statuses: BTreeMap::from_iter(statuses.iter().copied()),
        version: "HTTP/1.1".to_owned(),
        body_bytes: 1_234,
        alone: Some(Nanos::from_micros(2_500)),
        closed,
        took: Nanos::from_millis(31),
        ..Probed::default()
    }
}

#[test]
fn what_was_seen_is_said_with_what_it_means() {
    let mut plain = seen(&[(200, 10)], 0);
    plain.fields.insert("server".to_owned(), "nginx\u{1b}[2J".to_owned());
    let mut moved = seen(&[(301, 10)], 3);
    moved.fields.insert("location".to_owned(), "https://h/".to_owned());
    let mut old = Probed { version: "HTTP/1.0".to_owned(), ..seen(&[(401, 9)], 9) };
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

#[test]
fn a_connection_that_we_closed_is_not_told_as_closed_by_the_service() {
    let chatty = of(&Probed { unasked: 9, ..seen(&[(200, 10)], 0) }).join("\n");
    assert!(chatty.contains("it sent bytes that belong to no request, several times"), "{chatty}");
    assert!(!chatty.contains("without keep-alive") && !chatty.contains("stayed open"), "{chatty}");
    let mut slow =
        Probed { failures: Some("timeout for 1 of 6".to_owned()), ..seen(&[(200, 5)], 0) };
    slow.failed.insert("timeout".to_owned(), 1);
    let slow = of(&slow).join("\n");
    assert!(slow.contains("\ntimeout for 1 of 6\n"), "{slow}");
    assert!(slow.contains("with keep-alive: it closed no connection"), "{slow}");
}

#[test]
fn without_a_success_the_reason_and_the_remedy_are_said() {
    let failed = |failures: &str, statuses| {
        no_success(&Probed { failures: Some(failures.to_owned()), ..seen(statuses, 0) })
    };
    let refused = failed("401 for 10 of 10 requests to /", &[(401, 10)]);
    expect![
        "no request succeeded, so nothing is written: 401 for 10 of 10 requests to /; give it a token with -H or --header-file"
    ]
    .assert_eq(&refused);
    let silent = failed("timeout for 1 of 1 request to /", &[]);
    expect!["no request succeeded, so nothing is written: timeout for 1 of 1 request to /; see the log of the service, and if it speaks HTTP/1.1 at this port"].assert_eq(&silent);
}
