//! The lengths of fields and scans.

use measure::Random;

use crate::zipf::Zipf;

#[cfg(test)]
mod tests;

/// A distribution of lengths.
#[derive(Clone, Debug)]
pub enum Lengths {
    Constant(u32),
    Uniform {
        least: u32,
        most: u32,
    },
    /// Short lengths are frequent.
    Zipfian {
        least: u32,
        ranks: Zipf,
    },
    Histogram(Histogram),
}

impl Lengths {
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u32 {
        match self {
            Lengths::Constant(length) => *length,
            Lengths::Uniform { least, most } => {
                least + random.below(u64::from(most - least) + 1) as u32
            }
            Lengths::Zipfian { least, ranks } => least + ranks.rank(random.unit()) as u32,
            Lengths::Histogram(histogram) => histogram.draw(random),
        }
    }

    /// The greatest length that can be drawn.
    pub fn most(&self) -> u32 {
        match self {
            Lengths::Constant(length) => *length,
            Lengths::Uniform { most, .. } => *most,
            Lengths::Zipfian { least, ranks } => least + (ranks.items() - 1) as u32,
            Lengths::Histogram(histogram) => histogram.buckets.last().map_or(0, |last| last.1),
        }
    }
}

/// Lengths with the weights of a file: a line `BlockSize<TAB>n`, then lines `bucket<TAB>count`.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// The weights up to and with each bucket, and its length.
    buckets: Vec<(u64, u32)>,
}

impl Histogram {
    /// Reads the file's text. An error names the line.
    pub fn read(text: &str) -> Result<Histogram, String> {
        let mut lines = text.lines().zip(1_u32..);
        let header = lines.next().map(|(line, _)| line).unwrap_or_default();
        let size = header.split_once('\t').filter(|(name, _)| *name == "BlockSize");
        let size = size.and_then(|(_, size)| size.trim().parse::<u32>().ok());
        let Some(size) = size.filter(|size| 0 < *size) else {
            return Err(format!("line 1: `{header}` is not `BlockSize<TAB>` and a size above 0"));
        };
        let mut buckets: Vec<(u64, u32)> = Vec::new();
        for (line, number) in lines.filter(|(line, _)| !line.trim().is_empty()) {
            let wrong = |why: &str| format!("line {number}: `{line}` {why}");
            let parts = line.split_once('\t');
            let parts = parts.and_then(|(bucket, count)| {
                Some((bucket.trim().parse::<u32>().ok()?, count.trim().parse::<u64>().ok()?))
            });
            let (bucket, count) =
                parts.ok_or_else(|| wrong("is not a bucket, a tab and a count"))?;
            let length = bucket.checked_add(1).and_then(|place| place.checked_mul(size));
            let length = length.ok_or_else(|| wrong("means lengths of more than 4 GiB"))?;
            let (before, shorter) = buckets.last().copied().unwrap_or_default();
            if length <= shorter {
                return Err(wrong("is not above the bucket before; sort the buckets"));
            }
            let sum = before.checked_add(count).ok_or_else(|| wrong("makes the sum too large"))?;
            buckets.push((sum, length));
        }
        // A bucket without weight is never drawn, and must not count as the longest.
        while let [.., before, last] = buckets[..]
            && before.0 == last.0
        {
            buckets.pop();
        }
        match buckets.last() {
            Some((sum, _)) if 0 < *sum => Ok(Histogram { buckets }),
            _ => Err("no bucket has a count above 0".to_owned()),
        }
    }

    fn draw(&self, random: &mut Random) -> u32 {
        let (sum, _) = self.buckets.last().expect("`read` refuses a histogram without weights");
        let drawn = random.below(*sum);
        self.buckets[self.buckets.partition_point(|(until, _)| *until <= drawn)].1
    }
}
