use super::*;

#[test]
fn a_short_output_is_kept_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.log");
    let output = Output::new(Some(&path), Secrets::default());
    output.add(b"one\n");
    output.add(b"two\nthr");
    assert_eq!(output.last_lines(), ["one", "two", "thr"]);
    output.finish();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\nthr");
}

/// Results may be somebody else's, who put a link there.
#[test]
fn an_output_replaces_a_link_and_not_its_target() {
    let folder = tempfile::tempdir().unwrap();
    let (path, precious) = (folder.path().join("x.log"), folder.path().join("precious"));
    std::fs::write(&precious, "kept").unwrap();
    std::os::unix::fs::symlink(&precious, &path).unwrap();
    let output = Output::new(Some(&path), Secrets::default());
    output.add(b"one\n");
    output.finish();
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "kept");
    assert!(std::fs::symlink_metadata(&path).unwrap().is_file());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
}

#[test]
fn outputs_are_not_kept_in_a_folder_behind_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (components, elsewhere) = (folder.path().join("components"), folder.path().join("else"));
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &components).unwrap();
    let mut local = crate::processes::Local::new(lab::Host::new("x".into(), "0"));
    local.logs = Some(components.clone());
    local.output("server").add(b"one\n");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    std::fs::remove_file(&components).unwrap();
    local.output("another").add(b"two\n");
    assert_eq!(std::fs::read_to_string(components.join("another.log")).unwrap(), "two\n");
}

#[test]
fn of_a_long_output_the_beginning_and_the_end_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.log");
    for total in [HALF, HALF + 1, 2 * HALF - 1, 2 * HALF, 2 * HALF + 1, 5 * HALF] {
        let output = Output::new(Some(&path), Secrets::default());
        let bytes: Vec<u8> = (0..total).map(|i| b'a' + (i % 23) as u8).collect();
        bytes.chunks(777).for_each(|piece| output.add(piece));
        output.finish();
        let kept = std::fs::read(&path).unwrap();
        let note = match total.saturating_sub(2 * HALF) {
            0 => String::new(),
            gap => format!("\n[{gap} bytes are left out here]\n"),
        };
        let end = total.saturating_sub(HALF).max(HALF.min(total));
        let expected = [&bytes[..HALF.min(total)], note.as_bytes(), &bytes[end..]].concat();
        assert!(kept == expected, "{total}: {} kept, {} expected", kept.len(), expected.len());
    }
}

#[test]
fn last_lines_are_few_short_and_without_control_characters() {
    let output = Output::new(None, Secrets::default());
    for i in 0..30 {
        output.add(format!("{i} \u{1b}[31m{}\n", "x".repeat(1000)).as_bytes());
    }
    let lines = output.last_lines();
    assert!(lines.len() <= LAST_LINES);
    assert!(lines.iter().all(|line| line.len() <= LONGEST_LINE && !line.contains('\u{1b}')));
}

#[test]
fn wanted_lines_are_sent_while_there_is_room_and_a_receiver() {
    let output = Output::new(None, Secrets::default());
    let (sender, received) = std::sync::mpsc::sync_channel(2);
    let lines = Lines { sender, is_wanted: Box::new(|line| line != "starting") };
    pump(&b"starting\nready http://x\nrest"[..], &output, Some(&lines));
    pump(&b"one\ntwo\nthree\n"[..], &output, Some(&lines));
    assert_eq!(received.try_iter().collect::<Vec<_>>(), ["ready http://x", "one"]);
    drop(received);
    pump(&b"more\nand more\n"[..], &output, Some(&lines));
    let printed = ["starting", "ready http://x", "restone", "two", "three", "more", "and more"];
    assert_eq!(output.last_lines(), printed);
}

#[test]
fn a_line_of_one_stream_is_not_cut_by_the_other() {
    let mut secrets = Secrets::default();
    secrets.find("${env.TOKEN}", &|_| Some("canary-1".to_owned()));
    let output = Output::new(None, secrets);
    output.add(b"got can");
    output.of_stderr().add(b"warning\n");
    output.add(b"ary-1\n");
    assert_eq!(output.last_lines(), ["warning", "got ${env.TOKEN}"]);
}

#[test]
fn a_secret_that_a_component_prints_is_kept_as_its_reference() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.log");
    let mut secrets = Secrets::default();
    secrets.find("${env.TOKEN}", &|_| Some("canary-1".to_owned()));
    let output = Output::new(Some(&path), secrets);
    // However the pipe divides it, and at the end of the output.
    for piece in ["got can", "ary-1\ngot canary", "-1 again\n", "last: canary-1"] {
        output.add(piece.as_bytes());
    }
    assert_eq!(output.last_lines().last().unwrap(), "last: ${env.TOKEN}");
    output.finish();
    let kept = std::fs::read_to_string(&path).unwrap();
    assert_eq!(kept, "got ${env.TOKEN}\ngot ${env.TOKEN} again\nlast: ${env.TOKEN}");
}
