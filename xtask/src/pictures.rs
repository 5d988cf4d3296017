//! The pictures of README: what a run leaves on a terminal, and its report.
//!
//! Both are of one experiment on virtual time, which gives the same bytes on every machine. So the check that they
//! are current runs it again, and needs no browser: it compares the drawing of the terminal, and the digest of the
//! page that was drawn.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::programs::Build;
use crate::repository;

mod terminal;

#[cfg(test)]
mod tests;

pub(crate) const USAGE: &str = "\
cargo xtask pictures [--program FILE]

Draws docs/pictures again, and the same run in docs/book/first-answer.md; it needs Chromium.

  --program  the benchwright to run (otherwise the users' build is made: cargo build --release)
";

/// The drawing of the terminal.
pub(crate) const TERMINAL: &str = "docs/pictures/terminal.svg";
/// The screenshot of the report.
pub(crate) const REPORT: &str = "docs/pictures/report.png";
/// The digest of the page of which the screenshot was taken.
pub(crate) const DIGEST: &str = "docs/pictures/report.sha256";
/// The page of the book that shows the same run as text.
pub(crate) const PAGE: &str = "docs/book/first-answer.md";

const SPEC: &str = "experiments/simulated.yaml";
const OUT: &str = "results/simulated";

/// The part of the page: the answer and the first figures. README shows it smaller than a browser does.
const WINDOW: &str = "1000,1250";
const SCALE: &str = "0.75";
/// The most bytes of the screenshot; it is loaded with README.
const LARGEST: u64 = 150 << 10;

/// One run, as a terminal and a browser show it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Run {
    /// The command and what it printed, in the order of a terminal.
    pub(crate) text: String,
    /// The report, in which nothing depends on the machine.
    pub(crate) page: String,
}

/// The files that follow from a run, by their paths.
pub(crate) fn drawn(run: &Run) -> [(&'static str, String); 2] {
    let digest: String =
        Sha256::digest(&run.page).iter().map(|byte| format!("{byte:02x}")).collect();
    [(TERMINAL, terminal::svg(&run.text)), (DIGEST, format!("{digest}\n"))]
}

/// Returns the page of the book with the text of a run.
pub(crate) fn filled(page: &str, run: &Run) -> Result<String, String> {
    crate::book::fill(page, "terminal", &format!("```text\n{}```\n", run.text))
}

/// Runs the experiment of the pictures with this program.
pub(crate) fn run_of(program: &Path) -> Result<Run, String> {
    let temporary = scratch()?;
    let folder = lengthened(temporary.path());
    let spec = folder.join(SPEC);
    fs::create_dir_all(spec.parent().expect("it is in a folder")).map_err(|e| format!("{e}"))?;
    let shipped = repository::root().join(SPEC);
    fs::copy(&shipped, &spec).map_err(|error| format!("{}: {error}", shipped.display()))?;
    let mut command = Command::new(program);
    command.args(["run", SPEC, "--out", OUT]).current_dir(&folder);
    command.env("BENCHWRIGHT_RUNTIME", temporary.path().join("runtime"));
    let output = ended(&mut command)?;
    let printed = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let report = folder.join(OUT).join("report.html");
    let page = fs::read_to_string(&report).map_err(|e| format!("{}: {e}", report.display()))?;
    Ok(Run {
        text: format!(
            "$ benchwright run {SPEC} --out {OUT}\n{}{}",
            printed(&output.stderr),
            printed(&output.stdout)
        ),
        page: without(&page, &folder),
    })
}

/// Returns a folder in this one whose path has the same length on every machine: the results have it, and their size
/// is shown.
fn lengthened(folder: &Path) -> PathBuf {
    const LENGTH: usize = 120;
    let missing = LENGTH.saturating_sub(folder.as_os_str().len() + 1);
    folder.join("x".repeat(missing.max(1)))
}

/// Returns the page as if the run had been in the folder of a user.
fn without(page: &str, folder: &Path) -> String {
    page.replace(&folder.display().to_string(), "~/benchwright")
}

/// Reads the words after `pictures`; `None` if they are wrong.
pub(crate) fn read(words: &[&str]) -> Option<Option<PathBuf>> {
    match *words {
        [] => Some(None),
        ["--program", program] => Some(Some(repository::root().join(program))),
        _ => None,
    }
}

/// Draws the pictures; returns true if that succeeded.
pub(crate) fn draw(program: Option<PathBuf>) -> bool {
    match drawn_and_written(program) {
        Ok(()) => true,
        Err(why) => {
            eprintln!("error: {why}");
            false
        }
    }
}

fn drawn_and_written(program: Option<PathBuf>) -> Result<(), String> {
    let program = match program {
        Some(program) => program,
        None if Build::Release.make() => Build::Release.program("benchwright")?,
        None => return Err("the programs could not be built".to_owned()),
    };
    let run = run_of(&program)?;
    let root = repository::root();
    let picture = root.join(REPORT);
    fs::create_dir_all(picture.parent().expect("it is in a folder")).map_err(|e| format!("{e}"))?;
    photograph(&run.page, &picture)?;
    for (path, text) in drawn(&run) {
        write(&root.join(path), &text)?;
    }
    let page = root.join(PAGE);
    let text = fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
    write(&page, &filled(&text, &run).map_err(|e| format!("{}: {e}", page.display()))?)
}

/// Writes the picture of a page in a window, as the browser draws it without a network.
fn photograph(page: &str, picture: &Path) -> Result<(), String> {
    let folder = scratch()?;
    let file = folder.path().join("report.html");
    write(&file, page)?;
    let mut chromium = Command::new("chromium");
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]);
    chromium.args(["--disable-background-networking", "--disable-component-update"]);
    chromium.args(["--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND"]);
    chromium.arg("--hide-scrollbars").arg(format!("--force-device-scale-factor={SCALE}"));
    chromium.arg(format!("--window-size={WINDOW}"));
    chromium.arg(format!("--user-data-dir={}", folder.path().join("chromium").display()));
    chromium.arg(format!("--screenshot={}", picture.display()));
    chromium.arg(format!("file://{}#theme=light", file.display()));
    ended(&mut chromium)?;
    let bytes = fs::metadata(picture).map_err(|e| format!("{}: {e}", picture.display()))?.len();
    println!("{}: {} KiB", picture.display(), bytes >> 10);
    match bytes <= LARGEST {
        true => Ok(()),
        false => Err(format!("the picture has more than {} KiB: make it smaller", LARGEST >> 10)),
    }
}

fn ended(command: &mut Command) -> Result<Output, String> {
    let name = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("starting {name}: {error}"))?;
    let problem = || format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim());
    match output.status.success() {
        true => Ok(output),
        false => Err(problem()),
    }
}

fn scratch() -> Result<TempDir, String> {
    tempfile::tempdir().map_err(|error| format!("making a temporary folder: {error}"))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("writing {}: {error}", path.display()))
}
