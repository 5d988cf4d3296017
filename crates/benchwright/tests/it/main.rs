//! Tests of the built binaries on loopback, as a user runs them.

#[path = "../../../wrk/tests/it/expressions.rs"]
mod expressions;
mod peer;
mod support;
#[path = "../../../load/src/driver/tls/tests/peer.rs"]
mod tls_peer;

mod answers;
mod arrivals;
mod capacity;
mod dashboard;
mod doctor;
mod editor;
mod errors;
mod events;
mod experiment;
mod failing;
mod foreign;
mod format;
mod gates;
mod generators;
mod hotel;
mod init;
mod kv;
mod kv_kill;
mod limits;
mod load;
mod many;
mod monitor;
mod network;
mod originals;
mod page;
mod parts;
mod programs;
mod prometheus;
mod reach;
mod receive;
mod replicas;
mod requests;
mod results;
mod scripts;
mod secrets;
mod signals;
mod social;
mod terminal;
mod tls;
mod twice;
mod unread;
mod users;
mod ycsb_bench;
mod ycsb_servers;
