//! The token of the servers of a key-value store: its file, and what to do if a server refuses it.

use std::path::Path;

use load::driver::kv::WANTS_TOKEN;
use results::regular;
use wire::kv::{Code, Token};

/// The longest token.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a token, without the line break at its end. `option` is what names the file.
pub fn read(option: &str, path: &Path) -> Result<Token, String> {
    let refuse = |why: String| format!("{option} {}: {why}", regular::shown(path));
    let read = regular::read_input(path, MOST_BYTES);
    let mut token = read.map_err(|error| refuse(error.to_string()))?;
    while token.last().is_some_and(|byte| b"\r\n".contains(byte)) {
        token.pop();
    }
    if token.is_empty() {
        return Err(refuse("the file is empty; write the token into it".to_owned()));
    }
    Ok(Token::new(&token))
}

/// Returns the sentence for a connection that is not ready because of the token; `option` names its file.
pub fn refusal(why: &str, option: &str) -> Option<String> {
    match why {
        WANTS_TOKEN => Some(format!("it wants a token; give it with {option}")),
        _ if why == Code::Denied.as_str() => {
            Some(format!("it has another token; write the server's into the file of {option}"))
        }
        _ => None,
    }
}
