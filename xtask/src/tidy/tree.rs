//! The files of the repository, read once, without those that `.gitignore` names at the root.

use std::fs;
use std::io;
use std::path::Path;

/// The size of the largest allowed file; larger ones are findings, and are not read.
pub(super) const LARGEST: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct Tree {
    files: Vec<File>,
    /// Names in the root folder that builds and runs leave behind, such as `target`.
    ignored: Vec<String>,
}

#[derive(Debug)]
pub(super) struct File {
    /// The path from the workspace's folder, with `/` between names.
    pub(super) path: String,
    pub(super) bytes: u64,
    /// The content; empty if the file is not text.
    pub(super) text: String,
}

impl Tree {
    pub(super) fn read(root: &Path) -> io::Result<Tree> {
        let gitignore = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let mut tree = Tree { files: Vec::new(), ignored: ignored(&gitignore) };
        tree.read_folder(root, "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// Makes a tree of paths and texts, for tests.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Tree {
        let file = |&(path, text): &(&str, &str)| File {
            path: path.to_owned(),
            bytes: text.len() as u64,
            text: text.to_owned(),
        };
        Tree { files: files.iter().map(file).collect(), ignored: vec!["target".to_owned()] }
    }

    pub(super) fn files(&self) -> &[File] {
        &self.files
    }

    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns true if `path` is a file, or a folder with files, in this tree.
    pub(super) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let inside = |file: &File| file.path.strip_prefix(path).is_some_and(|r| r.starts_with('/'));
        self.files.iter().any(|file| file.path == path || inside(file))
    }

    /// Returns true if `path` begins with a name that only a build or a run creates.
    pub(super) fn ignores(&self, path: &str) -> bool {
        path.split('/').next().is_some_and(|first| self.ignored.iter().any(|name| name == first))
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type()?;
            if path == ".git" || self.ignores(&path) {
                continue;
            } else if kind.is_dir() {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() {
                self.files.push(File::read(&entry.path(), path)?);
            }
        }
        Ok(())
    }
}

impl File {
    fn read(place: &Path, path: String) -> io::Result<File> {
        let bytes = fs::metadata(place)?.len();
        let content = if bytes <= LARGEST { fs::read(place)? } else { Vec::new() };
        Ok(File { path, bytes, text: String::from_utf8(content).unwrap_or_default() })
    }

    /// Returns the lines with their indices from zero.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate()
    }
}

/// Returns the entries of the root folder that a `.gitignore` names with a leading `/`.
fn ignored(gitignore: &str) -> Vec<String> {
    gitignore.lines().filter_map(|line| line.strip_prefix('/')).map(str::to_owned).collect()
}
