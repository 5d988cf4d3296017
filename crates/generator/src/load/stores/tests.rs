//! The URLs of stores and the options that do not go with them.

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    load: Load,
}

fn options(words: &str) -> Load {
    let words = ["load", "--closed", "--ycsb", "workload"].into_iter().chain(words.split(' '));
    Command::try_parse_from(words).map(|command| command.load).unwrap()
}

fn target_of(words: &str) -> Result<(Target, Login), String> {
    target(&options(words), &Secrets::default()).map_err(|error| format!("{error:#}"))
}

#[test]
fn a_url_of_redis_has_a_server_a_login_and_a_database() {
    let (target, login) = target_of("redis://me:p%40ss@127.0.0.1:7/3").unwrap();
    assert_eq!(
        (target.host.as_str(), target.port, target.scheme),
        ("127.0.0.1", Some(7), Scheme::Redis)
    );
    assert!(!target.url.contains("ss@"), "{}", target.url);
    let Login { user, password, database } = login;
    assert_eq!((user.as_deref(), password.as_deref(), database), (Some("me"), Some("p@ss"), 3));
    let (target, login) = target_of("redis://:secret@127.0.0.1").unwrap();
    assert_eq!((login.user, login.password.as_deref()), (None, Some("secret")));
    assert_eq!(target.endpoints[0].address.to_string(), "127.0.0.1:6379");
}

#[test]
fn the_servers_of_a_key_value_store_keep_their_order() {
    let (target, _) = target_of("kv://127.0.0.1:2,127.0.0.1:1,127.0.0.1").unwrap();
    let servers: Vec<_> = target.endpoints.iter().map(|e| e.address.to_string()).collect();
    assert_eq!(servers, ["127.0.0.1:2", "127.0.0.1:1", "127.0.0.1:7720"]);
}

/// So an experiment names the replicas of its endpoint.
#[test]
fn the_addresses_of_a_key_value_store_are_its_servers() {
    let words = "kv://127.0.0.1:2 --address 127.0.0.1:2,127.0.0.1:1";
    let servers = target_of(words).unwrap().0.endpoints;
    let servers: Vec<_> = servers.iter().map(|e| e.address.to_string()).collect();
    assert_eq!(servers, ["127.0.0.1:2", "127.0.0.1:1"]);
}

#[test]
fn a_property_that_nothing_reads_is_refused_without_its_value() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w");
    let of_all = "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=10\noperationcount=10\n";
    std::fs::write(&file, of_all).unwrap();
    let asked = |property: &str| {
        let options = options(&format!("redis://127.0.0.1 --ycsb-property {property}"));
        let (target, login) = target(&options, &Secrets::default()).unwrap();
        asked(&options, &file, &target, login).map(drop).map_err(|error| format!("{error:#}"))
    };
    asked("fieldcount=3").unwrap();
    for (property, remedy) in [
        ("recordcout=3", "correct its name"),
        ("redis.password=s3cret", "write the place and the password into the URL"),
    ] {
        let why = asked(property).unwrap_err();
        assert!(why.contains(remedy) && !why.contains("s3cret"), "{why}");
    }
}

#[test]
fn what_is_no_store_is_refused_with_the_remedy() {
    for (words, why) in [
        ("http://127.0.0.1/", "write redis://HOST:PORT or kv://HOST:PORT"),
        ("redis://me@127.0.0.1", "write redis://USER:PASSWORD@HOST"),
        ("redis://127.0.0.1/x", "`/x` is not a database; write its number"),
        ("redis://a:%zz@127.0.0.1", "write %25"),
        ("kv://127.0.0.1:1/0", "has more than servers; write kv://HOST:PORT"),
        ("kv://127.0.0.1:1,", "names no host"),
        ("kv://127.0.0.1:1 --source 127.0.0.1,127.0.0.2", "name one"),
        ("kv://127.0.0.1:1,127.0.0.1:1", "names a server twice"),
        ("kv://127.0.0.1:1,127.0.0.1:2 --address 127.0.0.1:1", "write them once"),
    ] {
        let refusal = target_of(words).map(drop).unwrap_err();
        assert!(refusal.contains(why), "{words}: {refusal}");
    }
    for (words, why) in [
        ("redis://a redis://b", "--ycsb is for one store"),
        ("redis://a --connect-to b:1", "write the place into the URL"),
    ] {
        let refusal = check(&options(words)).unwrap_err().to_string();
        assert!(refusal.contains(why), "{words}: {refusal}");
    }
    let words = ["load", "redis://a", "--closed", "--ycsb", "w", "--mix", "m"];
    assert!(Command::try_parse_from(words).is_err(), "one workload");
    let words = ["load", "redis://a", "--closed", "--ycsb-property", "a=b"];
    assert!(Command::try_parse_from(words).is_err(), "a property of no workload");
}
