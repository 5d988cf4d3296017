use std::os::unix::fs::symlink;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::*;

/// A reader of "does not exist" looks for another mistake than the one that was made.
#[test]
fn what_is_there_and_cannot_be_read_is_not_called_missing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "").unwrap();
    symlink(at("file"), at("to-the-file")).unwrap();
    symlink(at("nowhere"), at("link")).unwrap();
    symlink(at("circle"), at("circle")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
    for name in ["file", "to-the-file"] {
        assert_eq!(refusal(&at(name)), None, "{name}");
    }
    for (name, why) in [
        ("none", "does not exist"),
        ("file/inner", "does not exist"),
        ("link", "is a link that leads nowhere"),
        ("folder", "is a folder"),
        ("pipe", "is a pipe, and an experiment reads it more than once"),
        ("circle", "cannot be read: too many levels of symbolic links"),
    ] {
        assert_eq!(refusal(&at(name)).as_deref(), Some(why), "{name}");
    }
    assert_eq!(refusal(Path::new("/dev/null")).as_deref(), Some("is not a file"));
}
