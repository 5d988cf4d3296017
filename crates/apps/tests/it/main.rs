//! The built binary, asked over loopback as its users ask it.

mod foreign;
mod hotel;
mod stores;

mod application;
mod instance;
mod tools;
