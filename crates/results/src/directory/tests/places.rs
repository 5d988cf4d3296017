//! Places where nothing can be kept.

use super::*;

#[test]
fn a_place_where_no_results_can_be_kept_is_named_with_the_remedy_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "somebody's own").unwrap();
    fs::create_dir(at("used")).unwrap();
    fs::write(at("used/file"), "somebody's own").unwrap();
    std::os::unix::fs::symlink("/nonexistent", at("link")).unwrap();
    let remedy = "name another place for the results with --out";
    for (path, place, why) in [
        (at("file"), at("file"), format!("it is not a folder; {remedy}")),
        (at("file/x"), at("file"), format!("it is not a folder; {remedy}")),
        (at("link"), at("link"), format!("it is not a folder; {remedy}")),
        (at("link/x"), at("link"), format!("it is not a folder; {remedy}")),
        ("/proc/x".into(), "/proc".into(), format!("nothing can be made here; {remedy}")),
        ("/proc/x/y".into(), "/proc".into(), format!("nothing can be made here; {remedy}")),
        (
            at("used"),
            at("used"),
            "this folder is not empty; name another with --out, or continue it with `benchwright resume`"
                .to_owned(),
        ),
    ] {
        let refused = Directory::check_place(&path).unwrap_err().to_string();
        // Without rights it is refused by them.
        let refused = refused.replace("you may not write here", "nothing can be made here");
        assert_eq!(refused, format!("{}: {why}", place.display()));
        create(&path).unwrap_err();
    }
    for path in [at("new"), at("new/of/many"), folder.path().join("used/new")] {
        Directory::check_place(&path).unwrap();
        assert!(!path.exists(), "nothing is made");
    }
    Directory::check_place(Path::new("new")).unwrap();
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn a_limit_of_the_size_of_files_has_its_remedy() {
    let (_folder, directory) = fresh();
    let refused =
        || directory.failed("journal.jsonl", &io::ErrorKind::FileTooLarge.into()).to_string();
    let remedy = "raise the limit of a file's size (`ulimit -f unlimited`)";
    assert!(refused().ends_with(&format!("no trial was finished: {remedy}, and run it again")));
    append(&directory, Entry::aborted(1), &files()).unwrap();
    assert!(refused().contains(&format!("are safe: {remedy}, and go on with")), "{}", refused());
}
