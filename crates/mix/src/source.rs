//! The source from which a mix is read.

use std::io;
use std::sync::Arc;

use crate::data::Data;

/// The inputs of a mix.
#[derive(Clone)]
pub struct Source<'a> {
    /// The file name in error messages.
    pub file: &'a str,
    pub text: &'a str,
    pub data: Option<Arc<Data>>,
    /// The header fields of all requests, including `Host`, as they are sent. A request's own
    /// fields replace those of the same name.
    pub fields: &'a [(String, String)],
    /// Reads the file named by `body_file`; relative paths start from the mix's folder.
    pub body_file: &'a dyn Fn(&str) -> io::Result<Vec<u8>>,
}
