use super::*;

const NOW: u64 = 1_795_190_686;

fn ann() -> Account {
    Account { user_id: 7, username: "ann".into() }
}

fn refused(secret: &Secret, token: &str, now: u64) -> String {
    user(secret, token, now).expect_err("it is not valid").message().to_owned()
}

#[test]
fn a_session_is_valid_for_an_hour() {
    let secret = Secret::new(b"secret");
    let token = begin(&secret, ann(), NOW).unwrap();
    assert_eq!(user(&secret, &token, NOW).unwrap(), ann());
    assert_eq!(user(&secret, &token, NOW + 3600).unwrap(), ann());
    let expired = refused(&secret, &token, NOW + 3601);
    assert_eq!(expired, "Login token expired, please log in again");
}

#[test]
fn the_originals_tokens_are_understood() {
    // By Python's hmac and base64, with the claims that the original writes.
    let foreign = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.\
         eyJ1c2VybmFtZSI6InVzZXJuYW1lXzAiLCJ0aW1lc3RhbXAiOiIxNzk1MTkwNjg2IiwidHRsIjoiMzYwMCIsInVzZXJfaWQiOiIwIn0.\
         5iYMHNhQ0_NkSmOWcSVH3FBC-3I5IdoGLWQyPLgWQFw";
    let account = user(&Secret::new(b"secret"), foreign, NOW).unwrap();
    assert_eq!(account, Account { user_id: 0, username: "username_0".into() });
}

#[test]
fn a_forged_token_is_refused() {
    let secret = Secret::new(b"secret");
    let token = begin(&secret, ann(), NOW).unwrap();
    let [head, claims, signature] = token.split('.').collect::<Vec<_>>()[..] else { panic!() };
    let other = begin(&Secret::new(b"another"), ann(), NOW).unwrap();
    // {"typ":"JWT","alg":"none"}
    let none = "eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0";
    for forged in [
        other,
        format!("{none}.{claims}."),
        format!("{none}.{claims}.{signature}"),
        format!("{head}.{claims}"),
        format!("{head}.{claims}."),
        format!("{head}.{}.{signature}", &claims[..claims.len() - 4]),
        String::new(),
        "..".into(),
        "ü".repeat(9000),
    ] {
        let why = refused(&secret, &forged, NOW);
        assert_eq!(why, "Invalid login token, please log in again", "{forged}");
    }
}

#[test]
fn claims_that_are_not_numbers_are_refused() {
    let secret = Secret::new(b"secret");
    let token = |user_id: &str, timestamp: &str, ttl: &str| {
        let claims = Claims {
            user_id: user_id.into(),
            username: "ann".into(),
            timestamp: timestamp.into(),
            ttl: ttl.into(),
        };
        secret.signed(&claims).unwrap()
    };
    assert!(user(&secret, &token("7", "18446744073709551615", "9"), NOW).is_ok());
    for (user_id, timestamp, ttl) in [("", "1", "1"), ("7", "x", "1"), ("7", "1", "-1")] {
        let why = refused(&secret, &token(user_id, timestamp, ttl), NOW);
        assert_eq!(why, "Invalid login token, please log in again");
    }
}
