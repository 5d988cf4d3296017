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

#[test]
fn addresses_are_given_once_for_all_or_once_for_each_url() {
    let urls = ["http://a/", "http://b/", "http://c/"].map(str::to_owned);
    let resolved = |addresses: &[&str]| {
        let addresses: Vec<String> = addresses.iter().map(|&list| list.to_owned()).collect();
        let targets = resolve(&urls, &addresses).map_err(|error| error.to_string())?;
        let ports = |target: Target| target.addresses.iter().map(|a| a.port()).collect::<Vec<_>>();
        Ok::<_, String>(targets.into_iter().map(ports).collect::<Vec<_>>())
    };
    assert_eq!(resolved(&["127.0.0.1:1"]), Ok(vec![vec![1], vec![1], vec![1]]));
    assert_eq!(
        resolved(&["127.0.0.1:1,127.0.0.1:2", "127.0.0.1", "127.0.0.1:4"]),
        Ok(vec![vec![1, 2], vec![80], vec![4]])
    );
    assert_eq!(
        resolved(&["127.0.0.1:1", "127.0.0.1:2"]),
        Err("--address is given 2 times for 3 URLs; give it once for all, or once for each".into())
    );
}
