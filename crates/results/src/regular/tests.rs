use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn only_regular_files_are_read_and_no_link_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("private"), "private").unwrap();
    std::os::unix::fs::symlink(path("private"), path("link")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
    for (name, why) in [
        ("link", "a link, not a regular file"),
        ("fifo", "not a regular file"),
        (".", "not a regular file"),
    ] {
        assert_eq!(read(&path(name), MOST).unwrap_err().to_string(), why, "{name}");
        let opened = open(&path(name), OpenOptions::new().append(true));
        assert!(opened.is_err(), "{name}");
    }
    assert_eq!(read(&path("private"), MOST).unwrap(), b"private");
}

#[test]
fn what_is_written_replaces_a_link_and_not_its_target() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("precious"), "kept").unwrap();
    for write in
        [|path: &Path| replace(path, b"new"), |path: &Path| create(path)?.write_all(b"new")]
    {
        std::os::unix::fs::symlink(path("precious"), path("link")).unwrap();
        write(&path("link")).unwrap();
        assert_eq!(read(&path("link"), MOST).unwrap(), b"new");
        fs::remove_file(path("link")).unwrap();
    }
    std::os::unix::fs::symlink(path("precious"), path("link")).unwrap();
    write_new(&path("link"), b"new").unwrap_err();
    assert_eq!(fs::read(path("precious")).unwrap(), b"kept");
    let names = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 2, "a file that was being written is left");
}

#[test]
fn files_and_folders_are_readable_as_their_folder_is() {
    let folder = tempfile::tempdir().unwrap();
    for (of_folder, of_file) in [(0o700, 0o600), (0o750, 0o640)] {
        let path = folder.path().join(format!("{of_folder:o}"));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(of_folder)).unwrap();
        replace(&path.join("a"), b"").unwrap();
        create(&path.join("b")).unwrap();
        make_folder(&path.join("inner")).unwrap();
        assert_eq!(
            ["a", "b", "inner"].map(|name| mode(&path.join(name))),
            [of_file, of_file, of_folder]
        );
    }
}

/// A file without contents takes no place on the disk, but would in memory.
#[test]
fn a_file_beyond_its_bound_is_refused_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long");
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    for why in [read(&path, MOST).unwrap_err(), read_input(&path, MOST).unwrap_err()] {
        assert_eq!(why.to_string(), "it is longer than 256 MiB");
    }
}

#[test]
fn a_device_without_an_end_is_refused_before_it_is_read() {
    let why = read_input(Path::new("/dev/zero"), MOST_OF_SHORT).unwrap_err();
    assert_eq!(why.to_string(), "it is a device, not a file; name a file or a pipe");
    assert_eq!(read_input(Path::new("/dev/null"), MOST_OF_SHORT).unwrap(), b"");
}

#[test]
fn a_pipe_is_read_to_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let to = path.clone();
    let writer = std::thread::spawn(move || {
        let mut pipe = OpenOptions::new().write(true).open(to).unwrap();
        // The reader leaves once it has read enough.
        while pipe.write_all(&[b'x'; 1 << 16]).is_ok() {}
    });
    let why = read_input(&path, 1 << 20).unwrap_err();
    assert_eq!(why.to_string(), "it is longer than 1 MiB");
    writer.join().unwrap();
}

#[test]
fn a_name_is_one_line_of_a_message() {
    assert_eq!(shown(Path::new("results/é 1")), "results/é 1");
    let forged = Path::new("H\u{1b}[31m\n  all is well\u{9b}");
    assert_eq!(shown(forged), "H\\u001b[31m\\u000a  all is well\\u009b");
}
