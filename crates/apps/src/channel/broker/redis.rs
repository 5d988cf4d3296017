//! Redis streams: an event is an entry of one stream, each subscriber a group that reads it, and a
//! confirmed event is in Redis' memory and in its append-only file as far as its own configuration
//! says. Entries that all groups are done with are trimmed.

use std::time::Duration;

use bytes::Bytes;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, Value, cmd};

use super::Position;
use super::dialogue::{Failure, Group, Settings, floor};
use crate::kit::redis::{self as kit, Server};

/// The only consumer of each group: a process that follows another one takes over its entries.
const CONSUMER: &str = "channel";

/// The field of an entry that has the record.
const FIELD: &str = "e";

pub(super) struct Producer {
    connection: MultiplexedConnection,
    stream: String,
}

pub(super) struct Reader {
    connection: MultiplexedConnection,
    stream: String,
    group: String,
    /// The last entry that was read again of those that the group has not acknowledged; `None` once
    /// all were.
    again: Option<Position>,
    poll: Duration,
}

pub(super) struct Settler {
    connection: MultiplexedConnection,
    stream: String,
    group: String,
}

pub(super) struct Keeper {
    connection: MultiplexedConnection,
    stream: String,
    groups: Vec<String>,
    floor: Option<Position>,
}

/// Returns a reader and a settler for each group.
pub(super) async fn connect(
    settings: &Settings,
    groups: &[Group],
) -> Result<(Producer, Keeper, Vec<(Reader, Settler)>), String> {
    let server = Server::at(settings.address.host.clone());
    let stream = &settings.address.stream;
    let poll = settings.poll();
    // A read waits in the broker, and then the answer may take its time.
    let open_one = async || kit::connect(&server, poll + settings.timeout).await;
    let mut connection = open_one().await?;
    for group in groups {
        create_group(&mut connection, stream, &group.name).await?;
    }
    let producer = Producer { connection: open_one().await?, stream: stream.clone() };
    let mut consumers = Vec::new();
    for group in groups {
        let own = match settings.shared_poll {
            Some(_) => producer.connection.clone(),
            None => open_one().await?,
        };
        let (stream, group) = (stream.clone(), group.name.clone());
        let settler = Settler {
            connection: connection.clone(),
            stream: stream.clone(),
            group: group.clone(),
        };
        let reader = Reader { connection: own, stream, group, again: Some(0), poll };
        consumers.push((reader, settler));
    }
    let groups = groups.iter().map(|group| group.name.clone()).collect();
    let keeper = Keeper { connection, stream: stream.clone(), groups, floor: None };
    Ok((producer, keeper, consumers))
}

/// Creates a group that gets the entries from now on, unless it is there.
async fn create_group(
    connection: &mut MultiplexedConnection,
    stream: &str,
    group: &str,
) -> Result<(), String> {
    let mut create = cmd("XGROUP");
    create.arg("CREATE").arg(stream).arg(group).arg("$").arg("MKSTREAM");
    match create.query_async::<()>(connection).await {
        Err(error) if error.code() != Some("BUSYGROUP") => Err(error.to_string()),
        _ => Ok(()),
    }
}

impl Producer {
    pub(super) async fn publish(&mut self, records: &[Bytes]) -> Result<(), Failure> {
        let mut all = Pipeline::with_capacity(records.len());
        if 1 < records.len() {
            all.atomic();
        }
        for record in records {
            all.cmd("XADD").arg(&self.stream).arg("*").arg(FIELD).arg(&record[..]).ignore();
        }
        all.query_async::<()>(&mut self.connection).await.map_err(|error| match error.code() {
            Some(_) => Failure::Refused(error.to_string()),
            None => Failure::Broken(error.to_string()),
        })
    }
}

impl Reader {
    pub(super) async fn read(&mut self, most: usize) -> Result<Vec<(Position, Bytes)>, String> {
        while let Some(after) = self.again {
            let arrivals = self.ask(most, None, &id(after)).await?;
            self.again = arrivals.last().map(|(position, _)| *position);
            if !arrivals.is_empty() {
                return Ok(arrivals);
            }
        }
        self.ask(most, Some(self.poll), ">").await
    }

    async fn ask(
        &mut self,
        most: usize,
        block: Option<Duration>,
        after: &str,
    ) -> Result<Vec<(Position, Bytes)>, String> {
        let mut read = cmd("XREADGROUP");
        read.arg("GROUP").arg(&self.group).arg(CONSUMER).arg("COUNT").arg(most);
        if let Some(block) = block {
            // Zero would be for ever.
            read.arg("BLOCK").arg(block.as_millis().max(1) as u64);
        }
        read.arg("STREAMS").arg(&self.stream).arg(after);
        let answer: Value = asked(&mut self.connection, &read).await?;
        entries(answer).ok_or_else(|| "its answer to XREADGROUP is not understood".to_owned())
    }
}

impl Settler {
    /// Acknowledges events by their positions.
    pub(super) async fn settle<R>(&mut self, ended: &[(Position, R)]) -> Result<(), String> {
        let mut acknowledge = cmd("XACK");
        acknowledge.arg(&self.stream).arg(&self.group);
        for (position, _) in ended {
            acknowledge.arg(id(*position));
        }
        asked(&mut self.connection, &acknowledge).await
    }
}

impl Keeper {
    pub(super) async fn forget(&mut self, lows: &[Option<Position>]) -> Result<(), String> {
        let Some(floor) = floor(lows).filter(|floor| self.floor != Some(*floor)) else {
            return Ok(());
        };
        let mut trim = cmd("XTRIM");
        trim.arg(&self.stream).arg("MINID").arg(id(floor));
        asked::<()>(&mut self.connection, &trim).await?;
        self.floor = Some(floor);
        Ok(())
    }

    /// Returns the entries that are read and not acknowledged, and those that are not read.
    pub(super) async fn backlog(&mut self, group: usize) -> Result<u64, String> {
        let mut info = cmd("XINFO");
        info.arg("GROUPS").arg(&self.stream);
        let groups: Vec<std::collections::HashMap<String, Value>> =
            asked(&mut self.connection, &info).await?;
        let is_it = |name: Option<&Value>| {
            name.is_some_and(|name| text(name) == Some(self.groups[group].as_bytes()))
        };
        let Some(found) = groups.into_iter().find(|found| is_it(found.get("name"))) else {
            return Err(format!("its stream {} has lost a group", self.stream));
        };
        let number = |name: &str| match found.get(name) {
            Some(Value::Int(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        match (number("pending"), number("lag")) {
            (Some(pending), Some(lag)) => Ok(pending + lag),
            // Redis before version 7 does not know, and later ones not after entries were deleted.
            _ => {
                let mut length = cmd("XLEN");
                length.arg(&self.stream);
                asked(&mut self.connection, &length).await
            }
        }
    }
}

async fn asked<T: redis::FromRedisValue>(
    connection: &mut MultiplexedConnection,
    command: &Cmd,
) -> Result<T, String> {
    command.query_async(connection).await.map_err(|error| error.to_string())
}

/// Returns the entries in an answer to XREADGROUP: nil, or one stream with its entries. The fields of
/// an entry that was deleted are nil: it becomes an empty record.
fn entries(answer: Value) -> Option<Vec<(Position, Bytes)>> {
    let mut streams = match answer {
        Value::Nil => return Some(Vec::new()),
        Value::Array(streams) => streams,
        _ => return None,
    };
    let Value::Array(stream) = streams.pop()? else { return None };
    let [_, Value::Array(entries)] = <[Value; 2]>::try_from(stream).ok()? else { return None };
    let arrival = |entry: Value| {
        let Value::Array(entry) = entry else { return None };
        let [id, fields] = <[Value; 2]>::try_from(entry).ok()?;
        let record = match fields {
            Value::Nil => Bytes::new(),
            Value::Array(fields) => match fields.into_iter().nth(1)? {
                Value::BulkString(record) => record.into(),
                _ => return None,
            },
            _ => return None,
        };
        Some((position(text(&id)?)?, record))
    };
    entries.into_iter().map(arrival).collect()
}

fn text(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.as_bytes()),
        _ => None,
    }
}

/// Returns the id of an entry: milliseconds and a number.
fn id(position: Position) -> String {
    format!("{}-{}", position >> 64, position as u64)
}

fn position(id: &[u8]) -> Option<Position> {
    let (time, number) = std::str::from_utf8(id).ok()?.split_once('-')?;
    let (time, number): (u64, u64) = (time.parse().ok()?, number.parse().ok()?);
    Some(Position::from(time) << 64 | Position::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    #[test]
    fn the_ids_of_entries_are_positions_in_the_same_order() {
        let ids = ["0-1", "1-0", "1-18446744073709551615", "1764079200000-3"];
        let positions: Vec<_> = ids.iter().map(|id| position(id.as_bytes()).unwrap()).collect();
        assert!(positions.is_sorted());
        assert_eq!(positions.into_iter().map(id).collect::<Vec<_>>(), ids);
        for wrong in ["", "1", "x-1", "1-", "-1-2", "18446744073709551616-0"] {
            assert_eq!(position(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn an_answer_has_entries_and_deleted_ones_are_empty() {
        let entry = |id, fields| Value::Array(vec![bulk(id), fields]);
        let list = vec![
            entry("1-1", Value::Array(vec![bulk("e"), bulk("data")])),
            entry("1-2", Value::Nil),
        ];
        let answer = Value::Array(vec![Value::Array(vec![bulk("s"), Value::Array(list)])]);
        let found = entries(answer).unwrap();
        let found: Vec<_> = found.iter().map(|(at, record)| (id(*at), &record[..])).collect();
        assert_eq!(found, [("1-1".to_owned(), &b"data"[..]), ("1-2".to_owned(), b"")]);
        assert!(entries(Value::Nil).unwrap().is_empty());
        for wrong in [
            Value::Okay,
            Value::Array(vec![]),
            Value::Array(vec![Value::Array(vec![bulk("s")])]),
            Value::Array(vec![Value::Array(vec![
                bulk("s"),
                Value::Array(vec![entry("x", Value::Nil)]),
            ])]),
        ] {
            assert!(entries(wrong.clone()).is_none(), "{wrong:?}");
        }
    }
}
