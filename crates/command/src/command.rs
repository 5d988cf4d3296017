//! One module for each command.

pub(crate) mod analyse;
pub(crate) mod app;
pub(crate) mod capacity;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod files;
pub(crate) mod init;
mod interrupts;
pub(crate) mod kv;
pub(crate) mod list;
pub(crate) mod manual;
pub(crate) mod open;
pub(crate) mod report;
pub(crate) mod reproducibility;
pub(crate) mod run;
mod unread;
pub(crate) mod ycsb;
