//! Little-endian integers in bytes whose length was checked.

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The numbers of a column.
pub(super) fn numbers(column: &[u8]) -> impl ExactSizeIterator<Item = u64> + Clone {
    column.chunks_exact(8).map(|number| u64_at(number, 0))
}

/// Appends a column of numbers.
pub(super) fn put_numbers(numbers: &[u64], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + 8 * numbers.len(), 0);
    for (place, number) in out[start..].chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

/// Returns the length with the padding to a multiple of 8.
pub(super) const fn padded(length: usize) -> usize {
    length.next_multiple_of(8)
}

/// Appends the padding of so many bytes.
pub(super) fn pad(length: usize, out: &mut Vec<u8>) {
    out.resize(out.len() + padded(length) - length, 0);
}
