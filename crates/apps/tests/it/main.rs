//! The built binary, asked over loopback as its users ask it.

mod failures;
mod foreign;
mod hostile;
mod hotel;
mod stores;

mod application;
mod attacks;
mod grpc;
mod instance;
mod services;
mod tools;
