use super::*;

#[test]
fn a_url_says_where_and_what() {
    let target = parse("http://[::1]:8080/a?b=c#d").unwrap();
    assert_eq!((target.host.as_str(), target.port), ("::1", Some(8080)));
    assert_eq!((target.authority.as_str(), target.path.as_str()), ("[::1]:8080", "/a?b=c"));
    assert_eq!(parse("http://localhost").unwrap().path, "/");
    assert_eq!(parse("http://localhost?x=1").unwrap().path, "/?x=1");
    let target = parse("https://shop.test/").unwrap();
    assert!(target.is_secured() && target.service() == "https");
    let all = ["127.0.0.1".to_owned()];
    let finding = Finding { addresses: &all, ..Finding::default() };
    assert_eq!(
        shown(&resolve(&[target.url], &finding, &Secrets::default()).unwrap()[0]),
        "127.0.0.1:443"
    );
}

#[test]
fn a_wrong_url_is_explained() {
    for (url, hint) in [
        ("localhost:80", "write http://"),
        ("127.0.0.1", "has no scheme"),
        ("out.json", "write `--json=out.json`"),
        ("mine.yaml", "write `benchwright run mine.yaml`"),
        ("ftp://a/", "there are `http`"),
        ("http://", "names no host"),
        ("http://a b/", "not a valid host name"),
        ("http://a:65536/", "a number from 1 to 65535"),
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
    assert!(addresses("x", 80, "nowhere").unwrap_err().to_string().contains("not a valid address"));
}

#[test]
fn addresses_are_given_once_for_all_or_once_for_each_url() {
    let urls = ["http://a/", "http://b/", "http://c/"].map(str::to_owned);
    let resolved = |addresses: &[&str]| {
        let addresses: Vec<String> = addresses.iter().map(|&list| list.to_owned()).collect();
        let finding = Finding { addresses: &addresses, ..Finding::default() };
        let targets =
            resolve(&urls, &finding, &Secrets::default()).map_err(|error| error.to_string())?;
        Ok::<_, String>(targets.iter().map(shown).collect::<Vec<_>>())
    };
    assert_eq!(resolved(&["127.0.0.1:1"]).unwrap(), ["127.0.0.1:1"; 3]);
    assert_eq!(
        resolved(&["127.0.0.1:1,127.0.0.1:2", "127.0.0.1", "127.0.0.1:4"]).unwrap(),
        ["127.0.0.1:1 127.0.0.1:2", "127.0.0.1:80", "127.0.0.1:4"]
    );
    assert_eq!(
        resolved(&["127.0.0.1:1", "127.0.0.1:2"]),
        Err("--address is given 2 times for 3 URLs; give it once for all, or once for each".into())
    );
}

fn shown(target: &Target) -> String {
    let endpoint = |Endpoint { address, source }: &Endpoint| match source {
        Some(source) => format!("{source}>{address}"),
        None => address.to_string(),
    };
    target.endpoints.iter().map(endpoint).collect::<Vec<_>>().join(" ")
}

#[test]
fn connect_to_and_source_replace_the_urls_address_and_the_kernels_choice() {
    let all = ["all".to_owned()];
    let sources = ["127.0.0.8".parse().unwrap(), "127.0.0.9".parse().unwrap()];
    let find = |url: &str, connect_to, sources| {
        let finding = Finding { addresses: &all, connect_to, sources };
        resolve(&[url.to_owned()], &finding, &Secrets::default())
            .map(|t| (shown(&t[0]), t[0].authority.clone()))
    };
    let (endpoints, authority) =
        find("http://example/", Some("127.0.0.1:81"), &sources[..]).unwrap();
    assert_eq!(endpoints, "127.0.0.8>127.0.0.1:81 127.0.0.9>127.0.0.1:81");
    assert_eq!(authority, "example", "`Host` is the URL's");
    let error = find("http://[::1]/", None, &sources[..]).unwrap_err().to_string();
    assert!(error.contains("of different families"), "{error}");
    let error = find("http://example/", Some("127.0.0.1"), &[]).unwrap_err().to_string();
    assert!(error.contains("write --connect-to HOST:PORT"), "{error}");
    let error = find("http://example/", Some("a:99999"), &[]).unwrap_err().to_string();
    assert!(error.contains("a number from 1 to 65535"), "{error}");
}

#[test]
fn user_information_becomes_a_header_field_and_is_not_shown() {
    let all = ["127.0.0.1".to_owned()];
    let finding = Finding { addresses: &all, ..Finding::default() };
    let mut secrets = Secrets::default();
    secrets.find("${env.PW}", &|_| Some("open sesame".to_owned()));
    let find = |url: &str| resolve(&[url.to_owned()], &finding, &secrets).unwrap().remove(0);
    // RFC 7617, section 2.
    let header = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";
    let cases = [
        ("http://Aladdin:open%20sesame@a:1/x", "http://Aladdin:(redacted)@a:1/x"),
        ("http://Aladdin:${env.PW}@a:1/x", "http://Aladdin:${env.PW}@a:1/x"),
        ("http://Aladdin:${env.PW}@a:1/x#access_token=abcd", "http://Aladdin:${env.PW}@a:1/x"),
    ];
    for (url, shown) in cases {
        let target = find(url);
        assert_eq!(target.authorization.as_deref(), Some(header), "{url}");
        assert_eq!((target.authority.as_str(), target.url.as_str()), ("a:1", shown));
    }
    let target = find("http://a:1/x?key=${env.PW}");
    assert_eq!((target.path.as_str(), target.authorization), ("/x?key=open%20sesame", None));
    let error = resolve(&["http://${env.NOT}/".to_owned()], &finding, &secrets).unwrap_err();
    assert!(error.to_string().contains("the variable NOT is not set"), "{error}");
    let error = resolve(&["http://a/?key=${PW}".to_owned()], &finding, &secrets).unwrap_err();
    let wanted = "`${PW}` is not a reference; write ${env.PW} for the value of";
    assert!(error.to_string().starts_with(wanted), "{error}");
}

#[test]
fn a_socket_in_the_file_system_is_a_target() {
    let target = parse("http+unix://%2Frun%2Fa%20b.sock/x?y#z").unwrap();
    assert_eq!((shown(&target).as_str(), target.path.as_str()), ("/run/a b.sock", "/x?y"));
    assert_eq!(target.authority, "localhost");
    for url in ["http+unix://run.sock/", "http+unix:///x", "http+unix://%2/", "http+unix://%2F%00/"]
    {
        let error = parse(url).expect_err(url).to_string();
        assert!(error.contains("names no socket"), "{error}");
    }
}

#[test]
fn a_load_has_a_bounded_number_of_targets() {
    let all = ["127.0.0.1".to_owned()];
    let finding = Finding { addresses: &all, ..Finding::default() };
    let of = |count| resolve(&vec!["http://a/".to_owned(); count], &finding, &Secrets::default());
    assert_eq!(of(MOST_TARGETS).unwrap().len(), MOST_TARGETS);
    let error = of(MOST_TARGETS + 1).err().unwrap().to_string();
    assert!(error.starts_with("257 URLs: a load has 256 at most, as each has its own"), "{error}");
}

#[test]
fn the_memory_of_a_load_is_bounded_in_its_targets_and_its_threads() {
    assert_eq!(check_memory(1, 1024), Ok(()));
    assert_eq!(check_memory(256, 4), Ok(()));
    let refused = check_memory(200, 64).unwrap_err();
    assert_eq!(
        refused,
        "200 URLs on 64 threads: each URL has its own distributions, 4 MB for each thread, and a load has 1024 of \
         them at most\n  use --shards 5, or start several loads and combine their documents by `benchwright merge`"
    );
}
