use super::*;

#[test]
fn a_jar_that_is_missing_changed_or_unlisted_is_named() {
    let folder = repository::target().join(format!("brokers-test-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in [("good.jar", "abc"), ("changed.jar", "abcd"), ("other.jar", "")] {
        fs::write(folder.join(name), text).unwrap();
    }
    // The hash of `abc`, from FIPS 180-2.
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let sums = format!("{abc}  good.jar\n{abc}  changed.jar\n{abc}  missing.jar\n");
    let wrong = unlisted(&folder, &sums);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(wrong, ["changed.jar", "missing.jar", "other.jar"]);
}

#[test]
fn the_list_has_a_hash_for_each_jar() {
    let sums = sums();
    assert!(sums.lines().any(|line| line.ends_with("  kafka_2.13-4.1.1.jar")));
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        assert!(sum.len() == 64 && name.ends_with(".jar"), "{line}");
    }
}
