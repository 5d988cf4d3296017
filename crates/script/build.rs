//! Lets the tests export Lua's functions to C modules, as the program does.

fn main() {
    println!("cargo::rustc-link-arg-tests=-rdynamic");
    println!("cargo::rerun-if-changed=build.rs");
}
