use super::*;

#[test]
fn words_are_read_as_a_task_or_refused() {
    for (words, task) in [
        (&["build"][..], Some(Task::Build)),
        (&["run", "--seconds", "20"], Some(Task::Run { seconds: 20, target: None })),
        (&["run", "--seconds", "1", "mix"], Some(Task::Run { seconds: 1, target: Some("mix") })),
        (&["run", "mix", "--seconds", "1"], Some(Task::Run { seconds: 1, target: Some("mix") })),
        (&["run", "mix"], None),
        (&["run", "--seconds", "0"], None),
        (&[], None),
    ] {
        assert_eq!(read(words), task, "{words:?}");
    }
}

/// Checks the manifest: a target that is missing there would run in an old build, or not at all.
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
