//! The connections of a load: their number, and how they are secured.

use std::fmt;

use measure::Rate;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::AtLeastOne;

/// The number of connections of each target: `connections: 32`, or `connections: {per_rate: 0.1}`,
/// a tenth of the trial's rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Connections {
    Fixed(AtLeastOne),
    PerRate(PerRate),
}

impl Connections {
    /// Returns the number of connections of each target at a rate of each target. A number for each
    /// request per second is rounded up, and not below `least`.
    pub fn at(self, rate: Option<Rate>, least: u32) -> u32 {
        match self {
            Connections::Fixed(number) => number.0,
            Connections::PerRate(PerRate(each)) => {
                let rate = rate.expect("the spec was checked: a load with this has one rate");
                whole(rate.as_per_second() * each).max(least)
            }
        }
    }

    /// Returns the field of a spec with so many times as many.
    pub fn written(self, times: u32) -> String {
        match self {
            Connections::Fixed(number) => format!("load.connections={}", times * number.0),
            Connections::PerRate(PerRate(each)) => {
                format!("load.connections={{per_rate: {}}}", f64::from(times) * each)
            }
        }
    }
}

/// The part of a connection below which a number is taken for a whole one: 0.1 cannot be stored
/// exactly, and 0.1 for each of 71,000/s are 7,100 connections.
const ROUNDING: f64 = 1e-6;

fn whole(number: f64) -> u32 {
    // A number beyond the range becomes its end, which the generator refuses.
    (number - ROUNDING).ceil().max(1.0) as u32
}

/// The connections for each request per second.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct PerRate(pub f64);

impl From<PerRate> for f64 {
    fn from(each: PerRate) -> f64 {
        each.0
    }
}

impl TryFrom<f64> for PerRate {
    type Error = String;
    fn try_from(each: f64) -> Result<PerRate, String> {
        match each.is_finite() && 0.0 < each {
            true => Ok(PerRate(each)),
            false => Err(format!(
                "`{each}` is not a valid number of connections for each request per second; write \
                 for example 0.1"
            )),
        }
    }
}

#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ConnectionsPerRate")]
pub(super) struct WrittenPerRate {
    /// The number for each request per second of the trial's rate.
    per_rate: PerRate,
}

impl Serialize for Connections {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Connections::Fixed(number) => number.serialize(serializer),
            Connections::PerRate(per_rate) => WrittenPerRate { per_rate }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Connections {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Connections, D::Error> {
        struct NumberOrPerRate;
        impl<'de> Visitor<'de> for NumberOrPerRate {
            type Value = Connections;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of connections (`32`) or `{per_rate: 0.1}`")
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Connections, E> {
                let most = u32::MAX;
                let wrong = || E::custom(format!("`{number}` is too many; write at most {most}"));
                let number = AtLeastOne::try_from(u32::try_from(number).map_err(|_| wrong())?);
                number.map(Connections::Fixed).map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Connections, E> {
                let wrong = || E::custom(format!("`{number}` is too few; write a number from 1"));
                self.visit_u64(u64::try_from(number).map_err(|_| wrong())?)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Connections, A::Error> {
                let written = WrittenPerRate::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Connections::PerRate(written.per_rate))
            }
        }
        deserializer.deserialize_any(NumberOrPerRate)
    }
}

/// The settings for `https` targets.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "WrittenTls")]
#[schemars(!try_from, deny_unknown_fields)]
pub struct Tls {
    /// A file with the issuers to trust instead of the machine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// The file of the client certificate, with the chain to its issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert: Option<String>,
    /// The file of the certificate's key; in the same file if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The server name to send and to verify, instead of the URL's host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sni: Option<String>,
    /// True if any certificate is accepted.
    #[serde(skip_serializing_if = "is_false")]
    #[schemars(default)]
    pub insecure: bool,
    /// The only version of TLS to use; by default the highest that the target supports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<TlsVersion>,
    /// True if sessions of earlier connections are resumed.
    #[serde(skip_serializing_if = "is_true")]
    #[schemars(default = "yes", with = "Option<bool>")]
    pub resume: bool,
}

fn yes() -> bool {
    true
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_true(flag: &bool) -> bool {
    *flag
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTls {
    ca: Option<String>,
    cert: Option<String>,
    key: Option<String>,
    sni: Option<String>,
    #[serde(default)]
    insecure: bool,
    version: Option<TlsVersion>,
    resume: Option<bool>,
}

impl TryFrom<WrittenTls> for Tls {
    type Error = &'static str;
    fn try_from(written: WrittenTls) -> Result<Tls, &'static str> {
        let WrittenTls { ca, cert, key, sni, insecure, version, resume } = written;
        if key.is_some() && cert.is_none() {
            return Err("`key` is the key of a client certificate; add `cert: file.pem`");
        }
        if ca.is_some() && insecure {
            return Err("`insecure` verifies nothing, so `ca` has no effect; remove one of them");
        }
        Ok(Tls { ca, cert, key, sni, insecure, version, resume: resume.unwrap_or_else(yes) })
    }
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum TlsVersion {
    V1_2,
    V1_3,
}

impl TlsVersion {
    pub const ALL: [TlsVersion; 2] = [TlsVersion::V1_2, TlsVersion::V1_3];

    pub fn name(self) -> &'static str {
        match self {
            TlsVersion::V1_2 => "1.2",
            TlsVersion::V1_3 => "1.3",
        }
    }
}

impl TryFrom<String> for TlsVersion {
    type Error = String;
    fn try_from(text: String) -> Result<TlsVersion, String> {
        let known = TlsVersion::ALL.into_iter().find(|version| version.name() == text);
        known.ok_or_else(|| format!("`{text}` is not a valid version of TLS; write 1.2 or 1.3"))
    }
}

impl From<TlsVersion> for String {
    fn from(version: TlsVersion) -> String {
        version.name().to_owned()
    }
}
