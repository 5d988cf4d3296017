use super::*;

use expect_test::expect;

fn registration(username: &str, password: &str) -> Registration {
    Registration {
        username: username.to_owned(),
        password: password.to_owned(),
        email: None,
        description: None,
        profile_picture: None,
    }
}

#[test]
fn a_wrong_body_is_refused_without_repeating_it() {
    let wrong = |body: &str| read::<Credentials>(body.as_bytes()).err().unwrap();
    let text = wrong("{\"username\": \"ann\",\n \"password\": 12341234}");
    expect!["the body is not the expected JSON document: see line 2, column 21"].assert_eq(&text);
    expect!["the body is not the expected JSON document: see line 1, column 0"]
        .assert_eq(&wrong(""));
    wrong("[\"ann\"]");
    wrong(&"[".repeat(100_000));
}

#[test]
fn texts_have_bounds() {
    let wrong = |username: &str, password: &str| registration(username, password).wrong();
    assert_eq!(wrong("ann", "12341234"), None);
    assert_eq!(wrong(&"n".repeat(128), &"p".repeat(72)), None);
    for (username, password) in
        [("", "x"), ("ann", ""), (&*"n".repeat(129), "x"), ("a\0n", "x"), ("ann", &*"p".repeat(73))]
    {
        assert!(wrong(username, password).is_some(), "{username:?} {password:?}");
    }
    let of = |description: String| {
        wrong_change(&Changes { description: Some(description), ..Changes::default() })
    };
    assert_eq!(of("d".repeat(4096)), None);
    assert!(of("d".repeat(4097)).is_some() && of("\0".to_owned()).is_some());
}

#[test]
fn a_shown_user_has_neither_hash_nor_login() {
    let user = User { login: Some("7".into()), ..registration("ann", "x").with("$2b$".into()) };
    let shown = |user: &User| serde_json::to_string(&Shown::from(user)).unwrap();
    assert_eq!(shown(&user), r#"{"username":"ann"}"#);
    let user = User { profile_picture: Some("p".into()), ..user };
    assert_eq!(shown(&user), r#"{"username":"ann","profilePicture":"p"}"#);
}
