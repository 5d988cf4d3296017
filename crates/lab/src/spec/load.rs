//! The load that is offered, what decides when requests start, and how the generator makes it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use measure::{Bytes, Nanos, Rate, Share, pace};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::source::SpecError;
use super::{
    Arrivals, AtLeastOne, BackendKind, Connections, Count, Literal, Name, Pin, Resolved, Shape,
    Start, Texts, Think, Tls, Written,
};

#[cfg(test)]
mod tests;

/// The rule by which requests start.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "model")]
pub enum Model {
    /// The clock alone decides when requests start, at a rate.
    #[serde(rename = "open")]
    #[schemars(title = "LoadAtRate")]
    Rate {
        /// The distribution of the gaps between requests.
        #[serde(default)]
        #[schemars(with = "Option<Arrivals>")]
        arrivals: Arrivals,
        /// The rate of each instance; absent if a search decides it. In place of it, `shape` is a rate that
        /// changes, and `trace` a file with the start of each request.
        #[serde(skip_serializing_if = "Option::is_none")]
        rate: Option<Offered>,
    },
    /// The clock alone decides when requests start, at a rate that changes.
    #[serde(rename = "open")]
    #[schemars(title = "LoadOfShape")]
    Shape {
        /// The distribution of the gaps between requests.
        #[serde(default)]
        #[schemars(with = "Option<Arrivals>")]
        arrivals: Arrivals,
        /// The rate of each instance over time.
        shape: Shape,
    },
    /// A file lists the start of each request.
    #[serde(rename = "open")]
    #[schemars(title = "LoadOfTrace")]
    Trace {
        /// A file with the start of each request.
        trace: String,
        /// The factor by which the trace is played faster.
        #[serde(skip_serializing_if = "Option::is_none")]
        speed: Option<f64>,
    },
    /// A completion and the think time after it decide when the next request starts.
    #[serde(rename = "closed")]
    #[schemars(title = "ClosedLoad")]
    Closed {
        /// The think time of the users.
        #[serde(skip_serializing_if = "Option::is_none")]
        think: Option<Think>,
    },
}

/// Makes the load, and the mapping that is read for it: each of its errors has its place.
macro_rules! load {
    ($($(#[$attribute:meta])* $field:ident: $type:ty,)*) => {
        /// The load that is offered. Everything that is absent is left to the generator's own default.
        #[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
        #[serde(try_from = "WrittenLoad")]
        #[schemars(!try_from)]
        pub struct Load {
            #[serde(flatten)]
            pub model: Model,
            $($(#[$attribute])* pub $field: $type,)*
        }

        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct WrittenLoad {
            model: Option<By>,
            arrivals: Option<Arrivals>,
            rate: Option<Offered>,
            shape: Option<Shape>,
            trace: Option<String>,
            speed: Option<f64>,
            think: Option<Think>,
            $($(#[$attribute])* $field: $type,)*
        }

        impl TryFrom<WrittenLoad> for Load {
            type Error = &'static str;
            fn try_from(mut written: WrittenLoad) -> Result<Load, &'static str> {
                let load = Load { model: written.model()?, $($field: written.$field,)* };
                load.check()?;
                Ok(load)
            }
        }
    };
}

load! {
    /// The number of connections for each instance.
    #[serde(default = "usual_connections", deserialize_with = "connections")]
    #[schemars(with = "Option<Connections>")]
    connections: Connections,
    /// The number of script states for each instance, for a workload that depends on it (wrk's -t).
    #[serde(skip_serializing_if = "Option::is_none")]
    script_threads: Option<AtLeastOne>,
    /// The longest time for a response.
    #[serde(default = "ten_seconds", deserialize_with = "timeout")]
    #[schemars(with = "Option<Written<Nanos>>")]
    timeout: Written<Nanos>,
    /// The longest time until a connection is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    connect_timeout: Option<Written<Nanos>>,
    /// The requests that may wait for a connection, for each instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    backlog: Option<Written<Count>>,
    /// The largest body of a response; one with a larger body is malformed.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_body: Option<Written<Bytes>>,
    /// The requests after which a connection is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_alive: Option<AtLeastOne>,
    /// The requests that may be outstanding on one connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline: Option<AtLeastOne>,
    /// The rate at which connections are opened before the load begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    open_rate: Option<Written<Rate>>,
    /// The addresses of an external service: `all` or the `first` of its name's, or a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<Texts>,
    /// The local addresses to connect from, in turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    source: Vec<Written<IpAddr>>,
    /// The settings for `https` targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<Tls>,
    /// The threads of the generator, each with its own connections; as many as the rate needs by
    /// default.
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<AtLeastOne>,
    /// The CPUs that its shards are kept on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<Written<Pin>>,
    /// Its network interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    io: Option<Io>,
    /// Its timer, which waits for the next start.
    #[serde(skip_serializing_if = "Option::is_none")]
    timer: Option<Timer>,
    /// The congestion control of its TCP connections, one that the kernel has.
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_control: Option<String>,
    /// True if the kernel timestamps received data.
    #[serde(default, skip_serializing_if = "is_false")]
    kernel_timestamps: bool,
}

fn usual_connections() -> Connections {
    Connections::Fixed(AtLeastOne(32))
}

fn ten_seconds() -> Written<Nanos> {
    Written(Nanos::from_secs(10))
}

/// Reads connections; nothing is the usual number of them.
fn connections<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Connections, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(usual_connections))
}

/// Reads a timeout; nothing is the usual one.
fn timeout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Written<Nanos>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(ten_seconds))
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The one load of a question without a search: `rate: 500/s`, or `rate: {share: 50%, of: capacity}`.
#[derive(Clone, Debug, PartialEq)]
pub enum Offered {
    Rate(Rate),
    /// A share of the capacity that another search found in the same cell; of its maximum
    /// throughput if it has no SLO.
    Share {
        share: Share,
        of: Name,
    },
}

impl Offered {
    /// Returns the rate, if it is known beforehand.
    pub fn rate(&self) -> Option<Rate> {
        match self {
            Offered::Rate(rate) => Some(*rate),
            Offered::Share { .. } => None,
        }
    }
}

/// `500/s`, or `50 % of capacity`
impl fmt::Display for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Offered::Rate(rate) => rate.fmt(f),
            Offered::Share { share, of } => write!(f, "{share} of `{of}`"),
        }
    }
}

/// A share of the capacity that another search found in the same cell.
#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ShareOfCapacity")]
pub(super) struct WrittenShare {
    /// The share of the capacity.
    share: Written<Share>,
    /// The search in the same cell that finds it.
    of: Name,
}

impl Serialize for Offered {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Offered::Rate(rate) => Written(*rate).serialize(serializer),
            Offered::Share { share, of } => {
                WrittenShare { share: Written(*share), of: of.clone() }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Offered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Offered, D::Error> {
        struct RateOrShare;
        impl<'de> Visitor<'de> for RateOrShare {
            type Value = Offered;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate (`500/s`) or `{share: 50%, of: SEARCH}`")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Offered, E> {
                Rate::read(text).map(Offered::Rate).map_err(E::custom)
            }
            // A rate without its unit looks like a number.
            fn visit_u64<E: Error>(self, number: u64) -> Result<Offered, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Offered, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Offered, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Offered, A::Error> {
                let written = WrittenShare::deserialize(MapAccessDeserializer::new(map))?;
                match *written.share {
                    share if 0.0 < share.0 => Ok(Offered::Share { share, of: written.of }),
                    _ => Err(A::Error::custom("a share of a capacity must be above zero")),
                }
            }
        }
        deserializer.deserialize_any(RateOrShare)
    }
}

/// The generator's network interface.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Io {
    Auto,
    Epoll,
    Uring,
}

impl Io {
    pub const ALL: [Io; 3] = [Io::Auto, Io::Epoll, Io::Uring];
}

impl fmt::Display for Io {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Io::Auto => "auto",
            Io::Epoll => "epoll",
            Io::Uring => "uring",
        })
    }
}

/// The generator's timer.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    Hybrid,
    Sleep,
    Spin,
}

impl Timer {
    pub const ALL: [Timer; 3] = [Timer::Hybrid, Timer::Sleep, Timer::Spin];
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Timer::Hybrid => "hybrid",
            Timer::Sleep => "sleep",
            Timer::Spin => "spin",
        })
    }
}

/// The word for what decides.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum By {
    Open,
    Closed,
}

impl WrittenLoad {
    /// Takes the one thing that decides; fails if it is none, or several.
    fn model(&mut self) -> Result<Model, &'static str> {
        let WrittenLoad { arrivals, speed, think, .. } = *self;
        let (rate, shape, trace) = (self.rate.take(), self.shape.take(), self.trace.take());
        match (&self.model, arrivals, rate, shape, trace) {
            (None, ..) => Err(
                "neither open nor closed; write `model: open` (the clock decides when a request \
                     starts) or `model: closed` (a completion does)",
            ),
            (Some(By::Open), ..) if think.is_some() => {
                Err("think time belongs to a closed loop; in an open one the rate decides")
            }
            (.., None) if speed.is_some() => Err("`speed` is that of a trace; add `trace: file`"),
            (Some(By::Closed), None, None, None, None) => Ok(Model::Closed { think }),
            (Some(By::Closed), None, None, ..) => {
                Err("a closed loop has neither shape nor trace: completions decide")
            }
            (Some(By::Closed), ..) => {
                Err("a closed loop has neither rate nor arrivals: completions decide")
            }
            (_, _, Some(_), Some(_), _) => {
                Err("`rate` and `shape` both set the rate; remove one of them")
            }
            (_, None, None, None, Some(trace)) => Ok(Model::Trace { trace, speed }),
            (.., Some(_)) => Err("a trace lists every start; remove rate, shape and arrivals"),
            (_, arrivals, None, Some(shape), None) => {
                Ok(Model::Shape { arrivals: arrivals.unwrap_or_default(), shape })
            }
            (_, arrivals, rate, None, None) => {
                Ok(Model::Rate { arrivals: arrivals.unwrap_or_default(), rate })
            }
        }
    }
}

impl Load {
    pub fn is_closed(&self) -> bool {
        matches!(self.model, Model::Closed { .. })
    }

    /// Returns the field that gives the starts, a shape or a trace: such a load is fixed, without one rate.
    pub fn schedule(&self) -> Option<&'static str> {
        match self.model {
            Model::Shape { .. } => Some("shape"),
            Model::Trace { .. } => Some("trace"),
            Model::Rate { .. } | Model::Closed { .. } => None,
        }
    }

    pub fn rate(&self) -> Option<&Offered> {
        match &self.model {
            Model::Rate { rate, .. } => rate.as_ref(),
            _ => None,
        }
    }

    pub fn shape(&self) -> Option<&Shape> {
        match &self.model {
            Model::Shape { shape, .. } => Some(shape),
            _ => None,
        }
    }

    pub fn trace(&self) -> Option<&String> {
        match &self.model {
            Model::Trace { trace, .. } => Some(trace),
            _ => None,
        }
    }

    /// Returns the distribution of the gaps; the usual one if nothing is drawn.
    pub fn arrivals(&self) -> Arrivals {
        match self.model {
            Model::Rate { arrivals, .. } | Model::Shape { arrivals, .. } => arrivals,
            Model::Trace { .. } | Model::Closed { .. } => Arrivals::default(),
        }
    }

    pub fn think(&self) -> pace::Think {
        match self.model {
            Model::Closed { think: Some(think) } => think.0,
            _ => pace::Think::NONE,
        }
    }

    /// Returns the longest time that opening the connections of all targets may take, as far as the
    /// spec decides it.
    pub fn opening(&self, rate: Option<Rate>, targets: usize) -> Nanos {
        let connections = self.connections_at(rate) as f64 * targets as f64;
        let seconds = self.open_rate.map_or(0.0, |rate| connections / rate.as_per_second());
        Nanos::from_secs_f64(seconds) + self.connect_timeout.map_or(Nanos::ZERO, |longest| *longest)
    }

    /// Returns the number of connections of each target at a rate of each target. Each script
    /// thread needs one.
    pub fn connections_at(&self, rate: Option<Rate>) -> u32 {
        self.connections.at(rate, self.script_threads.map_or(1, |threads| threads.0))
    }

    /// Checks the rules between the fields.
    fn check(&self) -> Result<(), &'static str> {
        let is_per_rate = matches!(self.connections, Connections::PerRate(_));
        match self.model {
            Model::Closed { .. } if is_per_rate => {
                return Err("connections `per_rate` need a rate, which a closed loop does not \
                            have; write a number of connections");
            }
            Model::Shape { .. } | Model::Trace { .. } if is_per_rate => {
                return Err(
                    "connections `per_rate` need one rate; with a shape or a trace write a \
                            number of connections",
                );
            }
            Model::Trace { speed: Some(speed), .. } if !(speed.is_finite() && 0.0 < speed) => {
                return Err("the speed of a trace must be above zero; write for example 2, for \
                            twice as fast");
            }
            _ => {}
        }
        let is_zero = |timeout: Written<Nanos>| *timeout == Nanos::ZERO;
        if is_zero(self.timeout) || self.connect_timeout.is_some_and(is_zero) {
            return Err("a timeout must be longer than zero");
        }
        if self.pipeline.is_some_and(|most| MOST_PIPELINED < most.0) {
            return Err("at most 65535 requests may be outstanding on one connection");
        }
        if self.address.as_ref().is_some_and(|address| !is_address(address)) {
            return Err("an address is `all`, `first` or a list of IP[:PORT]; write for example \
                        address: [10.0.0.7, 10.0.0.8]");
        }
        Ok(())
    }
}

/// The most requests that may be outstanding on one connection.
const MOST_PIPELINED: u32 = 65_535;

fn is_address(address: &Texts) -> bool {
    let listed =
        |text: &String| text.parse::<IpAddr>().is_ok() || text.parse::<SocketAddr>().is_ok();
    match &address.0[..] {
        [one] if one == "all" || one == "first" => true,
        [] => false,
        list => list.iter().all(listed),
    }
}

/// Checks the rules between the load and the rest of the spec.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let super::Spec { where_, sut, load, search, phases, .. } = &resolved.spec;
    let error =
        |message: &str, key: &str, label: &str| Err(resolved.source.error_at(message, key, label));
    if let (Some(field), Some(_)) = (load.schedule(), search) {
        let label = format!("remove load.{field} or search");
        return error("the load is both fixed and searched", &format!("load.{field}:"), &label);
    }
    if let Some(search) = search
        && matches!(load.connections, Connections::PerRate(_))
        && matches!(search.start, Start::Probe(_))
    {
        return error(
            "the probe is a closed loop, which has no rate for connections `per_rate`",
            "per_rate:",
            "write a number of connections, or begin the search with a rate: start: 500/s",
        );
    }
    if let Some(length) = load.shape().and_then(|shape| shape.curve.length())
        && length != *phases.measure.time
    {
        let message = format!(
            "the shape takes {}, and the measurement {}",
            length.written(),
            phases.measure.time.written()
        );
        let label = format!("write phases: {{measure: {{time: {}}}}}", length.written());
        return error(&message, "load.shape:", &label);
    }
    if let (Some(field), Some(_)) = (load.schedule(), phases.warm_up.until_steady) {
        let label = format!("remove it, or use load.rate in place of load.{field}");
        return error("a load that changes has no steady state", "until_steady:", &label);
    }
    if where_.backend == BackendKind::Simulated && load.trace().is_some() {
        return error(
            "the simulated backend plays no traces",
            "trace:",
            "use a rate or a shape, or another backend",
        );
    }
    let is_external = where_.backend == BackendKind::External;
    if let Some(address) = &load.address {
        if !is_external {
            return error(
                "`address` is only for an external service",
                "address:",
                "remove it: here the load goes to all replicas of the endpoint",
            );
        }
        let is_list = address.0.iter().all(|text| text != "all" && text != "first");
        if is_list && 1 < sut.endpoint.0.len() {
            return error(
                "one list of addresses for several endpoints",
                "address:",
                "name one endpoint, or address: first",
            );
        }
    }
    let is_secured = |url: &String| resolved.text(url, 1).starts_with("https://");
    if is_external && load.tls.is_some() && !sut.endpoint.0.iter().any(is_secured) {
        return error(
            "`tls` is for an https endpoint, and there is none",
            "tls:",
            "remove it, or write sut: {endpoint: \"https://…\"}",
        );
    }
    Ok(())
}
