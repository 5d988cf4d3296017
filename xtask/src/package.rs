//! The packages of both programs: for Debian, as an archive for any Linux, and as an image for clusters.
//!
//! All have the same files. The programs are linked statically, so a package depends on nothing; programs that were
//! built already may be packed instead, and then the package for Debian names the libraries that they need.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::image::{self, PROGRAMS};
use crate::repository;

mod trial;

#[cfg(test)]
mod tests;

pub(crate) const USAGE: &str = "\
cargo xtask package [--programs FOLDER] [--out FOLDER]
cargo xtask package try [--out FOLDER]

Makes the packages of both programs: a .deb, an archive, and the container image.

  --programs  pack the programs of this folder, for example target/release (otherwise they are built
              and linked statically, which takes as long as the users' build)
  --out       the folder of the packages (target/package)

`try` installs them into folders that have nothing else, and runs experiments there; as root.
";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A machine for which programs are built, in the words of Debian and of the compiler.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Machine {
    debian: &'static str,
    name: &'static str,
}

/// The libraries outside of the programs.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Needs {
    /// They are linked statically.
    Nothing,
    /// The dependencies of a package for Debian.
    Packages(String),
}

/// The options of the task.
#[derive(Debug, Eq, PartialEq)]
struct Options {
    programs: Option<PathBuf>,
    out: PathBuf,
}

impl Options {
    /// Reads the words after the task's; `None` if they are wrong.
    fn read(words: &[&str]) -> Option<Options> {
        let mut options = Options { programs: None, out: repository::target().join("package") };
        for pair in words.chunks(2) {
            match *pair {
                ["--programs", folder] => {
                    options.programs = Some(repository::root().join(folder));
                }
                ["--out", folder] => options.out = repository::root().join(folder),
                _ => return None,
            }
        }
        Some(options)
    }
}

/// Runs the task; `None` if its words are wrong.
pub(crate) fn run(words: &[&str]) -> Option<bool> {
    let done = match *words {
        ["try", ref rest @ ..] => {
            let options = Options::read(rest).filter(|options| options.programs.is_none())?;
            trial::tried(&options.out)
        }
        _ => made(&Options::read(words)?),
    };
    if let Err(why) = &done {
        eprintln!("error: {why}");
    }
    Some(done.is_ok())
}

fn made(options: &Options) -> Result<(), String> {
    let folder = match &options.programs {
        Some(folder) => folder.clone(),
        None => {
            image::build("release")?;
            image::folder("release")
        }
    };
    let (machine, needs) = examined(&folder)?;
    let temporary = TempDir::new().map_err(|error| format!("making a folder: {error}"))?;
    let files = temporary.path().join(format!("benchwright-{VERSION}"));
    stage(&folder, &files).map_err(|why| format!("the files of the package: {why}"))?;
    fs::create_dir_all(&options.out).map_err(|e| format!("{}: {e}", options.out.display()))?;

    let kind = if needs == Needs::Nothing { "static" } else { "gnu" };
    let name = format!("benchwright-{VERSION}-{}-linux-{kind}.tar.gz", machine.name);
    archive(&files, &options.out.join(name))?;
    let name = format!("benchwright_{VERSION}_{}.deb", machine.debian);
    deb(&files, machine, &needs, &options.out.join(name))?;
    if needs != Needs::Nothing {
        println!("no image: it would lack the C library that these programs need");
        return Ok(());
    }
    let path = options.out.join(format!("benchwright-{VERSION}-image.tar"));
    let words = ["--out", &path.display().to_string()];
    let of_image = image::Options::read(&words).expect("these are the words of the image");
    let digest = image::made_of(&of_image, &folder)?;
    println!("{}  {digest}", path.display());
    Ok(())
}

/// Returns the machine of the programs in a folder, and what they need.
fn examined(folder: &Path) -> Result<(Machine, Needs), String> {
    let (mut machine, mut needs) = (None, Needs::Nothing);
    let mut newest = None;
    for name in PROGRAMS {
        let path = folder.join(name);
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        machine =
            Some(self::machine(&bytes).ok_or_else(|| {
                format!("{} is not a program for x86-64 or aarch64", path.display())
            })?);
        if image::needs_a_loader(&bytes) {
            newest = newest.max(glibc(&bytes));
            needs = Needs::Packages(String::new());
            let listed = Command::new("ldd").arg(&path).output();
            let listed = listed.map_err(|error| format!("starting ldd: {error}"))?;
            known(&String::from_utf8_lossy(&listed.stdout))?;
        }
    }
    if needs != Needs::Nothing {
        needs = Needs::Packages(dependencies(newest));
    }
    Ok((machine.expect("there are programs"), needs))
}

/// Returns the machine of an ELF file (System V ABI, `e_machine`).
fn machine(program: &[u8]) -> Option<Machine> {
    let number = program.starts_with(b"\x7fELF").then(|| program.get(18..20)).flatten()?;
    match number {
        [62, 0] => Some(Machine { debian: "amd64", name: "x86_64" }),
        [183, 0] => Some(Machine { debian: "arm64", name: "aarch64" }),
        _ => None,
    }
}

/// Returns the newest version of the C library of which a program names a symbol: `GLIBC_2.34`.
fn glibc(program: &[u8]) -> Option<u32> {
    const NAME: &[u8] = b"GLIBC_2.";
    let mut newest = None;
    for (at, _) in program.windows(NAME.len()).enumerate().filter(|(_, window)| *window == NAME) {
        let rest = &program[at + NAME.len()..];
        let digits = rest.iter().take(4).take_while(|byte| byte.is_ascii_digit());
        let minor = digits.fold(0, |number, byte| number * 10 + u32::from(byte - b'0'));
        newest = newest.max(Some(minor));
    }
    newest
}

/// Checks that all libraries in the output of `ldd` are in the packages that we depend on.
fn known(listed: &str) -> Result<(), String> {
    const KNOWN: [&str; 5] = ["libc.so", "libm.so", "libgcc_s.so", "ld-linux-", "libpthread.so"];
    for library in image::libraries(listed) {
        let name = library.rsplit('/').next().unwrap_or_default();
        if !KNOWN.iter().any(|known| name.starts_with(known)) {
            return Err(format!(
                "the programs are linked with {name}, and the package with it is unknown: add it to xtask/src/package.rs"
            ));
        }
    }
    Ok(())
}

fn dependencies(glibc: Option<u32>) -> String {
    let version = glibc.map_or(String::new(), |minor| format!(" (>= 2.{minor})"));
    format!("libc6{version}, libgcc-s1")
}

/// Writes all files of a package as they are below `/usr`.
fn stage(programs: &Path, files: &Path) -> Result<(), String> {
    let root = repository::root();
    let folder = |name: &str| {
        let path = files.join(name);
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<PathBuf, String>(path)
    };
    let bin = folder("bin")?;
    for name in PROGRAMS {
        succeeds(Command::new("cp").arg(programs.join(name)).arg(&bin))?;
    }
    // The specs name charts by their way from here.
    let shared = folder("share/benchwright")?;
    for name in ["experiments", "deploy"] {
        // Charts share a folder by a link.
        succeeds(Command::new("cp").arg("-rL").arg(root.join(name)).arg(&shared))?;
    }
    let documents = folder("share/doc/benchwright")?;
    for (from, to) in [("LICENSE", "copyright"), ("README.md", ""), ("CHANGELOG.md", "")] {
        let name = if to.is_empty() { from } else { to };
        succeeds(Command::new("cp").arg(root.join(from)).arg(documents.join(name)))?;
    }
    let program = bin.join("benchwright");
    let mut manual = Command::new(&program);
    manual.arg("man").arg(folder("share/man/man1")?);
    succeeds(manual.stdout(Stdio::null()))?;
    let completions = Command::new(&program).args(["completions", "bash"]).output();
    let completions = completions.map_err(|e| format!("{}: {e}", program.display()))?.stdout;
    let path = folder("share/bash-completion/completions")?.join("benchwright");
    fs::write(&path, completions).map_err(|error| format!("{}: {error}", path.display()))?;
    // Whatever the mask of the user who builds.
    succeeds(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(files))
}

/// Writes the archive. The same files give the same bytes.
fn archive(files: &Path, out: &Path) -> Result<(), String> {
    let name = files.file_name().expect("it has a name");
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--no-xattrs"]);
    tar.arg(format!("--mtime=@{}", epoch()));
    tar.arg("-C").arg(files.parent().expect("it is in a folder"));
    written(tar.arg("-czf").arg(out).arg(name), out)
}

/// Writes the package for Debian. Its files are moved out of `files`.
fn deb(files: &Path, machine: Machine, needs: &Needs, out: &Path) -> Result<(), String> {
    let root = files.with_file_name("deb");
    let moved = || -> io::Result<()> {
        fs::create_dir_all(root.join("DEBIAN"))?;
        fs::rename(files, root.join("usr"))
    };
    moved().map_err(|error| format!("{}: {error}", root.display()))?;
    let kib = kib(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    let control = root.join("DEBIAN/control");
    fs::write(&control, self::control(machine, needs, kib))
        .map_err(|error| format!("{}: {error}", control.display()))?;
    let mut deb = Command::new("dpkg-deb");
    deb.args(["--root-owner-group", "-Zxz", "--build"]).arg(root).arg(out);
    written(deb.env("SOURCE_DATE_EPOCH", epoch()), out)
}

fn control(machine: Machine, needs: &Needs, kib: u64) -> String {
    let depends = match needs {
        Needs::Nothing => String::new(),
        Needs::Packages(packages) => format!("Depends: {packages}\n"),
    };
    format!(
        "Package: benchwright\n\
         Version: {VERSION}\n\
         Architecture: {}\n\
         Maintainer: The authors of Benchwright <benchwright@localhost>\n\
         Section: net\n\
         Priority: optional\n\
         Installed-Size: {kib}\n\
         {depends}Recommends: ca-certificates\n\
         Description: reproducible measurements of networked services\n \
         An experiment is one file: the system to deploy, the requests to send, how the\n \
         load grows, and when the search ends. One command deploys, loads, judges and\n \
         reports, and reports no number that it cannot vouch for.\n",
        machine.debian,
    )
}

/// Returns the size of all files below a folder.
fn kib(folder: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sum += match entry.file_type()?.is_dir() {
            true => kib(&entry.path())?,
            false => entry.metadata()?.len().div_ceil(1024),
        };
    }
    Ok(sum)
}

/// Returns the time of the last commit, in seconds since 1970: that of all files in a package.
fn epoch() -> String {
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%ct"]).current_dir(repository::root());
    let seconds = repository::first_line(&mut git);
    if seconds.parse::<u64>().is_ok() { seconds } else { "0".to_owned() }
}

fn written(command: &mut Command, out: &Path) -> Result<(), String> {
    // Programs that pack say much that nobody reads.
    succeeds(command.stdout(Stdio::null()))?;
    let bytes = fs::metadata(out).map_err(|error| format!("{}: {error}", out.display()))?.len();
    println!("{}  {:.1} MB", out.display(), bytes as f64 / 1e6);
    Ok(())
}

fn succeeds(command: &mut Command) -> Result<(), String> {
    match repository::succeeds(command) {
        true => Ok(()),
        false => Err(format!("{} failed", command.get_program().display())),
    }
}
