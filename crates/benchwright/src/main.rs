//! The program `benchwright`; its code is the crate `command`, which is optimized apart from it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    command::main()
}
