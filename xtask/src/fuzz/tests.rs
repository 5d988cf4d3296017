use super::*;

#[test]
fn what_is_to_be_done_is_read_or_explained() {
    for (words, chore) in [
        (&["build"][..], Some(Chore::Build)),
        (&["run", "--seconds", "20"], Some(Chore::Run { seconds: 20, target: None })),
        (&["run", "--seconds", "1", "mix"], Some(Chore::Run { seconds: 1, target: Some("mix") })),
        (&["run", "mix", "--seconds", "1"], Some(Chore::Run { seconds: 1, target: Some("mix") })),
        (&["run", "mix"], None),
        (&["run", "--seconds", "0"], None),
        (&[], None),
    ] {
        assert_eq!(read(words), chore, "{words:?}");
    }
}

/// A target that is not in the manifest would be run as it was built long ago, or not at all.
#[test]
fn every_target_is_built_and_has_seeds() {
    let root = repository::root();
    let manifest = fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
    let targets = targets(&root);
    assert!(!targets.is_empty());
    for name in targets {
        assert!(manifest.contains(&format!("path = \"targets/{name}.rs\"")), "{name}");
        let seeds = fs::read_dir(root.join("fuzz/corpus").join(&name)).unwrap();
        assert!(0 < seeds.count(), "{name} has no seeds");
    }
}
