//! The key-value store under tools that try what a run seldom meets: a model checker, which chooses the
//! interleaving of threads, and miri, which watches the memory.

use crate::repository;

pub(crate) const USAGE: &str = "\
cargo xtask models [--interleavings 1000]
cargo xtask models miri

The first runs the models of crates/kv (their names begin with `model_`) with so many interleavings each; continuous
integration does it with the default. The second runs the tests of its epoch, index, log and flush in miri, which takes
some minutes and needs `rustup component add miri --toolchain nightly`.
";

/// Runs the words after `models`; `None` if they are wrong.
pub(crate) fn run(words: &[&str]) -> Option<bool> {
    match words {
        [] => Some(interleave("1000")),
        ["--interleavings", number] if number.parse::<u32>().is_ok() => Some(interleave(number)),
        ["miri"] => Some(miri()),
        _ => None,
    }
}

/// Tries so many interleavings of each model.
pub(crate) fn interleave(number: &str) -> bool {
    let mut command = repository::cargo();
    command.args(["test", "--locked", "-p", "kv", "--lib", "model_"]);
    // Another kind of atomics, so another build.
    command.env("RUSTFLAGS", "--cfg shuttle");
    command.env("CARGO_TARGET_DIR", repository::target().join("models"));
    repository::succeeds(command.env("KV_INTERLEAVINGS", number))
}

fn miri() -> bool {
    // As other components are found: by rustup's own cargo.
    let mut command = std::process::Command::new("cargo");
    command.current_dir(repository::root());
    command.args(["+nightly", "miri", "test", "--locked", "-p", "kv", "--lib", "--"]);
    command.args(["epoch::tests", "index::tests", "log::tests", "flush::tests"]);
    // Those of whole tables with 4,096 slices take hours there.
    command.args(["--skip", "grow", "--skip", "last_slice", "--skip", "bucket_and_tag"]);
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation");
    repository::succeeds(command.env("CARGO_TARGET_DIR", repository::target().join("miri")))
}
