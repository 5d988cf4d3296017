//! The social network of guide 2.

pub mod command;
pub mod init;
