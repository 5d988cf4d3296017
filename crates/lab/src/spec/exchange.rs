//! One request and its expected response, as smoke tests and resets state it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One request and its expected response.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenExchange", into = "WrittenExchange")]
pub struct Exchange {
    pub method: Method,
    pub target: String,
    pub status: u16,
    /// A part of the expected body.
    pub body: Option<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Method {
    Get,
    Post,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Get => "GET",
            Method::Post => "POST",
        })
    }
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenExchange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    get: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    post: Option<String>,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

fn ok() -> u16 {
    200
}

impl TryFrom<WrittenExchange> for Exchange {
    type Error = &'static str;
    fn try_from(written: WrittenExchange) -> Result<Exchange, &'static str> {
        let WrittenExchange { get, post, status, body } = written;
        let (method, target) = match (get, post) {
            (Some(target), None) => (Method::Get, target),
            (None, Some(target)) => (Method::Post, target),
            _ => return Err("a request is either `get: /path` or `post: /path`"),
        };
        Ok(Exchange { method, target, status, body })
    }
}

impl From<Exchange> for WrittenExchange {
    fn from(exchange: Exchange) -> WrittenExchange {
        let Exchange { method, target, status, body } = exchange;
        let (get, post) = match method {
            Method::Get => (Some(target), None),
            Method::Post => (None, Some(target)),
        };
        WrittenExchange { get, post, status, body }
    }
}
