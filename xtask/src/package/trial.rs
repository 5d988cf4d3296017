//! Trying the packages where nothing else is: the archive in an empty folder, the package in a new Debian.
//!
//! What a folder needs of the kernel is mounted in a namespace that ends with the program that runs in it, so nothing
//! stays mounted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{VERSION, succeeds};
use crate::{repository, tools};

/// Experiments that use all of the programs: one on virtual time, whose answer is known, and one with a reference
/// application over loopback, which a busy machine may refuse.
const EXPERIMENTS: [(&str, &[&str], &[i32]); 2] =
    [("simulated", &["--profile", "ci"], &[0]), ("journey", &[], &[0, 1, 3])];

/// Installs what is in the folder of the packages, and runs it.
pub(super) fn tried(packages: &Path) -> Result<(), String> {
    if !tools::is_root() {
        return Err("only root can change the root folder of a program: use sudo".to_owned());
    }
    let archive = found(packages, "-linux-static.tar.gz")?;
    let deb = found(packages, ".deb")?;
    if archive.is_none() && deb.is_none() {
        let folder = packages.display();
        return Err(format!("{folder} has no package of {VERSION}: cargo xtask package"));
    }
    match archive {
        Some(archive) => in_an_empty_folder(&archive)?,
        None => println!("no static archive: others need a C library, which an empty folder lacks"),
    }
    deb.map_or(Ok(()), |deb| in_debian(&deb))
}

/// Returns the package of this version whose name ends so.
fn found(packages: &Path, end: &str) -> Result<Option<PathBuf>, String> {
    let problem = |error| format!("{}: {error}; cargo xtask package makes it", packages.display());
    for entry in fs::read_dir(packages).map_err(problem)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.contains(VERSION) && name.ends_with(end) {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

fn in_an_empty_folder(archive: &Path) -> Result<(), String> {
    let root = folder()?;
    succeeds(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(root.path()))?;
    let own = format!("/benchwright-{VERSION}");
    runs(root.path(), &format!("{own}/bin"), &format!("{own}/share/benchwright/experiments"))?;
    println!("{}: works in an empty folder", archive.display());
    Ok(())
}

fn in_debian(deb: &Path) -> Result<(), String> {
    if !tools::has_program("debootstrap") {
        tools::apt_get(&["debootstrap"]);
    }
    let root = folder()?;
    let (suite, mirror) = (suite()?, mirror());
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.args(["--variant=minbase", &suite]).arg(root.path()).args(&mirror);
    succeeds(debootstrap.stdout(std::process::Stdio::null()))?;
    let copied = root.path().join("tmp/benchwright.deb");
    fs::copy(deb, &copied).map_err(|error| format!("{}: {error}", deb.display()))?;
    ends(root.path(), &["/usr/bin/dpkg", "-i", "/tmp/benchwright.deb"], &[0])?;
    runs(root.path(), "/usr/bin", "/usr/share/benchwright/experiments")?;
    ends(root.path(), &["/usr/bin/dpkg", "--purge", "benchwright"], &[0])?;
    match root.path().join("usr/bin/benchwright").exists() {
        true => Err("the package was purged, and its program is still there".to_owned()),
        false => {
            println!("{}: works in Debian {suite} with its base only", deb.display());
            Ok(())
        }
    }
}

/// Runs the programs in a folder.
fn runs(root: &Path, bin: &str, experiments: &str) -> Result<(), String> {
    let program = format!("{bin}/benchwright");
    ends(root, &[&program, "--version"], &[0])?;
    for (name, more, codes) in EXPERIMENTS {
        let (spec, out) = (format!("{experiments}/{name}.yaml"), format!("/tmp/{name}"));
        let words = [&[&program[..], "run", &spec, "--out", &out], more].concat();
        ends(root, &words, codes)?;
        let report = root.join(format!("tmp/{name}/report.html"));
        if !report.is_file() {
            return Err(format!("{spec} ended without a report"));
        }
    }
    Ok(())
}

/// Runs a program that has this folder as its root, and the kernel's own folders; it must end with one of the codes.
fn ends(root: &Path, words: &[&str], codes: &[i32]) -> Result<(), String> {
    const SCRIPT: &str = "root=$1; shift; cd \"$root\" && mkdir -p proc sys dev tmp && \
                          mount -t proc proc proc && mount --rbind /sys sys && mount --rbind /dev dev && \
                          exec chroot . \"$@\"";
    println!("── {}", words.join(" "));
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", SCRIPT, "sh"]);
    command.arg(root).args(words).env_clear();
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("TMPDIR", "/tmp").env("HOME", "/tmp");
    let status = command.status().map_err(|error| format!("starting unshare: {error}"))?;
    match status.code() {
        Some(code) if codes.contains(&code) => Ok(()),
        _ => Err(format!("{} ended with {status}", words.join(" "))),
    }
}

fn folder() -> Result<TempDir, String> {
    TempDir::new().map_err(|error| format!("making a folder: {error}"))
}

/// Returns the name of this machine's distribution, as its mirrors have it.
fn suite() -> Result<String, String> {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    name.map(|name| name.trim_matches('"').to_owned())
        .ok_or_else(|| "/etc/os-release does not name a Debian: try it on one".to_owned())
}

/// Returns the first mirror that apt uses, if it says so.
fn mirror() -> Option<String> {
    let mut apt = Command::new("apt-get");
    apt.args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"]);
    Some(repository::first_line(&mut apt)).filter(|mirror| mirror.starts_with("http"))
}
