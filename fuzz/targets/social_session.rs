//! Arbitrary cookies with sessions of the social network, each with claims after a NUL byte: a session
//! that we did not sign is refused, and one that we signed is refused or its user is in the claims.
#![no_main]

use std::sync::LazyLock;

use apps::kit::jwt::Secret;
use apps::social::front::cookie;
use apps::social::session::user;
use http::header::{COOKIE, HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// In seconds since 1970.
const NOW: u64 = 1_795_190_686;

static SECRET: LazyLock<Secret> = LazyLock::new(|| Secret::new(b"a secret that is not guessed"));

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let (sent, claims) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if let Ok(sent) = HeaderValue::from_bytes(sent) {
        let headers = HeaderMap::from_iter([(COOKIE, sent)]);
        if let Some(token) = cookie(&headers, "login_token") {
            assert!(!token.contains(';') && token.trim() == token);
            assert!(user(&SECRET, token, NOW).is_err(), "{token}");
        }
    }
    let Ok(claims) = serde_json::from_slice::<Value>(claims) else { return };
    let token = SECRET.signed(&claims).expect("it is JSON");
    if let Ok(account) = user(&SECRET, &token, NOW) {
        let text = |name: &str| claims[name].as_str().expect("the claims are strings");
        assert_eq!(account.username, text("username"));
        assert_eq!(Ok(account.user_id), text("user_id").parse());
        let number = |name| text(name).parse::<u64>().expect("it is a number");
        assert!(NOW <= number("timestamp").saturating_add(number("ttl")));
    }
});
