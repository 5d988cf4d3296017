//! The token of the servers of a key-value store, in a file.

use std::path::Path;

use results::regular;
use wire::kv::Token;

/// The longest token.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a token, without the line break at its end. `option` is what names the file.
pub fn read(option: &str, path: &Path) -> Result<Token, String> {
    let refuse = |why: String| format!("{option} {}: {why}", regular::shown(path));
    let read = regular::read_input(path, MOST_BYTES);
    let mut token = read.map_err(|error| {
        let why = regular::plain(&error);
        refuse(format!("{why}; write the token into it, or name another file"))
    })?;
    while token.last().is_some_and(|byte| b"\r\n".contains(byte)) {
        token.pop();
    }
    if token.is_empty() {
        return Err(refuse("the file is empty; write the token into it".to_owned()));
    }
    Ok(Token::new(&token))
}
