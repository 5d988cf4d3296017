//! A distribution of times as written in a file: its quantiles, and the histogram itself.

use std::fmt;
use std::io::{Cursor, Read};
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use measure::{Histogram, Nanos, Quantile};
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// A distribution of times in nanoseconds. Every figure except the exact mean can be computed from the
/// histogram.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Times {
    pub count: u64,
    pub mean_ns: u64,
    pub min_ns: u64,
    pub p50_ns: u64,
    pub p75_ns: u64,
    pub p90_ns: u64,
    pub p95_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub p9999_ns: u64,
    pub p99999_ns: u64,
    pub max_ns: u64,
    pub histogram: Encoded,
}

impl Times {
    /// The figures of a histogram; `None` if it is empty: what was not measured is absent.
    pub fn of(histogram: &Histogram) -> Option<Times> {
        let quantile = |q| histogram.quantile(q).map(|n| n.0);
        Some(Times {
            count: histogram.count(),
            mean_ns: histogram.mean()?.0,
            min_ns: histogram.min()?.0,
            p50_ns: quantile(Quantile::P50)?,
            p75_ns: quantile(Quantile::P75)?,
            p90_ns: quantile(Quantile::P90)?,
            p95_ns: quantile(Quantile::P95)?,
            p99_ns: quantile(Quantile::P99)?,
            p999_ns: quantile(Quantile::P999)?,
            p9999_ns: quantile(Quantile::P9999)?,
            p99999_ns: quantile(Quantile::P99999)?,
            max_ns: histogram.max()?.0,
            histogram: Encoded::of(histogram),
        })
    }

    /// The histogram, or `None` if the text is not one.
    pub fn histogram(&self) -> Option<&Histogram> {
        self.histogram.decoded.get_or_init(|| decode(&self.histogram.text)).as_ref()
    }

    /// Both together, or `None` if one of the texts is not a histogram. Each mean has lost less
    /// than a nanosecond; everything else is exact.
    pub fn merged(&self, other: &Times) -> Option<Times> {
        let mut histogram = self.histogram()?.clone();
        histogram.add(other.histogram()?);
        let sum = |times: &Times| u128::from(times.mean_ns) * u128::from(times.count);
        let mean = (sum(self) + sum(other)) / u128::from(histogram.count()).max(1);
        Some(Times { mean_ns: mean as u64, ..Times::of(&histogram)? })
    }

    pub fn p50(&self) -> Nanos {
        Nanos(self.p50_ns)
    }

    pub fn p99(&self) -> Nanos {
        Nanos(self.p99_ns)
    }
}

/// A histogram as files have it. It is decoded when it is first asked for, and then kept: most of a
/// document's are never asked for, and each takes 270 kB.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Encoded {
    /// HdrHistogram's V2 encoding, deflated, in base64.
    text: String,
    #[serde(skip)]
    decoded: OnceLock<Option<Histogram>>,
}

impl Encoded {
    fn of(histogram: &Histogram) -> Encoded {
        Encoded { text: encode(histogram), decoded: OnceLock::new() }
    }
}

impl PartialEq for Encoded {
    fn eq(&self, other: &Encoded) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

/// HdrHistogram's V2 encoding, deflated, in base64: also the contents of an `.hlog` interval.
pub(crate) fn encode(histogram: &Histogram) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram.as_hdr(), &mut bytes)
        .expect("writing to memory does not fail");
    STANDARD.encode(bytes)
}

/// Reads what [`encode`] wrote, or another histogram in the V2 encoding; `None` if the text is not one.
pub fn decode(text: &str) -> Option<Histogram> {
    let bytes = inflated(STANDARD.decode(text).ok()?)?;
    let stored = Deserializer::new().deserialize(&mut Cursor::new(bytes)).ok()?;
    let is_plausible = stored.len() <= MOST_VALUES;
    is_plausible.then(|| Histogram::from_hdr(&stored))
}

/// The most values of a histogram: of more, sums overflow.
const MOST_VALUES: u64 = 1 << 48;
/// The most bytes of a histogram: the counts of one with five digits.
const MOST_BYTES: u64 = 64 << 20;
/// The first bytes of a deflated histogram.
const DEFLATED: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];

/// Returns the plain form, whose contents are as long as they claim: their reader allocates that much at
/// once, which may be four gigabytes.
fn inflated(bytes: Vec<u8>) -> Option<Vec<u8>> {
    let plain = match bytes.strip_prefix(&DEFLATED) {
        None => bytes,
        Some(deflated) => {
            let mut plain = Vec::new();
            let mut inflating = ZlibDecoder::new(deflated.get(4..)?).take(MOST_BYTES + 1);
            inflating.read_to_end(&mut plain).ok()?;
            plain
        }
    };
    let claimed = u32::from_be_bytes(plain.get(4..8)?.try_into().ok()?);
    let is_bounded = plain.len() as u64 <= MOST_BYTES && u64::from(claimed) <= plain.len() as u64;
    is_bounded.then_some(plain)
}

/// An HdrHistogram log, version 1.3: one interval of `seconds` for each histogram, with its tag.
pub fn log(histograms: &[(String, &Histogram)], seconds: f64) -> String {
    let lines = histograms.iter().map(|(tag, histogram)| log_line(tag, (0.0, seconds), histogram));
    std::iter::once(log_header().to_owned()).chain(lines).collect()
}

/// The header of an HdrHistogram log.
pub fn log_header() -> &'static str {
    "#[Histogram log format version 1.3]\n\
     \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
}

/// One interval of an HdrHistogram log, with its beginning and length in seconds of the log.
pub fn log_line(tag: &str, (begin, length): (f64, f64), histogram: &Histogram) -> String {
    let max_ms = histogram.max().unwrap_or_default().as_millis_f64();
    format!("Tag={tag},{begin:.3},{length:.3},{max_ms:.3},{}\n", encode(histogram))
}
