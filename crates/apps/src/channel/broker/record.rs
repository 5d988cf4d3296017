//! An event as it stands in a broker: who accepted it, and its bytes.

use bytes::{Buf, BufMut, Bytes};

use super::super::event::Event;

#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    /// The process that accepted the event, as a random number.
    pub process: u64,
    /// The number of the event in that process.
    pub number: u64,
    pub event: Event,
}

impl Record {
    pub fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(16 + self.event.size());
        out.put_u64(self.process);
        out.put_u64(self.number);
        self.event.encode(&mut out);
        out.into()
    }

    /// Reads what [`Record::encode`] wrote; `None` for anything else.
    pub fn decode(mut bytes: Bytes) -> Option<Self> {
        let process = bytes.try_get_u64().ok()?;
        let number = bytes.try_get_u64().ok()?;
        Some(Record { process, number, event: Event::decode(bytes)? })
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderMap, HeaderValue};

    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_junk_is_not() {
        let mut fields = HeaderMap::new();
        for name in ["ce-specversion", "ce-id", "ce-source", "ce-type"] {
            fields.insert(name, HeaderValue::from_static("1.0"));
        }
        let event = Event::read(&fields, Bytes::from_static(b"data")).unwrap();
        let record = Record { process: u64::MAX, number: 7, event };
        let bytes = record.encode();
        for cut in [0, 15, 16, 17, 30] {
            assert_eq!(Record::decode(bytes.slice(..cut)), None, "{cut}");
        }
        assert_eq!(Record::decode(Bytes::from_static(&[0xff; 100])), None);
        assert_eq!(Record::decode(bytes), Some(record));
    }
}
