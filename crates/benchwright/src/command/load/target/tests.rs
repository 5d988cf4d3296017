use super::*;

#[test]
fn a_url_says_where_and_what() {
    let target = parse("http://[::1]:8080/a?b=c#d").unwrap();
    assert_eq!((target.host.as_str(), target.port), ("::1", Some(8080)));
    assert_eq!((target.authority.as_str(), target.path.as_str()), ("[::1]:8080", "/a?b=c"));
    assert_eq!(parse("http://localhost").unwrap().path, "/");
}

#[test]
fn a_wrong_url_is_explained() {
    for (url, hint) in [
        ("localhost:80", "write http://"),
        ("127.0.0.1", "has no scheme"),
        ("https://a/", "TLS is not supported yet"),
        ("ftp://a/", "there is `http`"),
        ("http://me:secret@a/", "Authorization"),
        ("http://", "is no URL"),
        ("http://a b/", "is no URL"),
    ] {
        let error = format!("{:#}", parse(url).expect_err(url));
        assert!(error.contains(hint), "{url}: {error}");
    }
}

#[test]
fn addresses_are_all_the_first_or_those_listed() {
    let found = addresses("127.0.0.1", 80, "all").unwrap();
    assert_eq!(found, ["127.0.0.1:80".parse().unwrap()]);
    let listed = addresses("ignored", 80, "127.0.0.2, 127.0.0.3:81").unwrap();
    assert_eq!(listed, ["127.0.0.2:80", "127.0.0.3:81"].map(|a| a.parse().unwrap()));
    assert!(addresses("x", 80, "nowhere").unwrap_err().to_string().contains("no address"));
}
