use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    given: Given,
}

fn given(words: &[&str]) -> Given {
    Line::try_parse_from([&["x"], words].concat()).unwrap().given
}

fn value(words: &[&str], name: &str) -> (String, String) {
    let value = given(words).properties().unwrap().value(ycsb::properties::CORE, name);
    (value.text, value.place.to_string())
}

#[test]
fn the_last_assignment_counts_whichever_option_makes_it() {
    let words = ["-p", "threadcount=3", "--threads", "4", "-p", "threadcount=5", "--target", "6"];
    assert_eq!(value(&words, "threadcount"), ("5".into(), "-p threadcount=5".into()));
    assert_eq!(value(&words[..4], "threadcount"), ("4".into(), "-threads 4".into()));
    assert_eq!(value(&words, "target"), ("6".into(), "-target 6".into()));
    assert_eq!(value(&["-p", "status=false", "-s"], "status").0, "true");
    assert_eq!(value(&["-s", "-p", "status=false"], "status").0, "false");
    assert_eq!(value(&["-l", "a b"], "label"), ("a b".into(), "-l a b".into()));
    assert_eq!(value(&["-p", "label=x=y"], "label").0, "x=y");
}

#[test]
fn the_command_line_replaces_files_and_a_later_file_an_earlier_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let first = file("first", "table=a\nlabel=a\nrecordcount=1");
    let second = file("second", "label=b\nrecordcount=2");
    let words = ["-p", "recordcount=3", "-P", &first, "-P", &second];
    assert_eq!(value(&words, "table").0, "a");
    assert_eq!(value(&words, "label"), ("b".into(), format!("{second}:1")));
    assert_eq!(value(&words, "recordcount").0, "3");
}

#[test]
fn what_cannot_be_read_is_refused_with_the_remedy() {
    let missing = given(&["-P", "no/such/file"]).properties().unwrap_err();
    assert_eq!(
        missing.error.to_string(),
        "-P no/such/file: No such file or directory (os error 2)\n  name a file with properties"
    );
    for word in ["recordcount", "=1"] {
        let refused = Line::try_parse_from(["x", "-p", word]).unwrap_err().to_string();
        assert!(refused.contains("such as recordcount=1000"), "{refused}");
    }
}

#[test]
fn options_for_a_java_machine_have_no_effect_and_are_warned_about() {
    let given = given(&["--cp", "a.jar", "--jvm-args", "-Xmx1g"]);
    assert_eq!(given.warnings(), ["-cp has no effect here", "-jvm-args has no effect here"]);
}
