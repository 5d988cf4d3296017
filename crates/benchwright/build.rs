//! Scripts may load modules written in C for Lua 5.1, which find Lua's functions in this program.

fn main() {
    println!("cargo::rustc-link-arg-bins=-rdynamic");
    println!("cargo::rerun-if-changed=build.rs");
}
