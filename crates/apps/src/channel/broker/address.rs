//! The address of a broker, as written on the command line.

use std::fmt;
use std::str::FromStr;

/// The name of the stream or topic if the address has none.
const STREAM: &str = "benchwright-channel";

/// The most bytes of this name.
const LONGEST_NAME: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub kind: Kind,
    /// HOST:PORT.
    pub host: String,
    /// The name of the stream or topic.
    pub stream: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Redis,
    Nats,
    Kafka,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Redis => "Redis",
            Kind::Nats => "NATS",
            Kind::Kafka => "Kafka",
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not the address of a broker; write redis://HOST:PORT, nats://HOST:PORT \
                 or kafka://HOST:PORT, with /NAME for the name of the stream"
            )
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let kind = match scheme {
            "redis" => Kind::Redis,
            "nats" => Kind::Nats,
            "kafka" => Kind::Kafka,
            _ => return Err(wrong()),
        };
        let (host, stream) = rest.split_once('/').unwrap_or((rest, ""));
        let (name, port) = host.rsplit_once(':').ok_or_else(wrong)?;
        let is_port = port.parse::<u16>().is_ok_and(|port| port != 0);
        let is_name = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
        let is_stream = stream.len() <= LONGEST_NAME && stream.bytes().all(is_name);
        if name.is_empty() || name.contains(['@', ' ']) || !is_port || !is_stream {
            return Err(wrong());
        }
        let stream = if stream.is_empty() { STREAM } else { stream };
        Ok(Address { kind, host: host.to_owned(), stream: stream.to_owned() })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_broker_and_perhaps_a_stream() {
        let short: Address = "redis://127.0.0.1:6379".parse().unwrap();
        assert_eq!((short.kind, &*short.host), (Kind::Redis, "127.0.0.1:6379"));
        assert_eq!((&*short.stream, &*short.to_string()), (STREAM, "Redis 127.0.0.1:6379"));
        let long: Address = "kafka://broker:9092/orders_2".parse().unwrap();
        assert_eq!((long.kind, &*long.stream), (Kind::Kafka, "orders_2"));
        assert_eq!("nats://x:1/".parse::<Address>().unwrap().stream, STREAM);
    }

    #[test]
    fn what_is_not_an_address_is_refused_with_the_remedy() {
        let long = format!("redis://x:1/{}", "x".repeat(65));
        for wrong in
            ["", "127.0.0.1:6379", "http://x:1", "redis://x", "redis://x:0", "redis://:1", &long]
        {
            let error = wrong.parse::<Address>().unwrap_err();
            assert!(error.contains("write redis://HOST:PORT"), "{error}");
        }
        for wrong in ["nats://x:1/a.b", "kafka://u@x:1", "kafka://x:1/a/b", "redis://x:99999"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }
}
