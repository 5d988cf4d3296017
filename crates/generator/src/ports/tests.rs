use results::Secrets;

use super::*;
use crate::target::{Finding, resolve};

/// Returns the endpoints of these URLs after spreading, with this many connections for each URL.
fn check(urls: &[&str], sources: &[IpAddr], connections: usize) -> Result<Vec<String>, String> {
    let urls: Vec<String> = urls.iter().map(|&url| url.to_owned()).collect();
    let finding = Finding { addresses: &["all".to_owned()], connect_to: None, sources };
    let mut targets = resolve(&urls, &finding, &Secrets::default()).unwrap();
    spread(&mut targets, connections, 28_232)?;
    let endpoints = targets.iter().flat_map(|target| &target.endpoints);
    Ok(endpoints
        .map(|Endpoint { address, source }| match source {
            Some(source) => format!("{source}>{address}"),
            None => address.to_string(),
        })
        .collect())
}

const URL: &str = "http://127.0.0.1:80/";

#[test]
fn on_loopback_as_many_sources_are_used_as_the_connections_need() {
    assert_eq!(check(&[URL], &[], 14_000).unwrap(), ["127.0.0.1:80"]);
    assert_eq!(
        check(&[URL], &[], 28_000).unwrap(),
        ["127.0.0.1>127.0.0.1:80", "127.0.0.2>127.0.0.1:80"]
    );
    let many = check(&[URL], &[], 100_000).unwrap();
    assert_eq!((many.len(), many[7].as_str()), (8, "127.0.0.8>127.0.0.1:80"));
}

#[test]
fn urls_that_lead_to_the_same_address_share_its_ports() {
    let urls = [URL, "http://127.0.0.1:80/b"];
    assert_eq!(check(&urls, &[], 7_000).unwrap(), ["127.0.0.1:80"; 2]);
    assert_eq!(check(&urls, &[], 8_000).unwrap().len(), 4);
    let others = [URL, "http://127.0.0.1:81/"];
    assert_eq!(check(&others, &[], 14_000).unwrap(), ["127.0.0.1:80", "127.0.0.1:81"]);
}

#[test]
fn too_few_ports_are_refused_where_the_local_address_cannot_be_chosen() {
    let source = ["127.0.0.9".parse().unwrap()];
    for (url, sources, expected) in [
        ("http://192.0.2.1/", &[][..], "30,000 connections to 192.0.2.1:80 need a local port each"),
        ("http://[::1]/", &[], "30,000 connections to [::1]:80 need"),
        (URL, &source, "30,000 connections from 127.0.0.9 to 127.0.0.1:80 need"),
    ] {
        assert!(check(&[url], sources, 28_000).is_ok(), "{url}");
        let problem = check(&[url], sources, 30_000).unwrap_err();
        assert!(problem.starts_with(expected), "{problem}");
        assert!(problem.ends_with("this machine has 28,232"), "{problem}");
    }
    assert!(check(&["http+unix://%2Fa.sock/"], &[], 1_000_000).is_ok(), "it has no ports");
}
