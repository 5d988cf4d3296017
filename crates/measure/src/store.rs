//! The sizes of a key-value store, which its server chooses and the checks of a machine sum up.

#[cfg(test)]
mod tests;

/// The bytes of a hash bucket.
pub const BUCKET_BYTES: u64 = 64;
/// The bytes of the log for which there is a bucket, unless their number is given.
const BYTES_OF_A_BUCKET: u64 = 256;
pub const FEWEST_BUCKETS: u64 = 4096;
/// The most memory that is chosen for a log without --memory.
const MOST_BY_DEFAULT: u64 = 16 << 30;
/// The tenths of a limit that a server takes for its log without --memory.
const TENTHS_BY_DEFAULT: u64 = 4;
/// The share of the limit that the sum of a server's memory may have.
pub const MOST_PERCENT: u64 = 90;

/// Returns the memory of a log without --memory, for a process with this limit. It is a power of two: with other sizes
/// the pages of the log have to change their places in the memory, and the kernel empties each again.
pub fn log_by_default(limit: Option<u64>) -> u64 {
    let memory = limit.map_or(MOST_BY_DEFAULT, |limit| limit / 10 * TENTHS_BY_DEFAULT);
    1 << memory.clamp(1, MOST_BY_DEFAULT).ilog2()
}

/// Returns the number of buckets for a log: the wanted number, rounded up to a power of two.
pub fn buckets(wanted: Option<u64>, log: u64) -> u64 {
    wanted.unwrap_or(log / BYTES_OF_A_BUCKET).max(FEWEST_BUCKETS).next_power_of_two()
}

/// Returns the most memory that a server with this limit may take.
pub fn most(limit: u64) -> u64 {
    limit / 100 * MOST_PERCENT
}

/// Reads a number of buckets: `M` is 2^20, as everywhere in the original.
pub fn read_buckets(text: &str) -> Option<u64> {
    let units = [("k", 10), ("K", 10), ("M", 20), ("G", 30)];
    let split = units.iter().find_map(|(unit, bits)| Some((text.strip_suffix(unit)?, *bits)));
    let (digits, bits) = split.unwrap_or((text, 0));
    let number = digits.parse::<u64>().ok()?.checked_mul(1 << bits)?;
    (1..=1 << 40).contains(&number).then_some(number)
}

/// Reads the memory of a machine, or what of it is free, from `/proc/meminfo`.
pub fn meminfo(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}
