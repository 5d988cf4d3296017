//! The store: an embedded, durable database with the seeded data, and the only place where
//! anything changes.
//!
//! Readers take the last committed view and never wait for a writer. One thread writes: it takes
//! whatever bookings wait, decides all of them in one transaction, commits, publishes the new
//! view, and only then answers. So two bookings can never have the same room, an acknowledged
//! booking is seen by the next reader, and many at once cost one commit.
//!
//! A commit is in the file before it is acknowledged: it outlives the process, also `kill -9`.
//! It outlives a loss of power only with [`Durability::PowerLoss`].

use std::fs::{self, File, OpenOptions};
use std::io;
use std::iter;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, bail};
use redb::{
    Database, Key, ReadOnlyTable, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    StorageBackend, Table, TableDefinition, Value, WriteTransaction,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use super::data;
use super::profile::Hotel;
use super::rate::RatePlan;
use super::recommendation::Candidate;
use super::status::{Code, Status};
use super::stay::Night;

/// Hotel → latitude, longitude.
const PLACES: TableDefinition<&str, (f64, f64)> = TableDefinition::new("places");
/// Hotel → [`RatePlan`] as JSON.
const RATES: TableDefinition<&str, &[u8]> = TableDefinition::new("rates");
/// Hotel → [`Hotel`] as JSON.
const PROFILES: TableDefinition<&str, &[u8]> = TableDefinition::new("profiles");
/// Hotel → latitude, longitude, rate, price.
const RECOMMENDATIONS: TableDefinition<&str, (f64, f64, f64, f64)> =
    TableDefinition::new("recommendations");
/// Hotel → rooms.
const CAPACITIES: TableDefinition<&str, u32> = TableDefinition::new("capacities");
/// User → SHA-256 of the password.
const USERS: TableDefinition<&str, &str> = TableDefinition::new("users");
/// One document per booked night, in order of arrival: hotel, customer, night, rooms.
const RESERVATIONS: TableDefinition<u64, (&str, &str, Night, u32)> =
    TableDefinition::new("reservations");
/// Hotel and night → rooms taken: the sum of the documents, kept with them.
const NIGHTS: TableDefinition<(&str, Night), u32> = TableDefinition::new("nights");

/// As many bookings share one commit at most, so that none waits long for the others.
const LARGEST_BATCH: usize = 256;

/// The data is some 2 MB, and a long run adds some 20 MB.
const CACHE_BYTES: usize = 64 << 20;

/// What an acknowledged reservation outlives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process: it is in the file, though perhaps not yet on the disk.
    Kill,
    /// The death of the machine as well: the disk has confirmed it.
    PowerLoss,
}

/// Rooms asked for in each of some nights.
#[derive(Clone, Debug)]
pub struct Booking {
    pub hotel_id: String,
    pub customer_name: String,
    pub nights: Range<Night>,
    pub rooms: u32,
}

/// What became of a booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserved {
    Made,
    Full,
    UnknownHotel,
}

/// How much the store holds, and a digest of all of it: equal digests, equal bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub capacities: u64,
    pub digest: String,
    pub hotels: u64,
    pub nights: u64,
    pub profiles: u64,
    pub rates: u64,
    pub recommendations: u64,
    pub reservations: u64,
    pub users: u64,
}

pub struct Store {
    shared: Arc<Shared>,
    orders: Option<Sender<Order>>,
    writer: Option<JoinHandle<()>>,
}

/// What readers and the writer share.
struct Shared {
    database: Database,
    view: Mutex<Arc<View>>,
}

struct Order {
    booking: Booking,
    answer: oneshot::Sender<Result<Reserved, Status>>,
}

impl Store {
    /// Opens the store in a folder; a new one gets the seeded data.
    pub fn open(folder: &Path, durability: Durability) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        let path = folder.join("hotel.redb");
        let place = || format!("opening the store {}", path.display());
        let file = HotelFile::open(&path, durability).with_context(place)?;
        let mut builder = Database::builder();
        let database = builder.set_cache_size(CACHE_BYTES).create_with_backend(file);
        let database = database.map_err(anyhow::Error::new).with_context(place)?;
        Self::over(database).with_context(place)
    }

    pub(super) fn over(database: Database) -> anyhow::Result<Self> {
        if database.begin_read()?.list_tables()?.next().is_none() {
            seed(&database)?;
        }
        let view = Mutex::new(Arc::new(View::of(&database)?));
        let shared = Arc::new(Shared { database, view });
        let (orders, waiting) = mpsc::channel();
        let writing = Arc::clone(&shared);
        let writer = thread::Builder::new().name("store".into());
        let writer = writer.spawn(move || write(&writing, &waiting))?;
        Ok(Store { shared, orders: Some(orders), writer: Some(writer) })
    }

    /// The latitude and longitude of every hotel.
    pub fn places(&self) -> anyhow::Result<Vec<(String, (f64, f64))>> {
        rows(&self.shared.database, PLACES, |id, place| (id.to_owned(), place))
    }

    pub fn rates(&self) -> anyhow::Result<Vec<RatePlan>> {
        documents(&self.shared.database, RATES)
    }

    pub fn profiles(&self) -> anyhow::Result<Vec<Hotel>> {
        documents(&self.shared.database, PROFILES)
    }

    /// What recommendations are made from, in the order of the hotels' numbers.
    pub fn candidates(&self) -> anyhow::Result<Vec<Candidate>> {
        let candidate = |id: &str, (lat, lon, rate, price)| {
            let hotel_id = id.to_owned();
            Candidate { hotel_id, lat, lon, rate, price }
        };
        let mut candidates = rows(&self.shared.database, RECOMMENDATIONS, candidate)?;
        candidates.sort_by_key(|one| (one.hotel_id.len(), one.hotel_id.clone()));
        Ok(candidates)
    }

    /// Everything committed so far. Holding on to a view keeps its pages from being used again.
    pub fn view(&self) -> Arc<View> {
        Arc::clone(&self.shared.view.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The digest of a user's password, if there is such a user.
    pub fn password_digest(&self, username: &str) -> Result<Option<String>, Status> {
        let digest = self.view().users.get(username).map_err(redb::Error::from)?;
        Ok(digest.map(|digest| digest.value().to_owned()))
    }

    /// Takes the rooms in every night, or in none; returns when that is durable.
    pub async fn reserve(&self, booking: Booking) -> Result<Reserved, Status> {
        let (answer, answered) = oneshot::channel();
        // Bookings that wait are bounded by the connections, each of which carries one.
        let sent = self.orders.as_ref().map(|orders| orders.send(Order { booking, answer }));
        match (sent, answered.await) {
            (Some(Ok(())), Ok(reserved)) => reserved,
            _ => Err(Status::new(Code::Unavailable, "the store has stopped writing")),
        }
    }

    /// Whether reservations can be made: a store that failed to write once never writes again.
    pub fn is_writing(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| !writer.is_finished())
    }

    /// Counts and digests everything. It reads all there is, so it is not for the hot path.
    pub fn counts(&self) -> Result<Counts, Status> {
        count(&self.shared.database).map_err(Status::from)
    }

    /// Returns to the seeded data in one transaction, byte for byte.
    pub fn reset(&self) -> Result<Counts, Status> {
        seed(&self.shared.database)?;
        self.shared.publish()?;
        self.counts()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(writer) = self.writer.take() {
            // Its panic has been reported, and the store reports itself as not writing.
            let _ = writer.join();
        }
    }
}

/// The data as of one commit.
pub struct View {
    users: ReadOnlyTable<&'static str, &'static str>,
    capacities: ReadOnlyTable<&'static str, u32>,
    nights: ReadOnlyTable<(&'static str, Night), u32>,
}

impl View {
    fn of(database: &Database) -> Result<Self, redb::Error> {
        let read = database.begin_read()?;
        Ok(View {
            users: read.open_table(USERS)?,
            capacities: read.open_table(CAPACITIES)?,
            nights: read.open_table(NIGHTS)?,
        })
    }

    /// Whether a hotel has this many rooms in every night. Nobody has rooms in an unknown hotel.
    pub fn has_rooms(&self, hotel: &str, nights: Range<Night>, rooms: i32) -> Result<bool, Status> {
        let has_rooms = has_rooms(&self.capacities, &self.nights, hotel, nights, rooms.into());
        Ok(has_rooms.map_err(redb::Error::from)? == Some(true))
    }
}

/// Looks only at nights of which rooms are taken, however long the stay. `None`: no such hotel.
fn has_rooms(
    capacities: &impl ReadableTable<&'static str, u32>,
    taken: &impl ReadableTable<(&'static str, Night), u32>,
    hotel: &str,
    nights: Range<Night>,
    rooms: i64,
) -> redb::Result<Option<bool>> {
    let Some(capacity) = capacities.get(hotel)?.map(|capacity| i64::from(capacity.value())) else {
        return Ok(None);
    };
    if nights.is_empty() {
        return Ok(Some(true));
    }
    let mut has_rooms = rooms <= capacity;
    for night in taken.range((hotel, nights.start)..(hotel, nights.end))? {
        has_rooms &= i64::from(night?.1.value()) + rooms <= capacity;
    }
    Ok(Some(has_rooms))
}

impl Shared {
    /// Makes what was committed the view of all readers. The view is taken under the lock, so that
    /// an older one never replaces a newer one.
    fn publish(&self) -> Result<(), redb::Error> {
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        *view = Arc::new(View::of(&self.database)?);
        Ok(())
    }
}

/// The life of the writing thread. It ends with the store, or when a commit fails: a database that
/// could not write is in doubt until it is opened again.
fn write(shared: &Shared, waiting: &Receiver<Order>) {
    while let Ok(first) = waiting.recv() {
        let others = waiting.try_iter().take(LARGEST_BATCH - 1);
        let batch: Vec<Order> = iter::once(first).chain(others).collect();
        match decide(&shared.database, &batch).and_then(|decided| {
            shared.publish()?;
            Ok(decided)
        }) {
            Ok(decided) => answer(batch, decided.into_iter().map(Ok)),
            Err(error) => {
                return answer(batch, iter::repeat(Err(Status::from(error))));
            }
        }
    }
}

fn answer(batch: Vec<Order>, answers: impl Iterator<Item = Result<Reserved, Status>>) {
    for (order, answer) in batch.into_iter().zip(answers) {
        // Whoever asked may have gone; the reservation stands.
        let _ = order.answer.send(answer);
    }
}

/// Decides a batch in order, each knowing those before it, and commits if anything was taken.
fn decide(database: &Database, batch: &[Order]) -> Result<Vec<Reserved>, redb::Error> {
    let transaction = database.begin_write()?;
    let mut ledger = Ledger::open(&transaction)?;
    let decided: Result<Vec<_>, _> =
        batch.iter().map(|order| ledger.reserve(&order.booking)).collect();
    drop(ledger);
    let decided = decided?;
    match decided.contains(&Reserved::Made) {
        true => transaction.commit()?,
        false => transaction.abort()?,
    }
    Ok(decided)
}

/// The tables of a booking, open for writing.
struct Ledger<'transaction> {
    capacities: Table<'transaction, &'static str, u32>,
    nights: Table<'transaction, (&'static str, Night), u32>,
    reservations: Table<'transaction, u64, (&'static str, &'static str, Night, u32)>,
    next: u64,
}

impl<'transaction> Ledger<'transaction> {
    fn open(transaction: &'transaction WriteTransaction) -> Result<Self, redb::Error> {
        let reservations = transaction.open_table(RESERVATIONS)?;
        let next = reservations.last()?.map_or(0, |(number, _)| number.value() + 1);
        Ok(Ledger {
            capacities: transaction.open_table(CAPACITIES)?,
            nights: transaction.open_table(NIGHTS)?,
            reservations,
            next,
        })
    }

    fn reserve(&mut self, booking: &Booking) -> Result<Reserved, redb::Error> {
        let Booking { hotel_id, nights, rooms, .. } = booking;
        let hotel = hotel_id.as_str();
        match has_rooms(&self.capacities, &self.nights, hotel, nights.clone(), (*rooms).into())? {
            None => Ok(Reserved::UnknownHotel),
            Some(false) => Ok(Reserved::Full),
            Some(true) => self.take(booking).map(|()| Reserved::Made),
        }
    }

    /// No rooms take no place: a reservation of none succeeds and leaves no trace.
    fn take(&mut self, booking: &Booking) -> Result<(), redb::Error> {
        let Booking { hotel_id, customer_name, nights, rooms } = booking;
        if *rooms == 0 {
            return Ok(());
        }
        for night in nights.clone() {
            let key = (hotel_id.as_str(), night);
            let taken = self.nights.get(key)?.map_or(0, |taken| taken.value());
            self.nights.insert(key, taken + rooms)?;
            let document = (hotel_id.as_str(), customer_name.as_str(), night, *rooms);
            self.reservations.insert(self.next, document)?;
            self.next += 1;
        }
        Ok(())
    }
}

/// Replaces everything there is by the seeded data.
fn seed(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    let tables: Vec<_> = transaction.list_tables()?.collect();
    for table in tables {
        transaction.delete_table(table)?;
    }
    fill(&transaction, data::places(), PLACES, |(id, place)| (id.as_str(), *place))?;
    fill(&transaction, data::capacities(), CAPACITIES, |(id, rooms)| (id.as_str(), *rooms))?;
    fill(&transaction, data::users(), USERS, |(name, digest)| (name.as_str(), digest.as_str()))?;
    fill(&transaction, data::candidates(), RECOMMENDATIONS, |one| {
        (one.hotel_id.as_str(), (one.lat, one.lon, one.rate, one.price))
    })?;
    let rates = encoded(&data::rates(), |plan| &plan.hotel_id);
    fill(&transaction, rates, RATES, |(id, json)| (id.as_str(), json.as_slice()))?;
    let profiles = encoded(&data::profiles(), |hotel| &hotel.id);
    fill(&transaction, profiles, PROFILES, |(id, json)| (id.as_str(), json.as_slice()))?;
    let mut ledger = Ledger::open(&transaction)?;
    ledger.take(&data::first_booking())?;
    drop(ledger);
    transaction.commit()?;
    Ok(())
}

fn fill<K: Key + 'static, V: Value + 'static, Row>(
    transaction: &WriteTransaction,
    rows: Vec<Row>,
    table: TableDefinition<K, V>,
    entry: impl for<'row> Fn(&'row Row) -> (K::SelfType<'row>, V::SelfType<'row>),
) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(table)?;
    for row in &rows {
        let (key, value) = entry(row);
        table.insert(key, value)?;
    }
    Ok(())
}

fn encoded<T: Serialize>(items: &[T], id: impl Fn(&T) -> &String) -> Vec<(String, Vec<u8>)> {
    let json = |item| serde_json::to_vec(item).expect("documents have string keys only");
    items.iter().map(|item| (id(item).clone(), json(item))).collect()
}

fn documents<T: DeserializeOwned>(
    database: &Database,
    table: TableDefinition<&'static str, &'static [u8]>,
) -> anyhow::Result<Vec<T>> {
    let documents = rows(database, table, |_, json| serde_json::from_slice(json))?;
    Ok(documents.into_iter().collect::<Result<_, _>>()?)
}

fn rows<V: Value + 'static, Row>(
    database: &Database,
    table: TableDefinition<&'static str, V>,
    row: impl Fn(&str, V::SelfType<'_>) -> Row,
) -> anyhow::Result<Vec<Row>> {
    let table = database.begin_read()?.open_table(table)?;
    let mut rows = Vec::new();
    for entry in table.iter()? {
        let (key, value) = entry?;
        rows.push(row(key.value(), value.value()));
    }
    Ok(rows)
}

fn count(database: &Database) -> Result<Counts, redb::Error> {
    let read = database.begin_read()?;
    let mut digest = Sha256::new();
    Ok(Counts {
        capacities: digest_table(&read.open_table(CAPACITIES)?, &mut digest)?,
        hotels: digest_table(&read.open_table(PLACES)?, &mut digest)?,
        nights: digest_table(&read.open_table(NIGHTS)?, &mut digest)?,
        profiles: digest_table(&read.open_table(PROFILES)?, &mut digest)?,
        rates: digest_table(&read.open_table(RATES)?, &mut digest)?,
        recommendations: digest_table(&read.open_table(RECOMMENDATIONS)?, &mut digest)?,
        reservations: digest_table(&read.open_table(RESERVATIONS)?, &mut digest)?,
        users: digest_table(&read.open_table(USERS)?, &mut digest)?,
        digest: hex(digest),
    })
}

/// Adds the table's length and each entry's bytes, with their lengths, to the digest.
fn digest_table<K: Key + 'static, V: Value + 'static>(
    table: &ReadOnlyTable<K, V>,
    digest: &mut Sha256,
) -> Result<u64, redb::Error> {
    let length = table.len()?;
    digest.update(length.to_le_bytes());
    for entry in table.iter()? {
        let (key, value) = entry?;
        let (key, value) = (key.value(), value.value());
        for bytes in [K::as_bytes(&key).as_ref(), V::as_bytes(&value).as_ref()] {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        }
    }
    Ok(length)
}

/// SHA-256 in lower-case hexadecimal, without salt: how the contract stores passwords.
pub fn hex_digest(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}

fn hex(digest: Sha256) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |byte: u8| [byte >> 4, byte & 15].map(|half| char::from(DIGITS[half as usize]));
    digest.finalize().into_iter().flat_map(digits).collect()
}

/// The database's file. What is written is in the kernel's hands, and so outlives this process;
/// only [`Durability::PowerLoss`] waits for the disk.
#[derive(Debug)]
struct HotelFile {
    file: File,
    durability: Durability,
}

impl HotelFile {
    fn open(path: &Path, durability: Durability) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        if file.try_lock().is_err() {
            bail!("another process has it open");
        }
        Ok(HotelFile { file, durability })
    }
}

impl StorageBackend for HotelFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        match self.durability {
            Durability::Kill => Ok(()),
            Durability::PowerLoss => self.file.sync_data(),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }
}

#[cfg(test)]
mod tests;
