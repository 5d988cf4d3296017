//! The built binary, asked over loopback as its users ask it.

mod hotel;
mod instance;
