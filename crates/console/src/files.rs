//! The files that one command line names. No command writes two results into one file, a result over
//! what it reads, or over any other file that is not an earlier result of the same kind: the loss would show only
//! when the work is done.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use results::regular;

use crate::output::Failure;

#[cfg(test)]
mod tests;

/// The most links that lead from one to the next, as for the kernel.
const MOST_LINKS: usize = 40;

/// A file that the user names.
#[derive(Clone, Debug)]
pub struct Named {
    /// The option, or the name of the argument: `--json`, `FILE`.
    pub option: String,
    pub path: PathBuf,
    pub role: Role,
}

impl Named {
    pub fn read(option: impl Into<String>, path: impl Into<PathBuf>) -> Named {
        Named { option: option.into(), path: path.into(), role: Role::Read }
    }

    pub fn written(option: impl Into<String>, path: impl Into<PathBuf>, kind: Kind) -> Named {
        Named { option: option.into(), path: path.into(), role: Role::Written(kind) }
    }
}

/// The use that a command makes of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    Read,
    Written(Kind),
}

/// The kind of what is written. What is there already is known by its beginning.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A page of a report.
    Page,
    /// A page for `man`.
    Manual,
    /// A document with a schema, or lines that begin with one.
    Document,
    /// The rows of a load by time.
    Rows,
    /// A row for each request.
    Samples,
    Histograms,
    /// A line for each request of the reference server.
    Log,
    /// The result of YCSB, in one of its forms.
    Ycsb,
    /// Numbers of 8 bytes.
    Keys,
    /// The command itself sees to what is there: it keeps that, asks for a word, or only adds to it.
    Kept,
}

/// The bytes by which a file is known.
const BEGINNING: u64 = 64 << 10;

impl Kind {
    /// Returns true if a file with this beginning may be replaced.
    fn is(self, beginning: &[u8]) -> bool {
        let text = String::from_utf8_lossy(beginning);
        let dense = || text.chars().filter(|c| !c.is_ascii_whitespace()).collect::<String>();
        match self {
            Kind::Kept => true,
            _ if beginning.is_empty() => true,
            Kind::Page => {
                text.starts_with("<!doctype html>") && text.contains(" · benchwright</title>")
            }
            Kind::Manual => text.starts_with(".ie ") && text.contains("\n.TH benchwright"),
            Kind::Document => {
                text.starts_with('{') && dense().contains("\"schema\":\"benchwright.")
            }
            Kind::Rows => text.starts_with("t_s,offered,"),
            Kind::Samples => text.starts_with("intended_ns,sent_ns,"),
            Kind::Histograms => {
                ["#[Histogram log format", "#[Logging for: "].iter().any(|it| text.starts_with(it))
            }
            // The time of a request, a tab and its target.
            Kind::Log => text.split_once('\t').is_some_and(|(at, _)| {
                !at.is_empty() && at.bytes().all(|byte| byte.is_ascii_digit())
            }),
            Kind::Ycsb => {
                let forms = ["[OVERALL],RunTime(ms),", "{\"metric\":\"", "[{\"metric\":\""];
                Kind::Document.is(beginning) || forms.iter().any(|form| dense().starts_with(form))
            }
            // A text has no zeros, and the numbers of records have.
            Kind::Keys => beginning.contains(&0),
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Kind::Page => "a report of benchwright",
            Kind::Manual => "a manual page of benchwright",
            Kind::Document => "a document of benchwright",
            Kind::Rows => "a table of a load",
            Kind::Samples => "a table of samples",
            Kind::Histograms => "a log of histograms",
            Kind::Log => "a log of this server",
            Kind::Ycsb => "a result of YCSB",
            Kind::Keys => "a file of keys",
            Kind::Kept => "",
        }
    }
}

/// The identity of a file: of one that is not there yet its place, otherwise its inode as well, which
/// all of its names have.
#[derive(Eq, PartialEq)]
struct Identity {
    place: PathBuf,
    inode: Option<(u64, u64)>,
}

/// Refuses files of which one is written and is the same as another one, or replaces what is not an earlier one of
/// its kind. It is the one check for all commands, before they do anything.
pub fn check(files: &[Named]) -> Result<(), Failure> {
    let known: Vec<(&Named, Identity)> =
        files.iter().filter_map(|named| Some((named, identity(&named.path)?))).collect();
    for (at, (output, identity)) in known.iter().enumerate() {
        let Role::Written(kind) = output.role else { continue };
        let others = known
            .iter()
            .enumerate()
            .filter(|(other, (named, _))| *other < at || at < *other && named.role == Role::Read);
        for (_, (other, of_other)) in others {
            if identity.is_same(of_other) {
                return Err(Failure::question(clash(output, other)));
            }
        }
        if !is_replaceable(&output.path, kind) {
            return Err(Failure::question(format!(
                "{} {} would replace a file that is not {}; remove it, or choose another name",
                output.option,
                regular::shown(&output.path),
                kind.in_words()
            )));
        }
    }
    Ok(())
}

/// Returns true if nothing of others is lost by writing such a file there. What cannot be read is not ours.
fn is_replaceable(path: &Path, kind: Kind) -> bool {
    let holds = |found: Metadata| found.is_file() && 0 < found.len();
    if kind == Kind::Kept || !fs::metadata(path).is_ok_and(holds) {
        return true;
    }
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut beginning));
    read.is_ok() && kind.is(&beginning)
}

impl Identity {
    fn is_same(&self, other: &Identity) -> bool {
        self.place == other.place || self.inode.is_some() && self.inode == other.inode
    }
}

/// Returns the identity of a file; `None` for what keeps nothing that could be lost: a standard stream,
/// a device, a pipe.
fn identity(path: &Path) -> Option<Identity> {
    if path.as_os_str() == "-" {
        return None;
    }
    let inode = |found: Metadata| (found.dev(), found.ino());
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => None,
        found => Some(Identity { place: place(path), inode: found.ok().map(inode) }),
    }
}

/// Returns the place where a file is, or would be made: also through links that lead to nothing yet.
fn place(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(whole) = path.canonicalize() {
            return whole;
        }
        match fs::read_link(&path) {
            Ok(to) => path = regular::folder_of(&path).join(to),
            Err(_) => break,
        }
    }
    let folder = regular::folder_of(&path).canonicalize();
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

fn clash(output: &Named, other: &Named) -> String {
    let shown = |named: &Named| format!("{} {}", named.option, regular::shown(&named.path));
    let (output, of_other) = (shown(output), shown(other));
    match other.role {
        Role::Written(_) => format!("{of_other} and {output} are the same file; name two"),
        Role::Read => {
            format!("{output} would replace {of_other}, which is read; name another file")
        }
    }
}
