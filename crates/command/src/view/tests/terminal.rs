//! The view on a real terminal, which tmux draws.

use std::io;
use std::process::Command;

use console::view::{leave_screen, take_screen};
use net::clock;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event;

use super::*;

const SCENE: &str = "BENCHWRIGHT_TEST_SCENE";

/// Draws a scene on the real terminal of this process and waits for a key; or panics.
fn perform(scene: &str) {
    take_screen().unwrap();
    let mut terminal = ratatui::Terminal::new(CrosstermBackend::new(io::stderr())).unwrap();
    let shown = scene.strip_prefix("panic ").unwrap_or(scene);
    terminal.draw(|frame| draw(shown, frame)).unwrap();
    assert_eq!(shown, scene, "a panic in the view");
    event::read().unwrap();
    leave_screen();
}

/// A terminal in which this test draws a scene.
struct Tmux(String);

impl Tmux {
    fn start(scene: &str, (width, height): (u16, u16)) -> Tmux {
        let own = std::env::current_exe().unwrap();
        let name = format!("benchwright-{}-{}", std::process::id(), scene.replace(' ', "-"));
        let tmux = Tmux(format!("{name}-{width}"));
        let test = "view::tests::terminal::a_real_terminal_shows_the_same";
        // A backtrace would push the message of a panic off the screen.
        let command =
            format!("RUST_BACKTRACE=0 '{}' --exact {test} --nocapture; cat", own.display());
        let (width, height) = (width.to_string(), height.to_string());
        let scene = format!("{SCENE}={scene}");
        tmux.run(&["new-session", "-d", "-x", &width, "-y", &height, "-e", &scene, &command]);
        tmux
    }

    fn run(&self, words: &[&str]) -> String {
        let mut command = Command::new("tmux");
        let output = command.args(["-u", "-L", &self.0, "-f", "/dev/null"]).args(words).output();
        let output = output.unwrap();
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {words:?}: {problem}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until the screen, without what follows the lines, is as it should be.
    fn shows(&self, is_right: impl Fn(&str) -> bool) -> String {
        let deadline = clock::now() + Nanos::from_secs(30);
        loop {
            let screen = self.run(&["capture-pane", "-p"]);
            if is_right(&screen) || deadline < clock::now() {
                return screen;
            }
            clock::sleep_until(clock::now() + Nanos::from_millis(50));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

fn has_tmux(test: &str) -> bool {
    let is_there = Command::new("tmux").arg("-V").output().is_ok();
    if let (false, Some(file)) = (is_there, std::env::var_os("BENCHWRIGHT_SKIPPED")) {
        let mut file = std::fs::OpenOptions::new().append(true).open(file).unwrap();
        io::Write::write_all(&mut file, format!("skipped: {test}: needs tmux\n").as_bytes())
            .unwrap();
    }
    is_there
}

#[test]
fn a_real_terminal_shows_the_same() {
    if let Ok(scene) = std::env::var(SCENE) {
        return perform(&scene);
    }
    if !has_tmux("a_real_terminal_shows_the_same") {
        return;
    }
    for (scene, size) in SCENES {
        let tmux = Tmux::start(scene, size);
        let expected = picture(scene, size);
        assert_eq!(tmux.shows(|screen| screen == expected), expected, "{scene}");
        let state = ["display-message", "-p", "#{alternate_on} #{cursor_flag}"];
        assert_eq!(tmux.run(&state), "1 0\n");
        tmux.run(&["send-keys", "x"]);
        tmux.shows(|screen| screen.contains("test result: ok"));
        assert_eq!(tmux.run(&state), "0 1\n", "{scene}");
    }
}

#[test]
fn a_panic_gives_the_terminal_back_and_its_message_stays() {
    if !has_tmux("a_panic_gives_the_terminal_back_and_its_message_stays") {
        return;
    }
    let tmux = Tmux::start("panic measuring", WIDE);
    let screen = tmux.shows(|screen| screen.contains("test result: FAILED"));
    assert!(screen.contains("a panic in the view"), "{screen}");
    assert_eq!(tmux.run(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]), "0 1\n");
}
