//! A balancer for HTTP/1.1, as Kubernetes' Service with an ingress in front: it passes each request
//! to the next ready replica, answers 503 while none is ready, and probes all of them as a kubelet
//! does.
//!
//! Requests and responses are passed on whole, within bounds. Nothing is sent twice: another replica
//! gets a request only if nothing of it was sent to the one before.

pub mod command;

pub mod backend;
pub mod probe;
pub mod proxy;
pub mod readiness;

pub mod metrics;

/// A process of this application.
pub type Process = crate::kit::process::Process<metrics::Metrics>;
