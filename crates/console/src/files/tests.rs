use std::os::unix::fs::symlink;

use super::*;

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
    let why = refused(("--csv", &x, Role::Written), ("--samples", &x, Role::Written)).unwrap();
    assert_eq!(
        why,
        format!("--csv {0} and --samples {0} are the same file; name two", x.display())
    );
    assert_eq!(refused(("--csv", &x, Role::Written), ("--hlog", &round, Role::Written)), None);
    let round = folder.path().join("..").join(folder.path().file_name().unwrap()).join("x");
    assert!(refused(("--csv", &x, Role::Written), ("--hlog", &round, Role::Written)).is_some());
}

#[test]
fn an_output_over_an_input_is_refused_under_each_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("mix"), "{}").unwrap();
    fs::hard_link(at("mix"), at("hard")).unwrap();
    symlink("mix", at("soft")).unwrap();
    for name in ["mix", "hard", "soft"] {
        let output = ("--save", &*at(name), Role::Written);
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
    assert!(refused(("--csv", &link, Role::Written), ("--json", &new, Role::Written)).is_some());
    symlink("round", at("round")).unwrap();
    let round = at("round");
    assert_eq!(refused(("--csv", &round, Role::Written), ("--json", &new, Role::Written)), None);
}

#[test]
fn inputs_may_be_the_same_and_streams_devices_and_pipes_are_no_loss() {
    let folder = tempfile::tempdir().unwrap();
    let pem = folder.path().join("pem");
    fs::write(&pem, "").unwrap();
    assert_eq!(refused(("--cert", &pem, Role::Read), ("--key", &pem, Role::Read)), None);
    for path in ["-", "/dev/null"].map(Path::new) {
        assert_eq!(refused(("--csv", path, Role::Written), ("--json", path, Role::Written)), None);
    }
}
