use super::*;

const SECRET: &str = "a secret of exactly 32 bytes ...";
const HOUR: Duration = Duration::from_secs(3600);

fn tokens(secret: &str) -> Tokens {
    Tokens::new(Some(secret), HOUR).unwrap()
}

fn now() -> u64 {
    jsonwebtoken::get_current_timestamp()
}

#[test]
fn a_token_is_read_by_whoever_has_the_secret() {
    let access = tokens(SECRET).access("ann", now()).unwrap();
    assert_eq!(tokens(SECRET).bearer(&access).as_deref(), Some("ann"));
    assert_eq!(tokens(&SECRET.replace('a', "b")).bearer(&access), None);
    // The same token by another implementation (Python's hmac and base64), with the claims
    // sub ann, iss users-service, aud access, iat 1, exp 4102444800.
    let foreign = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.\
         eyJzdWIiOiJhbm4iLCJpc3MiOiJ1c2Vycy1zZXJ2aWNlIiwiYXVkIjoiYWNjZXNzIiwiaWF0IjoxLCJleHAiOjQxMDI0NDQ4MDB9.\
         hE3VObyW6k5lh32XharOtqdcSGcCZKiiE_sJgQv99vE";
    assert_eq!(tokens(SECRET).bearer(foreign).as_deref(), Some("ann"));
}

#[test]
fn an_access_token_ends() {
    let tokens = tokens(SECRET);
    let old = tokens.access("ann", now() - 3601).unwrap();
    assert_eq!(tokens.bearer(&old), None);
}

#[test]
fn neither_token_passes_for_the_other() {
    let tokens = tokens(SECRET);
    let refresh = tokens.refresh("ann", "7", now()).unwrap();
    assert_eq!(tokens.login(&refresh), Some(("ann".to_owned(), "7".to_owned())));
    assert_eq!(tokens.bearer(&refresh), None);
    assert_eq!(tokens.login(&tokens.access("ann", now()).unwrap()), None);
}

#[test]
fn a_forged_token_is_refused() {
    let tokens = tokens(SECRET);
    let access = tokens.access("ann", now()).unwrap();
    let [head, claims, signature] = access.split('.').collect::<Vec<_>>()[..] else { panic!() };
    // {"typ":"JWT","alg":"none"} and {"typ":"JWT","alg":"HS512"}
    let none = "eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0";
    let other = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzUxMiJ9";
    for forged in [
        format!("{none}.{claims}."),
        format!("{none}.{claims}.{signature}"),
        format!("{other}.{claims}.{signature}"),
        format!("{head}.{claims}."),
        format!("{head}.{claims}.{}", signature.replace(&signature[..2], "xx")),
        format!("{head}.{}.{signature}", claims.replace(&claims[8..10], "xx")),
        format!("{head}.{claims}"),
        String::new(),
        "...".to_owned(),
    ] {
        assert_eq!(tokens.bearer(&forged), None, "{forged}");
        assert_eq!(tokens.login(&forged), None, "{forged}");
    }
    assert_eq!(tokens.bearer(&access).as_deref(), Some("ann"));
}

#[test]
fn a_short_secret_is_refused_with_the_remedy() {
    let refused = Tokens::new(Some("short"), HOUR).err().unwrap().to_string();
    assert_eq!(refused, "the secret has 5 bytes; it needs at least 32: openssl rand -hex 32");
}
