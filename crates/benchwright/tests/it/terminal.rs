//! The view of a run, in a real terminal: tmux.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use regex::Regex;

use crate::support::{Scratch, benchwright, experiments, run_while, skip, sleep};

/// A terminal with a shell in the folder of a test.
struct Tmux {
    name: String,
}

impl Tmux {
    /// Returns `None` if tmux is missing.
    fn start(test: &str, scratch: &Scratch) -> Option<Tmux> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skip(test, "tmux");
            return None;
        }
        // A server that ends takes its name with it only after a while.
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let tmux = Tmux { name: format!("benchwright-{}-{number}", std::process::id()) };
        let folder = scratch.path().display().to_string();
        let size = ["new-session", "-d", "-x", "100", "-y", "30", "-c", &folder];
        tmux.run(&[&size[..], &["env PS1='$ ' sh"]].concat());
        Some(tmux)
    }

    fn run(&self, words: &[&str]) -> String {
        let mut command = Command::new("tmux");
        let output = command.args(["-u", "-L", &self.name, "-f", "/dev/null"]).args(words).output();
        let output = output.unwrap();
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {words:?}: {problem}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Begins the experiment of these tests. A key that is typed before the view is there counts, too:
    /// with `p` no trial has begun when it appears.
    fn begin(&self, environment: &str, more: &str, key: &str) {
        let (program, spec) = (benchwright(), experiments().join("simulated.yaml"));
        let (program, spec) = (program.display(), spec.display());
        // What is typed after it is for the program alone: the terminal does not show it.
        let line = format!(
            "stty -echo; {environment} {program} run {spec} --profile ci --out out {more}; \
             echo code $?; stty echo"
        );
        self.run(&["send-keys", &line, "Enter"]);
        self.keys(key);
    }

    fn keys(&self, key: &str) {
        if !key.is_empty() {
            self.run(&["send-keys", key]);
        }
    }

    /// Waits until the screen has this text; returns it without the figures that depend on time.
    fn until(&self, text: &str) -> String {
        let mut screen = String::new();
        for _ in 0..600 {
            screen = self.run(&["capture-pane", "-p"]);
            if screen.contains(text) {
                return masked(&screen);
            }
            sleep(Duration::from_millis(50));
        }
        panic!("no `{text}` in\n{screen}");
    }

    /// Returns true if the alternate screen is shown, and if the cursor is.
    fn state(&self) -> String {
        self.run(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"])
    }

    /// Checks that the shell works as before: it has the screen, the cursor and the echo.
    fn check_restored(&self) {
        assert_eq!(self.state(), "0 1\n");
        self.run(&[
            "send-keys",
            "clear; stty -a | tr ' ;' '\\n\\n' | grep -xE '.?(icanon|echo|isig|opost)'",
            "Enter",
        ]);
        let screen = self.until("\necho\n");
        for flag in ["opost\n", "\nisig\n", "\nicanon\n"] {
            assert!(screen.contains(flag), "{flag:?} in {screen}");
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // It has ended already if its terminal hung up.
        let _ = Command::new("tmux").args(["-L", &self.name, "kill-server"]).output();
    }
}

fn masked(screen: &str) -> String {
    let clock = Regex::new(r"\b\d+:\d\d\b").unwrap();
    let cost = Regex::new(r" *view [0-9.]+ % of a CPU").unwrap();
    cost.replace_all(&clock.replace_all(screen, "#:##"), "").into_owned()
}

/// Returns the lines of the same run on a pipe.
fn on_a_pipe(scratch: &Scratch) -> String {
    let mut command = scratch.benchwright();
    command.arg("run").arg(experiments().join("simulated.yaml"));
    let ran = run_while(command.args(["--profile", "ci", "--out", "other"]), |_| {});
    assert_eq!(ran.code, 0, "{ran:#?}");
    (ran.stderr + &ran.stdout).replace("other", "out")
}

/// Returns a text without the breaks of a narrow terminal.
fn unbroken(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn a_run_on_a_terminal_shows_a_view_and_leaves_the_lines_of_a_pipe() {
    let scratch = Scratch::new();
    let test = "a_run_on_a_terminal_shows_a_view_and_leaves_the_lines_of_a_pipe";
    let Some(tmux) = Tmux::start(test, &scratch) else { return };
    tmux.begin("", "", "p");
    let screen = tmux.until("paused: p continues");
    expect_test::expect![[r#"
         simulated · about 7 trials still needed, 4.30 s; at most 30 · seed 17285499004125085777       #:##
         paused: p continues, #:##
        ┌ plan: trial, load, result, p99 ────────────────┐┌ trial ─────────────────────────────────────────┐
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        └────────────────────────────────────────────────┘└────────────────────────────────────────────────┘
        ┌ log ─────────────────────────────────────────────────────────────────────────────────────────────┐
        │   #:##  simulated · profile ci · simulated · at most 30 trials, 19 s                             │
        │                                                                                                  │
        │                                                                                                  │
        │                                                                                                  │
        │                                                                                                  │
        └──────────────────────────────────────────────────────────────────────────────────────────────────┘
         p continue  s end wait  r repeat  w last 60 s  l log  q quit  ? help
    "#]].assert_eq(&screen);
    assert_eq!(tmux.state(), "1 0\n");
    tmux.keys("p");
    let screen = tmux.until("code 0");
    let lines = on_a_pipe(&scratch);
    assert!(unbroken(&screen).contains(&unbroken(&lines)), "{lines}\nin\n{screen}");
    tmux.check_restored();
}

#[test]
fn quitting_stops_the_run_and_gives_the_terminal_back() {
    let test = "quitting_stops_the_run_and_gives_the_terminal_back";
    for key in ["q", "C-c"] {
        let scratch = Scratch::new();
        let Some(tmux) = Tmux::start(test, &scratch) else { return };
        tmux.begin("", "", "p");
        tmux.until("paused: p continues");
        tmux.keys(key);
        let screen = tmux.until("code 130");
        assert!(unbroken(&screen).contains("benchwrightresumeout"), "{screen}");
        tmux.check_restored();
        let folder = scratch.path().join("out");
        assert_eq!(std::fs::read_to_string(folder.join("journal.jsonl")).unwrap(), "");
    }
}

#[test]
fn a_terminal_that_hangs_up_stops_the_run() {
    let scratch = Scratch::new();
    let Some(tmux) = Tmux::start("a_terminal_that_hangs_up_stops_the_run", &scratch) else {
        return;
    };
    tmux.begin("sh -c 'echo $$ >pid; exec \"$0\" \"$@\"'", "", "p");
    tmux.until("paused: p continues");
    let pid = std::fs::read_to_string(scratch.path().join("pid")).unwrap();
    drop(tmux);
    // A process that has ended has no arguments, even if nobody has asked for its end yet.
    let arguments = format!("/proc/{}/cmdline", pid.trim());
    let is_running = || std::fs::read(&arguments).is_ok_and(|text| !text.is_empty());
    for _ in 0..600 {
        if !is_running() {
            let journal = scratch.path().join("out/journal.jsonl");
            assert_eq!(std::fs::read_to_string(journal).unwrap(), "");
            return;
        }
        sleep(Duration::from_millis(50));
    }
    let _ = Command::new("kill").args(["-KILL", pid.trim()]).output();
    panic!("it still runs without a terminal");
}

#[test]
fn an_error_gives_the_terminal_back() {
    let scratch = Scratch::new();
    let Some(tmux) = Tmux::start("an_error_gives_the_terminal_back", &scratch) else { return };
    std::fs::create_dir_all(scratch.path().join("out/full")).unwrap();
    tmux.begin("", "", "");
    let screen = tmux.until("code 2");
    assert!(screen.contains("error: "), "{screen}");
    tmux.check_restored();
}

#[test]
fn lines_are_wanted_or_all_that_the_terminal_can_show() {
    let test = "lines_are_wanted_or_all_that_the_terminal_can_show";
    for (environment, more) in [("", "--no-tui"), ("TERM=dumb", ""), ("", "2>&1 | cat")] {
        let scratch = Scratch::new();
        let Some(tmux) = Tmux::start(test, &scratch) else { return };
        // A view would pause before the first trial.
        tmux.begin(environment, more, "p");
        let screen = tmux.until("code 0");
        // Between them is the line that overwrites itself.
        for line in on_a_pipe(&scratch).lines() {
            assert!(unbroken(&screen).contains(&unbroken(line)), "{line}\nin\n{screen}");
        }
    }
}

#[test]
fn no_color_leaves_the_colours_out() {
    let colour = Regex::new(r"\x1b\[[0-9;]*3[0-8][0-9;]*m").unwrap();
    for (environment, has_colours) in [("NO_COLOR=", true), ("NO_COLOR=1", false)] {
        let scratch = Scratch::new();
        let test = "no_color_leaves_the_colours_out";
        let Some(tmux) = Tmux::start(test, &scratch) else { return };
        tmux.begin(environment, "", "p");
        tmux.until("paused: p continues");
        let screen = tmux.run(&["capture-pane", "-p", "-e"]);
        assert_eq!(colour.is_match(&screen), has_colours, "{screen:?}");
    }
}
