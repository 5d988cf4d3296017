//! The manifest of a checkpoint: a small file that says which part of the log belongs to it, and what
//! was executed of each session.
//!
//! | bytes | content |
//! |---|---|
//! | 0 … 8 | `BWKVCKPT` |
//! | 8 … 12 | the version of this format: 2 |
//! | 12 … 16 | CRC32C of all other bytes |
//! | 16 … 24 | the bytes of the file |
//! | 24 … 104 | version, id of the store, seed, buckets, page, segment, begin, tail, note, sessions: 8 bytes each |
//! | … | of each session: its id, the operations begun, the number of those excepted, and their serials |

use std::collections::BTreeMap;

/// The operations of a session that a checkpoint has: all before the serial `through`, but those in
/// `except`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Durable {
    pub through: u64,
    /// Operations that were pending at the cut, or that an earlier crash has lost. Their serials ascend.
    pub except: Vec<u64>,
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) version: u64,
    pub(crate) store: u64,
    pub(crate) seed: u64,
    pub(crate) buckets: u64,
    pub(crate) page: u64,
    pub(crate) segment: u64,
    pub(crate) begin: u64,
    pub(crate) tail: u64,
    /// The number that the program keeps with the store.
    pub(crate) note: u64,
    pub(crate) sessions: BTreeMap<u64, Durable>,
}

/// The reason why a file is not a manifest.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unreadable {
    /// It is torn, or not what was written.
    Corrupt,
    /// It has a later format.
    Newer(u32),
}

const MAGIC: &[u8; 8] = b"BWKVCKPT";
const FORMAT: u32 = 2;
/// The place of the checksum.
const CRC: usize = 12;
const AFTER_CRC: usize = CRC + 4;
/// The bytes up to the length, with it.
pub(crate) const HEAD: usize = AFTER_CRC + 8;

/// Versions are below this.
const VERSIONS: u64 = 1 << 62;

impl Manifest {
    /// Replaces `out` by the file.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&[0; 12]);
        let mut put = |word: u64| out.extend_from_slice(&word.to_le_bytes());
        let Manifest { version, store, seed, buckets, page, segment, begin, tail, note, sessions } =
            self;
        for word in [version, store, seed, buckets, page, segment, begin, tail, note] {
            put(*word);
        }
        put(sessions.len() as u64);
        for (id, Durable { through, except }) in sessions {
            [*id, *through, except.len() as u64].into_iter().for_each(&mut put);
            except.iter().copied().for_each(&mut put);
        }
        let length = (out.len() as u64).to_le_bytes();
        out[AFTER_CRC..AFTER_CRC + 8].copy_from_slice(&length);
        let crc = checksum(out);
        out[CRC..AFTER_CRC].copy_from_slice(&crc.to_le_bytes());
    }

    /// Returns the length that a manifest with this head has, if it is one.
    pub(crate) fn length(head: &[u8]) -> Option<u64> {
        let head = head.first_chunk::<HEAD>().filter(|head| head.starts_with(MAGIC))?;
        head.last_chunk().map(|length| u64::from_le_bytes(*length))
    }

    pub(crate) fn decode(file: &[u8]) -> Result<Manifest, Unreadable> {
        let corrupt = Unreadable::Corrupt;
        let head = file.get(..AFTER_CRC).filter(|head| head.starts_with(MAGIC)).ok_or(corrupt)?;
        let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four"));
        let mut words = Words(&file[AFTER_CRC..]);
        if words.next()? != file.len() as u64 || number(CRC) != checksum(file) {
            return Err(corrupt);
        }
        if number(8) != FORMAT {
            return Err(Unreadable::Newer(number(8)));
        }
        let mut manifest = Manifest {
            version: words.next()?,
            store: words.next()?,
            seed: words.next()?,
            buckets: words.next()?,
            page: words.next()?,
            segment: words.next()?,
            begin: words.next()?,
            tail: words.next()?,
            note: words.next()?,
            sessions: BTreeMap::new(),
        };
        for _ in 0..words.next()? {
            let (id, through, excepted) = (words.next()?, words.next()?, words.next()?);
            let except = (0..excepted).map(|_| words.next()).collect::<Result<_, _>>()?;
            manifest.sessions.insert(id, Durable { through, except });
        }
        // An empty log begins at 1, since no record has the address 0.
        if manifest.tail.max(1) < manifest.begin {
            return Err(corrupt);
        }
        Ok(manifest)
    }
}

fn checksum(file: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&file[..CRC]), &file[AFTER_CRC..])
}

/// The numbers of a file.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn next(&mut self) -> Result<u64, Unreadable> {
        let (word, rest) = self.0.split_first_chunk().ok_or(Unreadable::Corrupt)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*word))
    }
}

const PREFIX: &str = "checkpoint-";
const NEW: &str = "new-";

/// Returns the name of a manifest.
pub(crate) fn name(version: u64) -> String {
    format!("{PREFIX}{version:08x}")
}

/// Returns the name that it has until it is whole.
pub(crate) fn new_name(version: u64) -> String {
    format!("{NEW}{version:08x}")
}

/// Returns the version of the manifest that a file's name belongs to.
pub(crate) fn version_of(file: &str) -> Option<u64> {
    let version = u64::from_str_radix(file.strip_prefix(PREFIX)?, 16).ok()?;
    // Not every spelling of the number is a name of ours.
    (version < VERSIONS && file == name(version)).then_some(version)
}

/// True if a file's name begins as that of a manifest.
pub(crate) fn is_like_a_manifest(file: &str) -> bool {
    file.starts_with(PREFIX)
}

/// True if a file may be a manifest that was never completed.
pub(crate) fn is_new(file: &str) -> bool {
    let version = file.strip_prefix(NEW).and_then(|new| u64::from_str_radix(new, 16).ok());
    version.is_some_and(|version| file == new_name(version))
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::{Durable, FORMAT, Manifest, Unreadable};

    fn file() -> (Manifest, Vec<u8>) {
        let except = vec![3, 9];
        let sessions = [(7, Durable { through: 12, except }), (9, Durable::default())];
        let manifest = Manifest {
            version: 5,
            store: 6,
            page: 1 << 14,
            tail: 8192,
            note: 12,
            sessions: sessions.into(),
            ..Manifest::default()
        };
        let mut file = Vec::new();
        manifest.encode(&mut file);
        (manifest, file)
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let (manifest, file) = file();
        assert_eq!(Manifest::decode(&file), Ok(manifest));
    }

    #[test]
    fn a_part_and_a_flipped_bit_are_found() {
        let (_, file) = file();
        for length in 0..file.len() {
            assert_eq!(Manifest::decode(&file[..length]), Err(Unreadable::Corrupt), "{length}");
        }
        for at in 0..file.len() {
            let mut file = file.clone();
            file[at] ^= 1 << (at % 8);
            assert_eq!(Manifest::decode(&file), Err(Unreadable::Corrupt), "byte {at}");
        }
    }

    #[test]
    fn a_later_format_is_not_guessed() {
        let (_, mut file) = file();
        file[8] = FORMAT as u8 + 1;
        let crc = super::checksum(&file).to_le_bytes();
        file[super::CRC..super::AFTER_CRC].copy_from_slice(&crc);
        assert_eq!(Manifest::decode(&file), Err(Unreadable::Newer(FORMAT + 1)));
    }
}
