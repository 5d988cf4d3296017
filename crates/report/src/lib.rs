//! A results directory, one load, or files of load generators, as one self-contained HTML page: it needs no network, no
//! script and no colour.
//!
//! A page is a pure function of what it shows. This crate does not measure, judge or repair:
//! missing data are reported as missing, and no text of a file reaches the page unescaped.
#![forbid(unsafe_code)]

pub mod drawing;
pub mod foreign;
pub mod load;

mod run;

mod chart;
mod page;
mod plot;
mod table;
mod text;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

pub use page::{NAME, Written, compose, render, write};
