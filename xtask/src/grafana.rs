//! The Grafana dashboard in `deploy/grafana`: a program in Go makes it with Grafana's foundation SDK,
//! which also checks it. The SDK's version is pinned, with its digest.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::repository;

/// The folder of the program.
const SOURCES: &str = "xtask/src/grafana";
const FILES: [&str; 3] = ["go.mod", "go.sum", "main.go"];
/// The dashboard that users get.
const MADE: &str = "deploy/grafana/dashboards/benchwright.json";

/// Makes the dashboard, and writes it where users get it.
pub(crate) fn run() -> bool {
    if !is_there() {
        install();
    }
    let made = Command::new(program()).output().ok().filter(|made| made.status.success());
    let Some(made) = made else {
        println!("error: {} made no dashboard; it needs Go", program().display());
        return false;
    };
    match fs::write(repository::root().join(MADE), made.stdout) {
        Ok(()) => println!("{MADE} is current"),
        Err(error) => {
            println!("error: writing {MADE}: {error}");
            return false;
        }
    }
    true
}

/// Returns true if the program is built from its current sources.
pub(crate) fn is_there() -> bool {
    let (folder, sources) = (folder(), repository::root().join(SOURCES));
    FILES.iter().all(|name| repository::are_equal(&folder.join(name), &sources.join(name)))
}

/// Builds it; `is_there` shows whether that succeeded.
pub(crate) fn install() {
    let (folder, sources) = (folder(), repository::root().join(SOURCES));
    println!("building {SOURCES} in {}", folder.display());
    let mut go = Command::new("go");
    go.args(["build", "-buildvcs=false", "-o"]).arg(program()).current_dir(&sources);
    let made = fs::create_dir_all(&folder).is_ok() && repository::succeeds(&mut go);
    for name in FILES {
        // Copied last, so that what was not built does not count. `is_there` notices a failed copy.
        let _ = match made {
            true => fs::copy(sources.join(name), folder.join(name)).map(drop),
            false => fs::remove_file(folder.join(name)),
        };
    }
}

/// Returns the folder in which tests search for the program.
fn folder() -> PathBuf {
    repository::target().join("grafana")
}

fn program() -> PathBuf {
    folder().join("dashboard")
}
