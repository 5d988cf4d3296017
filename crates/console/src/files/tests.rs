use std::os::unix::fs::symlink;

use super::*;

const WRITTEN: Role = Role::Written(Kind::Kept);

fn named(option: &str, path: &Path, role: Role) -> Named {
    Named { option: option.to_owned(), path: path.to_owned(), role }
}

fn refused(a: (&str, &Path, Role), b: (&str, &Path, Role)) -> Option<String> {
    let files = [named(a.0, a.1, a.2), named(b.0, b.1, b.2)];
    check(&files).err().map(|failure| failure.error.to_string())
}

#[test]
fn two_outputs_in_one_file_are_refused_by_both_options() {
    let folder = tempfile::tempdir().unwrap();
    let (x, round) = (folder.path().join("x"), folder.path().join("./../").join(".").join("x"));
    let why = refused(("--csv", &x, WRITTEN), ("--samples", &x, WRITTEN)).unwrap();
    assert_eq!(
        why,
        format!("--csv {0} and --samples {0} are the same file; name two", x.display())
    );
    assert_eq!(refused(("--csv", &x, WRITTEN), ("--hlog", &round, WRITTEN)), None);
    let round = folder.path().join("..").join(folder.path().file_name().unwrap()).join("x");
    assert!(refused(("--csv", &x, WRITTEN), ("--hlog", &round, WRITTEN)).is_some());
}

#[test]
fn an_output_over_an_input_is_refused_under_each_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("mix"), "{}").unwrap();
    fs::hard_link(at("mix"), at("hard")).unwrap();
    symlink("mix", at("soft")).unwrap();
    for name in ["mix", "hard", "soft"] {
        let output = ("--save", &*at(name), WRITTEN);
        let input = ("--mix", &*at("mix"), Role::Read);
        let expected = format!(
            "--save {} would replace --mix {}, which is read; name another file",
            at(name).display(),
            at("mix").display()
        );
        assert_eq!(refused(output, input).as_ref(), Some(&expected), "{name}");
        assert_eq!(refused(input, output), Some(expected), "{name}, in the other order");
    }
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    symlink("second", at("first")).unwrap();
    symlink("new", at("second")).unwrap();
    let (link, new) = (at("first"), at("new"));
    assert!(refused(("--csv", &link, WRITTEN), ("--json", &new, WRITTEN)).is_some());
    symlink("round", at("round")).unwrap();
    let round = at("round");
    assert_eq!(refused(("--csv", &round, WRITTEN), ("--json", &new, WRITTEN)), None);
}

#[test]
fn inputs_may_be_the_same_and_streams_devices_and_pipes_are_no_loss() {
    let folder = tempfile::tempdir().unwrap();
    let pem = folder.path().join("pem");
    fs::write(&pem, "").unwrap();
    assert_eq!(refused(("--cert", &pem, Role::Read), ("--key", &pem, Role::Read)), None);
    for path in ["-", "/dev/null"].map(Path::new) {
        assert_eq!(refused(("--csv", path, WRITTEN), ("--json", path, WRITTEN)), None);
    }
}

#[test]
fn an_output_replaces_only_what_is_empty_or_an_earlier_one_of_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let refused = |kind: Kind, content: &[u8]| {
        fs::write(&path, content).unwrap();
        let named = named("--report", &path, Role::Written(kind));
        check(&[named]).err().map(|failure| failure.error.to_string())
    };
    let page = "<!doctype html>\n<title>x · benchwright</title>";
    let earlier: [(Kind, &str); 12] = [
        (Kind::Log, "123456\t/path\t4\n"),
        (Kind::Page, page),
        (Kind::Document, "{\n  \"schema\": \"benchwright.load/3\"}"),
        (Kind::Document, "{\"schema\":\"benchwright.notes/1\"}\nx"),
        (Kind::Document, "{\"binding\": \"kv\", \"schema\": \"benchwright.ycsb/1\"}"),
        (Kind::Rows, "t_s,offered,sent\n"),
        (Kind::Samples, "intended_ns,sent_ns,first_byte_ns\n"),
        (Kind::Histograms, "#[Histogram log format version 1.3]\n"),
        (Kind::Ycsb, "[OVERALL], RunTime(ms), 5\n"),
        (Kind::Ycsb, "[ {\n  \"metric\" : \"OVERALL\""),
        (Kind::Keys, "\u{1}\0\0\0\0\0\0\0"),
        (Kind::Kept, "anything"),
    ];
    for (kind, content) in earlier {
        assert_eq!(refused(kind, content.as_bytes()), None, "{content}");
        assert_eq!(refused(kind, b""), None);
        if kind != Kind::Kept {
            let why = refused(kind, b"#!/bin/sh\nmake\n").unwrap();
            assert!(why.ends_with("; remove it, or choose another name"), "{why}");
        }
    }
    let why = refused(Kind::Page, b"{\"metrics\": 1}").unwrap();
    assert_eq!(
        why,
        format!(
            "--report {} would replace a file that is not a report of benchwright; remove it, or choose another name",
            path.display()
        )
    );
    assert!(refused(Kind::Page, b"<!doctype html>\n<title>my page</title>").is_some());
    assert!(refused(Kind::Document, b"{\"schema\": \"of somebody\"}").is_some());
}
