//! The built binary, asked over loopback as its users ask it.

mod hotel;
mod stores;

mod application;
mod instance;
mod tools;
