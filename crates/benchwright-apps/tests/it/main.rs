//! Tests of the built binary over loopback, as its users call it.

mod balancer;
mod brokers;
mod channel;
mod channel_log;
mod documents;
mod failures;
mod foreign;
mod hostile;
mod hostile_channel;
mod hostile_social;
mod hostile_users;
mod hotel;
mod initialiser;
mod neighbour;
mod pages;
mod social;
mod stores;
mod timelines;
mod users;

mod application;
mod attacks;
mod broker;
mod browser;
mod grpc;
mod instance;
mod network;
mod raw;
mod services;
mod sink;
mod tools;
