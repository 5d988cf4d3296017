//! Tests of the built binary over loopback, as its users call it.

mod balancer;
mod channel;
mod failures;
mod foreign;
mod hostile;
mod hotel;
mod social;
mod stores;
mod users;

mod application;
mod attacks;
mod grpc;
mod instance;
mod network;
mod services;
mod sink;
mod tools;
