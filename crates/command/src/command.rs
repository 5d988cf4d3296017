//! One module for each command.

pub(crate) mod analyse;
pub(crate) mod app;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod join;
pub(crate) mod load;
pub(crate) mod manual;
pub(crate) mod merge;
pub(crate) mod receive;
pub(crate) mod reference;
pub(crate) mod report;
pub(crate) mod reproducibility;
pub(crate) mod run;
pub(crate) mod self_test;
pub(crate) mod wrk;
