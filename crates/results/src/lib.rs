//! The results directory: a versioned contract between the programs that measure and those that
//! read.
//!
//! Only the types here are serializable. A value that was not measured is absent, never zero. This
//! crate does not know how a figure is measured or shown.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod answer;
pub mod at_load;
mod bounds;
pub mod comparison;
pub mod components;
pub mod digest;
pub mod directory;
pub mod doctor;
pub mod environment;
pub mod events;
pub mod evidence;
pub mod explanation;
pub mod failing;
pub mod failure;
pub mod foreign;
pub mod found;
pub mod frames;
pub mod joined;
pub mod journal;
pub mod lines;
pub mod little;
pub mod load;
pub mod manifest;
pub mod merge;
pub mod metric;
pub mod names;
pub mod notes;
pub mod printed;
pub mod regular;
pub mod removal;
pub mod repetitions;
pub mod reproducibility;
pub mod said;
pub mod scaling;
pub mod secrets;
pub mod self_test;
pub mod sessions;
pub mod shell;
pub mod slo;
pub mod speed;
pub mod times;
pub mod transport;
pub mod trust;
pub mod verdict;

mod version1;

pub use answer::Answer;
pub use at_load::{AtLoad, Conclusion};
pub use comparison::Comparison;
pub use components::Components;
pub use directory::Directory;
pub use doctor::Doctor;
pub use environment::Environment;
pub use events::Events;
pub use foreign::Foreign;
pub use found::Found;
pub use joined::Joined;
pub use journal::Entry;
pub use little::Little;
pub use load::Load;
pub use manifest::Manifest;
pub use metric::Metric;
pub use printed::Printed;
pub use reproducibility::Reproduced;
pub use said::Tick;
pub use scaling::Scaling;
pub use secrets::Secrets;
pub use self_test::SelfTest;
pub use slo::Slo;
pub use times::Times;
