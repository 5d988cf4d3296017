//! A URL that events are sent to.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;
use hyper::header::HeaderValue;

use crate::kit::client::Client;

/// A URL as written on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    text: String,
    /// The host and the port to connect to.
    address: String,
    host: HeaderValue,
    path: Uri,
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a URL; write for example http://127.0.0.1:8081/");
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let authority = uri.authority().ok_or_else(wrong)?;
        if uri.scheme_str() != Some("http") || authority.as_str().contains('@') {
            return Err(wrong());
        }
        let port = match authority.as_str().strip_prefix(authority.host()).ok_or_else(wrong)? {
            "" => 80,
            port => port[1..].parse::<u16>().map_err(|_| wrong())?,
        };
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| wrong())?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Url {
            text: text.to_owned(),
            address: format!("{}:{port}", authority.host()),
            host,
            path: path.parse().map_err(|_| wrong())?,
        })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A URL with the connections to its server.
pub struct Target {
    pub url: Url,
    pub client: Client,
}

impl Target {
    pub fn new(url: &Url) -> Self {
        Target { url: url.clone(), client: Client::new(&url.address) }
    }

    pub fn host(&self) -> &HeaderValue {
        &self.url.host
    }

    pub fn path(&self) -> &Uri {
        &self.url.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_an_address_a_host_and_a_path() {
        let url: Url = "http://127.0.0.1:8081/in?x=1".parse().unwrap();
        assert_eq!(
            (&*url.address, url.host.to_str().unwrap()),
            ("127.0.0.1:8081", "127.0.0.1:8081")
        );
        assert_eq!(url.path.to_string(), "/in?x=1");
        let short: Url = "http://sink".parse().unwrap();
        assert_eq!((&*short.address, short.path.path()), ("sink:80", "/"));
    }

    #[test]
    fn what_is_not_a_url_is_refused_with_the_remedy() {
        for wrong in ["", "127.0.0.1:80", "https://x/", "http://", "http://a@b/", "http://x:99999/"]
        {
            let error = wrong.parse::<Url>().unwrap_err();
            assert!(error.ends_with("write for example http://127.0.0.1:8081/"), "{error}");
        }
    }
}
