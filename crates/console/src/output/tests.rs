use std::os::unix::fs::{lchown, symlink};

use super::*;

#[test]
fn a_terminal_is_told_nothing_by_what_others_say() {
    assert_eq!(harmless("a\tb\nc → d"), "a\tb\nc → d");
    assert_eq!(harmless("a\r\nb"), "a\r\nb");
    let hostile = "\u{1b}]0;title\u{7}\u{1b}[2J\rok\u{9b}31m\u{7f}";
    assert_eq!(harmless(hostile), "\\u001b]0;title\\u0007\\u001b[2J\\u000dok\\u009b31m\\u007f");
    assert_eq!(harmless("a\u{202e}b\u{2066}"), "a\\u202eb\\u2066");
    // A JSON document stays the same document.
    let document = serde_json::json!({ "body": hostile, "plain": "é" });
    let read: serde_json::Value = serde_json::from_str(&harmless(&json(&document))).unwrap();
    assert_eq!(read, document);
}

#[test]
fn a_line_that_nobody_could_read_is_shown_without_its_middle() {
    let usual = "line 3: `abc` is not a time; correct it";
    assert_eq!(readable(usual), usual);
    for filling in ["x", "é", "👍"] {
        let line = format!("line 3: `{}` is not a time; correct it", filling.repeat(3_000_000));
        let shown = readable(&line);
        assert!(shown.len() < 2000 && shown.starts_with("line 3: `"), "{filling}");
        assert!(shown.ends_with("` is not a time; correct it"), "{filling}");
        let [_, left_out, _] = shown.split(['(', ')']).collect::<Vec<_>>()[..] else { panic!() };
        let left_out: usize = left_out.strip_suffix(" bytes left out").unwrap().parse().unwrap();
        let words = format!(" … ({left_out} bytes left out) … ");
        assert_eq!(shown.len() + left_out - words.len(), line.len(), "{filling}");
    }
}

#[test]
fn a_place_for_a_file_is_refused_with_the_remedy_before_there_is_anything_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("file"), "old").unwrap();
    let shown = folder.path().display();
    let missing = format!(
        "there is no folder {shown}/a/b; make it first (mkdir -p {shown}/a/b), or name another file"
    );
    for (path, why) in [
        (at("a/b/x.html"), missing),
        (at("file/x.html"), format!("{shown}/file is not a folder; name a file in a folder")),
        (folder.path().to_owned(), "it is a folder; name a file in it".to_owned()),
        (
            "/proc/x.html".into(),
            "the folder /proc cannot be written to: no file can be made there; name another file"
                .to_owned(),
        ),
    ] {
        let refused = check_place("--json", &path).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("--json {}", path.display()),
            "it names its option"
        );
        for refused in [refused.root_cause().to_string(), create(&path).unwrap_err().to_string()] {
            // Without rights it is refused by them.
            let refused = refused.replace("you may not write there", "no file can be made there");
            assert_eq!(refused, why, "{}", path.display());
        }
    }
    for path in [at("new"), at("file"), "/dev/null".into(), "new.html".into()] {
        check_place("--json", &path).unwrap();
    }
    assert_eq!(std::fs::read(at("file")).unwrap(), b"old");
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing is left of the check"
    );
}

#[test]
fn a_link_of_another_user_is_not_followed_and_one_of_the_user_stays() {
    let folder = tempfile::tempdir().unwrap();
    let [private, link] = ["private", "link"].map(|name| folder.path().join(name));
    std::fs::write(&private, "old").unwrap();
    symlink(&private, &link).unwrap();
    replace(&link, b"new").unwrap();
    assert!(link.is_symlink() && std::fs::read(&private).unwrap() == b"new");
    // Only root can give it away.
    if lchown(&link, Some(65_534), None).is_err() {
        return;
    }
    let why = "it is a link of user 65534; remove it, or name another file";
    assert_eq!(replace(&link, b"newer").unwrap_err().to_string(), why);
    assert_eq!(create(&link).map(drop).unwrap_err().to_string(), why);
    assert_eq!(std::fs::read(&private).unwrap(), b"new");
}

#[test]
fn a_panic_tells_a_terminal_nothing_by_what_others_say() {
    const PANICS: &str = "BENCHWRIGHT_TEST_PANIC";
    if std::env::var_os(PANICS).is_some() {
        explain_panics();
        panic!("quoted: \u{1b}[2J");
    }
    let test = "output::tests::a_panic_tells_a_terminal_nothing_by_what_others_say";
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env(PANICS, "1");
    let said = String::from_utf8(child.output().unwrap().stderr).unwrap();
    assert!(said.contains("output/tests.rs:") && said.contains("quoted: \\u001b[2J"), "{said}");
    assert!(said.contains("please report it") && !said.contains('\u{1b}'), "{said}");
}
