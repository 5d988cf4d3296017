//! The container image: both programs, linked statically, in one archive of the OCI image layout.
//!
//! It has a single layer without a shell or a library, runs as a user without rights on a read-only
//! root, and is made without a daemon. The same programs give the same bytes, and so the same digest.
//! The format is that of the OCI image specification 1.1.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::programs::Build;
use crate::{repository, tools};

#[cfg(test)]
mod tests;

pub(crate) const USAGE: &str = "\
cargo xtask image [--profile PROFILE] [--name NAME:TAG] [--out FILE]

Builds the container image of both programs as an OCI archive, without a daemon:
statically linked, no shell, user 65532. It prints the image's digest.

  --profile  the profile of the programs (release); `tests` builds quicker, and is 10 % slower
  --name     the name in the archive (local/benchwright:VERSION)
  --out      the archive (target/image/benchwright.tar)
";

const TARGET: &str = "x86_64-unknown-linux-musl";
const NOT_BUILT: &str = "the programs could not be built";
pub(crate) const PROGRAMS: [&str; 2] = ["benchwright", "benchwright-apps"];
/// A user without a name and without rights, as other images without a shell have it.
const USER: u64 = 65532;

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The options of the task.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Options {
    profile: String,
    name: String,
    out: PathBuf,
}

impl Options {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn out(&self) -> &Path {
        &self.out
    }

    /// Reads the words after `image`; `None` if they are wrong.
    pub(crate) fn read(words: &[&str]) -> Option<Options> {
        let mut options = Options {
            profile: "release".to_owned(),
            name: format!("local/benchwright:{}", env!("CARGO_PKG_VERSION")),
            out: repository::target().join("image/benchwright.tar"),
        };
        for pair in words.chunks(2) {
            match *pair {
                ["--profile", profile] => options.profile = profile.to_owned(),
                ["--name", name] if name.contains(':') => options.name = name.to_owned(),
                ["--out", out] => options.out = PathBuf::from(out),
                _ => return None,
            }
        }
        Some(options)
    }
}

/// Builds the image; returns true if that succeeded.
pub(crate) fn run(options: &Options) -> bool {
    match made(options) {
        Ok(digest) => {
            println!("{}", options.out.display());
            println!("{} {digest}", options.name);
            true
        }
        Err(why) => {
            eprintln!("error: {why}");
            false
        }
    }
}

/// Builds the programs and writes the archive. Returns the image's digest.
pub(crate) fn made(options: &Options) -> Result<String, String> {
    build(&options.profile)?;
    made_of(options, &folder(&options.profile))
}

/// Writes the archive of the programs in a folder, which must be linked statically. Returns the image's digest.
pub(crate) fn made_of(options: &Options, folder: &Path) -> Result<String, String> {
    let read_static = |name: &str| {
        let path = folder.join(name);
        let bytes = read(&path)?;
        match needs_a_loader(&bytes) {
            true => Err(format!("{} is not linked statically", path.display())),
            false => Ok((name.to_owned(), bytes)),
        }
    };
    let programs = PROGRAMS.into_iter().map(read_static).collect::<Result<Vec<_>, _>>()?;
    archived(options, &programs)
}

/// Writes an archive of the programs that the tests use, with the libraries of this machine that they name: for
/// checks that look for faults, which do not have to wait for a second build. Returns the image's digest.
pub(crate) fn made_of_tests(options: &Options) -> Result<String, String> {
    if !Build::Tests.make() {
        return Err(NOT_BUILT.to_owned());
    }
    let mut files = BTreeMap::new();
    for name in PROGRAMS {
        let program = Build::Tests.program(name)?;
        let listed = Command::new("ldd").arg(&program).output();
        let listed = listed.map_err(|error| format!("starting ldd: {error}"))?;
        for library in libraries(&String::from_utf8_lossy(&listed.stdout)) {
            files.insert(library.trim_start_matches('/').to_owned(), read(Path::new(library))?);
        }
        files.insert(name.to_owned(), read(&program)?);
    }
    archived(options, &files.into_iter().collect::<Vec<_>>())
}

/// Returns the paths in the output of `ldd`: `libm.so.6 => /lib/libm.so.6 (0x7f)`, and the loader's without an arrow.
pub(crate) fn libraries(listed: &str) -> impl Iterator<Item = &str> {
    listed.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')))
}

fn archived(options: &Options, files: &[(String, Vec<u8>)]) -> Result<String, String> {
    let image = Image::of(files).map_err(|error| format!("making the layer: {error}"))?;
    let archive = image.archive(&options.name).map_err(|error| format!("the archive: {error}"))?;
    write(&options.out, &archive).map_err(|e| format!("{}: {e}", options.out.display()))?;
    Ok(digest(&image.manifest))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the folder of the programs that are linked statically.
pub(crate) fn folder(profile: &str) -> PathBuf {
    repository::target().join(TARGET).join(profile)
}

/// Builds both programs for a C library that can be linked statically.
pub(crate) fn build(profile: &str) -> Result<(), String> {
    tools::install_packages(&["musl-tools"]);
    if !repository::succeeds(Command::new("rustup").args(["target", "add", TARGET])) {
        return Err(format!("the compiler's target {TARGET} cannot be installed with rustup"));
    }
    let mut cargo = repository::cargo();
    cargo.args(["build", "--locked", "--profile", profile, "--target", TARGET]);
    // The C compiler of the packages that are written in C.
    cargo.env("CC_x86_64_unknown_linux_musl", "musl-gcc");
    // LuaJIT's build also links its own program, which nobody runs: the distribution's unwinder in it
    // wants a function of glibc. Our programs have Rust's unwinder.
    cargo.env("CFLAGS_x86_64_unknown_linux_musl", "-Wl,--defsym=_dl_find_object=0");
    match repository::succeeds(&mut cargo) {
        true => Ok(()),
        false => Err(NOT_BUILT.to_owned()),
    }
}

/// Returns true if a program names a loader, which the image does not have: its ELF file has a segment
/// of type `PT_INTERP` (System V ABI, Program Loading).
pub(crate) fn needs_a_loader(program: &[u8]) -> bool {
    const INTERPRETER: u32 = 3;
    let number = |at: usize, length: usize| {
        let bytes = program.get(at..at + length)?;
        Some(bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let segments = || {
        let (first, length, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        Some((0..count).map(move |index| (first + index * length) as usize))
    };
    let is_interpreter = |at: usize| number(at, 4) == Some(u64::from(INTERPRETER));
    // A file that is not a program fails when it is started.
    segments().is_some_and(|mut segments| segments.any(is_interpreter))
}

/// The parts of an image.
#[derive(Debug, Eq, PartialEq)]
struct Image {
    layer: Vec<u8>,
    config: Vec<u8>,
    manifest: Vec<u8>,
}

impl Image {
    fn of(files: &[(String, Vec<u8>)]) -> io::Result<Image> {
        let layer = layer(files)?;
        let config = bytes(&json!({
            "architecture": "amd64",
            "os": "linux",
            "config": {
                "User": format!("{USER}:{USER}"),
                "Env": ["PATH=/"],
                "Entrypoint": ["/benchwright"],
                "WorkingDir": "/tmp",
                "Labels": {"org.opencontainers.image.title": "benchwright"},
            },
            "rootfs": {"type": "layers", "diff_ids": [digest(&layer)]},
        }));
        let manifest = bytes(&json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(CONFIG, &config),
            "layers": [descriptor(LAYER, &layer)],
        }));
        Ok(Image { layer, config, manifest })
    }

    /// Returns the image in a folder of the OCI image layout, as a tar archive.
    fn archive(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut manifest = descriptor(MANIFEST, &self.manifest);
        // containerd reads the first, other tools the second.
        manifest["annotations"] = json!({
            "io.containerd.image.name": canonical(name),
            "org.opencontainers.image.ref.name": name,
        });
        let index = bytes(&json!({"schemaVersion": 2, "manifests": [manifest]}));
        let mut tar = tar::Builder::new(Vec::new());
        add(&mut tar, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#, 0o644)?;
        add(&mut tar, "index.json", &index, 0o644)?;
        for blob in [&self.manifest, &self.config, &self.layer] {
            let path = format!("blobs/{}", digest(blob).replace(':', "/"));
            add(&mut tar, &path, blob, 0o644)?;
        }
        tar.into_inner()
    }
}

/// Returns the layer: the programs, and a folder for temporary files.
fn layer(files: &[(String, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut folder = header(0, 0o1777);
    folder.set_entry_type(tar::EntryType::Directory);
    tar.append_data(&mut folder, "tmp/", io::empty())?;
    for (path, bytes) in files {
        add(&mut tar, path, bytes, 0o755)?;
    }
    tar.into_inner()
}

fn add(tar: &mut tar::Builder<Vec<u8>>, path: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
    tar.append_data(&mut header(bytes.len(), mode), path, bytes)
}

/// Returns a header without anything that differs between two builds.
fn header(size: usize, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_size(size as u64);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

fn descriptor(media_type: &str, blob: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": digest(blob), "size": blob.len()})
}

fn digest(blob: &[u8]) -> String {
    let hex: String = Sha256::digest(blob).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn bytes(document: &Value) -> Vec<u8> {
    document.to_string().into_bytes()
}

/// Returns a name with its registry: `local/x:1` is `docker.io/local/x:1`.
fn canonical(name: &str) -> String {
    let first = name.split('/').next().unwrap_or_default();
    match name.contains('/') {
        true if first.contains(['.', ':']) || first == "localhost" => name.to_owned(),
        true => format!("docker.io/{name}"),
        false => format!("docker.io/library/{name}"),
    }
}

fn write(path: &Path, archive: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
    let partial = path.with_extension("partial");
    fs::write(&partial, archive)?;
    fs::rename(partial, path)
}
