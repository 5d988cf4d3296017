use super::*;

fn looked_up(addresses: &Addresses) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(addresses.look()).unwrap().into_iter().collect()
}

#[test]
fn a_list_holds_each_address_once() {
    let read: Addresses = "127.0.0.1:2, http://127.0.0.1:1/,127.0.0.1:2,[::1]:3".parse().unwrap();
    assert_eq!(looked_up(&read), ["127.0.0.1:1", "127.0.0.1:2", "[::1]:3"]);
    assert!(!read.may_change());
}

#[test]
fn a_name_means_all_of_its_addresses() {
    let read: Addresses = "localhost:7".parse().unwrap();
    assert!(read.may_change());
    assert!(looked_up(&read).contains(&"127.0.0.1:7".to_owned()));
}

#[test]
fn a_file_may_change() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let read: Addresses = format!("@{}", file.path().display()).parse().unwrap();
    assert!(read.may_change());
    std::fs::write(file.path(), "127.0.0.1:1\n").unwrap();
    assert_eq!(looked_up(&read), ["127.0.0.1:1"]);
    std::fs::write(file.path(), "127.0.0.1:1\n127.0.0.1:2\n").unwrap();
    assert_eq!(looked_up(&read), ["127.0.0.1:1", "127.0.0.1:2"]);
}

#[test]
fn an_invalid_address_is_an_error_with_the_remedy() {
    for wrong in ["", ",", "@", "127.0.0.1", "127.0.0.1:0", ":80", "a:b", "a:1,b"] {
        let error = wrong.parse::<Addresses>().unwrap_err().to_string();
        assert!(error.contains("write "), "{wrong:?}: {error}");
    }
}
