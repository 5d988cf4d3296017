//! Lets the tests do what the program does: offer Lua's functions to C modules.

fn main() {
    println!("cargo::rustc-link-arg-tests=-rdynamic");
    println!("cargo::rerun-if-changed=build.rs");
}
