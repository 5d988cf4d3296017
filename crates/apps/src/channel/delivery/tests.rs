use super::*;

const MS: Duration = Duration::from_millis(1);

fn policy(backoff: Backoff, retry_after_max: Option<Duration>) -> Policy {
    Policy { retry: 3, backoff, delay: 200 * MS, retry_after_max }
}

#[test]
fn backoff_doubles_or_grows_evenly() {
    let pauses = |backoff| (1..4).map(|n| policy(backoff, None).pause(n, None)).collect::<Vec<_>>();
    assert_eq!(pauses(Backoff::Exponential), [200 * MS, 400 * MS, 800 * MS]);
    assert_eq!(pauses(Backoff::Linear), [200 * MS, 400 * MS, 600 * MS]);
    let last = policy(Backoff::Exponential, None).pause(100, None);
    assert_eq!(last, (200 * MS).saturating_mul(u32::MAX));
}

#[test]
fn retry_after_lengthens_the_backoff_up_to_its_maximum() {
    let pause =
        |most, wanted| policy(Backoff::Linear, most).pause(1, Some(Duration::from_secs(wanted)));
    assert_eq!(pause(None, 3), 200 * MS);
    assert_eq!(pause(Some(5000 * MS), 3), 3000 * MS);
    assert_eq!(pause(Some(5000 * MS), 9), 5000 * MS);
    assert_eq!(pause(Some(5000 * MS), 0), 200 * MS);
}

#[test]
fn retry_after_is_seconds_or_a_date_and_only_of_429_and_503() {
    let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
    let read = |code: u16, text: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, hyper::header::HeaderValue::from_static(text));
        retry_after(StatusCode::from_u16(code).unwrap(), &headers, now)
    };
    assert_eq!(read(503, "2"), Some(2000 * MS));
    assert_eq!(read(429, "Sun, 06 Nov 1994 08:49:40 GMT"), Some(3000 * MS));
    assert_eq!(read(503, "Sun, 06 Nov 1994 08:49:30 GMT"), None);
    assert_eq!(read(503, "soon"), None);
    assert_eq!(read(500, "2"), None);
}

#[test]
fn only_temporary_failures_are_repeated() {
    let repeated: Vec<u16> = [300, 400, 401, 404, 405, 408, 409, 410, 429, 499, 500, 503, 599]
        .into_iter()
        .filter(|code| is_temporary(StatusCode::from_u16(*code).unwrap()))
        .collect();
    assert_eq!(repeated, [404, 408, 409, 429, 500, 503, 599]);
}
