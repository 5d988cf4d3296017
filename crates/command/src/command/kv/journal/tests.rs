use super::*;

#[test]
fn a_line_has_the_form_of_the_original() {
    let line = line(Nanos(1_580_838_640_253_452_741), "server", "Running server");
    assert_eq!(line, "[1580838640.253452741]::INFO::server:: Running server");
}

#[test]
fn sizes_and_numbers_are_powers_of_two() {
    let sizes = [128 << 10, 16 << 30, (1 << 30) + (1 << 29), 100].map(size);
    assert_eq!(sizes, ["128 KB", "16 GB", "1.50 GB", "100 B"]);
    assert_eq!([128 << 20, 4096, 100].map(number), ["128 M", "4 K", "100"]);
}

#[test]
fn the_latest_log_is_found_by_a_relative_link() {
    let logs = tempfile::tempdir().unwrap();
    for (number, message) in ["first", "second"].iter().enumerate() {
        // A process makes one log in reality.
        let folder = logs.path().join("server");
        let mut journal = match number {
            0 => Journal::create(logs.path(), "server", "server1.log").unwrap(),
            _ => {
                let old = fs::read_link(folder.join("latest")).unwrap();
                fs::rename(folder.join(&old), folder.join("old")).unwrap();
                Journal::create(logs.path(), "server", "server1.log").unwrap()
            }
        };
        journal.info("server", message);
        let text = fs::read_to_string(folder.join("latest/server1.log")).unwrap();
        assert!(text.ends_with(&format!("]::INFO::server:: {message}\n")), "{text}");
        assert!(fs::read_link(folder.join("latest")).unwrap().is_relative());
    }
}
