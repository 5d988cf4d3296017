//! `benchwright open`: writes the report of results again, and shows it. So a browser gets a page that this
//! program made, and never one that came with somebody's results.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use clap::Args;
use console::output::{self, Exit, Failure};
use lab::host::rest;
use results::regular;

#[cfg(test)]
mod tests;

#[derive(Args, Debug)]
#[command(
    after_help = "The browser is that of $BROWSER, or else of xdg-open, which needs a display."
)]
pub(crate) struct Open {
    /// A results directory; its report.html is written again
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

pub(crate) fn open(arguments: &Open) -> Result<Exit, Failure> {
    let (path, exit) = super::report::write(&arguments.directory, None)?;
    output::result(&format!("{}\n", regular::shown(&path)))?;
    let page = std::path::absolute(&path).unwrap_or(path);
    match viewer(&url_of(&page), &|name| std::env::var(name).ok()) {
        Viewer::None => output::error(
            "there is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set), and no $BROWSER: open this file \
             in a browser",
        ),
        Viewer::Of { commands, has_display } => {
            let mut failures = Vec::new();
            for command in commands {
                match show(&command, has_display) {
                    Ok(()) => return Ok(exit),
                    Err(why) => failures.push(format!("{}: {why}", command[0])),
                }
            }
            let failures = failures.join("; ");
            output::error(&format!(
                "no browser could be started ({failures}): open this file in one"
            ));
        }
    }
    Ok(exit)
}

/// The programs that may show a page, in the order in which they are tried.
#[derive(Debug, PartialEq)]
enum Viewer {
    None,
    Of { commands: Vec<Vec<String>>, has_display: bool },
}

/// Chooses the programs by the environment. `BROWSER` is a list, divided by colons; `%s` in a command is the page,
/// which otherwise follows it.
fn viewer(page: &str, environment: &dyn Fn(&str) -> Option<String>) -> Viewer {
    let set = |name: &str| environment(name).filter(|value| !value.trim().is_empty());
    let has_display = set("DISPLAY").is_some() || set("WAYLAND_DISPLAY").is_some();
    let command = |written: &str| {
        let mut words: Vec<String> =
            written.split_whitespace().map(|word| word.replace("%s", page)).collect();
        if !written.contains("%s") && !words.is_empty() {
            words.push(page.to_owned());
        }
        words
    };
    let browsers = set("BROWSER").unwrap_or_default();
    let mut commands: Vec<Vec<String>> =
        browsers.split(':').map(command).filter(|words| !words.is_empty()).collect();
    if has_display {
        commands.push(command("xdg-open"));
    }
    match commands.is_empty() {
        true => Viewer::None,
        false => Viewer::Of { commands, has_display },
    }
}

/// The time in which a program that cannot show the page says so.
const LOOKS: u32 = 20;
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Starts a program. One with a display stays when this one has ended; one without is in the terminal, and is
/// waited for.
fn show(words: &[String], has_display: bool) -> Result<(), String> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    if has_display {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    }
    let mut child = command.spawn().map_err(|error| regular::plain(&error))?;
    let ended = |status: ExitStatus| match status.success() {
        true => Ok(()),
        false => Err(format!("it failed ({status})")),
    };
    if !has_display {
        return child.wait().map_err(|error| error.to_string()).and_then(ended);
    }
    for _ in 0..LOOKS {
        match child.try_wait() {
            Ok(Some(status)) => return ended(status),
            Ok(None) => rest(LOOK_EVERY),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

/// Returns the URL of a file.
fn url_of(path: &Path) -> String {
    let mut url = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                url.push(char::from(*byte));
            }
            byte => {
                let _ = write!(url, "%{byte:02X}");
            }
        }
    }
    url
}
