//! Experiments on a Kubernetes cluster: the backend that runs services and load as pods.
//!
//! What the lab asks for becomes API objects by pure functions (`objects`), what the cluster says of
//! them is judged by pure functions (`pods`), and everything that talks to the cluster goes through
//! `api`. Scheduling, images, restarts and addresses are Kubernetes' own.
#![forbid(unsafe_code)]

pub mod api;
pub mod backend;
mod changes;
mod clock;
pub mod doctor;
mod endpoints;
mod events;
mod helm;
pub mod lease;
pub mod load;
mod manifest;
mod metrics;
mod nodes;
pub mod objects;
pub mod paths;
pub mod plan;
pub mod pods;
mod quantity;
#[cfg(test)]
mod rights;
mod watch;

pub use backend::Kubernetes;
