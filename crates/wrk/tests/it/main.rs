//! Checks that a parser of the originals' output reads ours: one set of expressions for both.

mod expressions;
mod golden;
mod original;
mod server;
