//! The store: an embedded, durable database with the seeded data, and the only place where data
//! changes.
//!
//! Readers use the last committed view and never wait for a writer. One thread writes ([`Writer`]),
//! and publishes the new view before it replies. So two bookings never get the same room, and the
//! next reader sees an acknowledged booking.
//!
//! A commit is in the file before it is acknowledged: it survives the death of the process, even by
//! `kill -9`. It survives a loss of power only with [`Durability::PowerLoss`].

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use prost::Message;
use redb::{
    Database, Key, ReadOnlyTable, ReadableDatabase, ReadableTable, ReadableTableMetadata, Table,
    TableDefinition, Value, WriteTransaction,
};
use sha2::{Digest, Sha256};
use tonic::{Request, Response, Status, async_trait};

use super::api;
use super::api::review::ReviewComm;
use super::api::store::{
    AttractionsReply, Booking, Candidate, CandidatesReply, CountsReply, HasRoomsReply,
    HasRoomsRequest, Hotels, Nothing, PasswordDigestReply, PasswordDigestRequest, Place,
    PlacesReply, ProfilesReply, RatePlansReply, Reserved, ReviewsReply,
};
use super::command::StoreArguments;
use super::data::{self, hex};
use super::stay::{LONGEST_STAY, Night};
use super::{Process, Service};
use crate::kit::folder::Folder;
use crate::kit::health::{Health, Needed};
use crate::kit::lock::lock;
use crate::kit::process;
use crate::kit::services::Service as _;
use crate::kit::store::{self, Durability};
use crate::kit::writer::Writer;

/// The most bytes of the database that are kept in memory: the data is about 2 MB, and a long run adds
/// about 20 MB.
const CACHE_BYTES: usize = 64 << 20;

/// Hotel → latitude, longitude.
const PLACES: TableDefinition<&str, (f64, f64)> = TableDefinition::new("places");
/// Hotel → [`api::rate::RatePlan`], encoded.
const RATES: TableDefinition<&str, &[u8]> = TableDefinition::new("rates");
/// Hotel → [`api::profile::Hotel`], encoded.
const PROFILES: TableDefinition<&str, &[u8]> = TableDefinition::new("profiles");
/// Hotel → latitude, longitude, rate, price.
const RECOMMENDATIONS: TableDefinition<&str, (f64, f64, f64, f64)> =
    TableDefinition::new("recommendations");
/// Review → [`ReviewComm`], encoded.
const REVIEWS: TableDefinition<&str, &[u8]> = TableDefinition::new("reviews");
/// Kind and name → latitude, longitude.
const ATTRACTIONS: TableDefinition<&str, (f64, f64)> = TableDefinition::new("attractions");
const RESTAURANT: &str = "restaurant/";
const MUSEUM: &str = "museum/";
const CINEMA: &str = "cinema/";
/// Hotel → rooms.
const CAPACITIES: TableDefinition<&str, u32> = TableDefinition::new("capacities");
/// User → SHA-256 of the password.
const USERS: TableDefinition<&str, &str> = TableDefinition::new("users");
/// One document per booked night, in order of arrival: hotel, customer, night, rooms.
const RESERVATIONS: TableDefinition<u64, (&str, &str, Night, u32)> =
    TableDefinition::new("reservations");
/// Hotel and night → rooms taken: the sum of the documents, kept with them.
const NIGHTS: TableDefinition<(&str, Night), u32> = TableDefinition::new("nights");

/// The outcome of a booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decided {
    Made,
    Full,
    UnknownHotel,
}

/// The store of this process.
pub struct Embedded {
    shared: Arc<Shared>,
    writer: Writer<Booking, Decided>,
}

/// The data that readers and the writer share.
struct Shared {
    database: Database,
    view: Mutex<Arc<View>>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(arguments: StoreArguments) -> anyhow::Result<()> {
    let durability = arguments.durability();
    // It is removed when nothing writes into it any more.
    let folder = Folder::choose(Service::APPLICATION, arguments.data)?;
    process::run(arguments.common, async |process: &Process| {
        let store = Arc::new(Embedded::open(folder.path(), durability)?);
        let health = Health::of_part(Arc::clone(&store) as _);
        Ok(process.page(Service::Store, api::store::answering(store), health))
    })
}

impl Embedded {
    /// Opens the store in a folder; a new one gets the seeded data.
    pub fn open(folder: &Path, durability: Durability) -> anyhow::Result<Self> {
        store::opened(folder, "hotel.redb", durability, CACHE_BYTES, Self::over)
    }

    pub(super) fn over(database: Database) -> anyhow::Result<Self> {
        if database.begin_read()?.list_tables()?.next().is_none() {
            seed(&database)?;
        }
        let view = Mutex::new(Arc::new(View::of(&database)?));
        let shared = Arc::new(Shared { database, view });
        let writing = Arc::clone(&shared);
        let writer = Writer::start(move |batch| {
            let decided = decide(&writing.database, batch)?;
            writing.publish()?;
            Ok(decided)
        })?;
        Ok(Embedded { shared, writer })
    }

    /// Returns everything committed so far. A view that is kept prevents the reuse of its pages.
    pub fn view(&self) -> Arc<View> {
        Arc::clone(&lock(&self.shared.view))
    }
}

/// Runs work that takes milliseconds on another thread, so that it does not delay the calls.
async fn in_background<T: Send + 'static>(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Shared) -> Result<T, redb::Error> + Send + 'static,
) -> Result<Response<T>, Status> {
    let shared = Arc::clone(shared);
    let done = tokio::task::spawn_blocking(move || work(&shared)).await;
    let done = done.map_err(|error| Status::internal(error.to_string()))?;
    done.map(Response::new).map_err(unavailable)
}

impl Needed for Embedded {
    fn unhealthy(&self) -> Option<String> {
        self.writer.unhealthy()
    }
}

#[async_trait]
impl api::store::Store for Embedded {
    async fn places(&self, _: Request<Nothing>) -> Result<Response<PlacesReply>, Status> {
        let places = rows(&self.shared.database, PLACES, place).map_err(unavailable)?;
        Ok(Response::new(PlacesReply { places }))
    }

    /// Returns them in the order of the hotels' numbers.
    async fn candidates(&self, _: Request<Nothing>) -> Result<Response<CandidatesReply>, Status> {
        let candidate = |id: &str, (lat, lon, rate, price)| Candidate {
            place: Some(place(id, (lat, lon))),
            rate,
            price,
        };
        let candidates = rows(&self.shared.database, RECOMMENDATIONS, candidate);
        let mut candidates = candidates.map_err(unavailable)?;
        candidates
            .sort_by_key(|one| one.place.as_ref().map(|place| (place.id.len(), place.id.clone())));
        Ok(Response::new(CandidatesReply { candidates }))
    }

    async fn attractions(&self, _: Request<Nothing>) -> Result<Response<AttractionsReply>, Status> {
        let all = rows(&self.shared.database, ATTRACTIONS, place).map_err(unavailable)?;
        let of = |kind: &str| {
            let name = |one: &Place| Some(one.id.strip_prefix(kind)?.to_owned());
            let named = all.iter().filter_map(|one| Some(Place { id: name(one)?, ..one.clone() }));
            named.collect()
        };
        Ok(Response::new(AttractionsReply {
            hotels: rows(&self.shared.database, PLACES, place).map_err(unavailable)?,
            restaurants: of(RESTAURANT),
            museums: of(MUSEUM),
            cinemas: of(CINEMA),
        }))
    }

    async fn rate_plans(
        &self,
        request: Request<Hotels>,
    ) -> Result<Response<RatePlansReply>, Status> {
        let of = request.into_inner().hotel_ids;
        let rate_plans = documents(&self.shared.database, RATES, &of).map_err(unavailable)?;
        Ok(Response::new(RatePlansReply { rate_plans }))
    }

    async fn profiles(&self, request: Request<Hotels>) -> Result<Response<ProfilesReply>, Status> {
        let of = request.into_inner().hotel_ids;
        let hotels = documents(&self.shared.database, PROFILES, &of).map_err(unavailable)?;
        Ok(Response::new(ProfilesReply { hotels }))
    }

    async fn reviews(&self, request: Request<Hotels>) -> Result<Response<ReviewsReply>, Status> {
        let of = request.into_inner().hotel_ids;
        let reviews: Result<Vec<ReviewComm>, _> = documents(&self.shared.database, REVIEWS, &[]);
        let mut reviews = reviews.map_err(unavailable)?;
        reviews.retain(|review| of.is_empty() || of.contains(&review.hotel_id));
        Ok(Response::new(ReviewsReply { reviews }))
    }

    async fn password_digest(
        &self,
        request: Request<PasswordDigestRequest>,
    ) -> Result<Response<PasswordDigestReply>, Status> {
        let view = self.view();
        let digest = view.users.get(request.get_ref().username.as_str());
        let digest = digest.map_err(|error| unavailable(error.into()))?;
        let digest = digest.map(|digest| digest.value().to_owned());
        Ok(Response::new(PasswordDigestReply { digest }))
    }

    /// Returns the hotels that have the rooms in every night.
    async fn has_rooms(
        &self,
        request: Request<HasRoomsRequest>,
    ) -> Result<Response<HasRoomsReply>, Status> {
        let HasRoomsRequest { hotel_ids, begin, end, rooms } = request.into_inner();
        let view = self.view();
        let mut with_rooms = Vec::with_capacity(hotel_ids.len());
        for hotel in hotel_ids {
            if view.has_rooms(&hotel, begin..end, rooms).map_err(unavailable)? {
                with_rooms.push(hotel);
            }
        }
        Ok(Response::new(HasRoomsReply { hotel_ids: with_rooms }))
    }

    async fn reserve(&self, request: Request<Booking>) -> Result<Response<Reserved>, Status> {
        let booking = request.into_inner();
        let nights = i64::from(booking.end) - i64::from(booking.begin);
        if (LONGEST_STAY as i64) < nights {
            return Err(Status::invalid_argument("a stay is at most 366 nights"));
        }
        let hotel = booking.hotel_id.clone();
        match self.writer.decided(booking).await? {
            Decided::Made => Ok(Response::new(Reserved { made: true })),
            Decided::Full => Ok(Response::new(Reserved { made: false })),
            Decided::UnknownHotel => Err(Status::not_found(format!("unknown hotel {hotel:?}"))),
        }
    }

    /// Counts and digests everything.
    async fn counts(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        in_background(&self.shared, |shared| count(&shared.database)).await
    }

    /// Returns to the seeded data in one transaction, byte for byte.
    async fn reset(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        in_background(&self.shared, |shared| {
            seed(&shared.database)?;
            shared.publish()?;
            count(&shared.database)
        })
        .await
    }
}

/// Turns any error of the database into `Unavailable`: the caller cannot recover from it.
fn unavailable(error: redb::Error) -> Status {
    Status::unavailable(error.to_string())
}

fn place(id: &str, (lat, lon): (f64, f64)) -> Place {
    Place { id: id.to_owned(), lat, lon }
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

    /// Returns true if a hotel has this many rooms in every night. An unknown hotel has no rooms.
    pub fn has_rooms(
        &self,
        hotel: &str,
        nights: Range<Night>,
        rooms: i32,
    ) -> Result<bool, redb::Error> {
        let has_rooms = has_rooms(&self.capacities, &self.nights, hotel, nights, rooms.into());
        Ok(has_rooms? == Some(true))
    }
}

/// Reads only nights with reserved rooms, however long the stay. `None`: the hotel is unknown.
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
    /// Publishes the committed data as the view of all readers. The view is taken under the lock,
    /// so that an older one never replaces a newer one.
    fn publish(&self) -> Result<(), redb::Error> {
        let mut view = lock(&self.view);
        *view = Arc::new(View::of(&self.database)?);
        Ok(())
    }
}

/// Decides a batch in order, each booking after those before it, and commits if any was made.
fn decide(database: &Database, batch: &[Booking]) -> Result<Vec<Decided>, redb::Error> {
    let transaction = database.begin_write()?;
    let mut ledger = Ledger::open(&transaction)?;
    let decided: Result<Vec<_>, _> = batch.iter().map(|booking| ledger.reserve(booking)).collect();
    drop(ledger);
    let decided = decided?;
    match decided.contains(&Decided::Made) {
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

    fn reserve(&mut self, booking: &Booking) -> Result<Decided, redb::Error> {
        let Booking { hotel_id, begin, end, rooms, .. } = booking;
        let hotel = hotel_id.as_str();
        match has_rooms(&self.capacities, &self.nights, hotel, *begin..*end, (*rooms).into())? {
            None => Ok(Decided::UnknownHotel),
            Some(false) => Ok(Decided::Full),
            Some(true) => self.take(booking).map(|()| Decided::Made),
        }
    }

    /// Writes the documents of a booking. A reservation of zero rooms succeeds and leaves no
    /// document.
    fn take(&mut self, booking: &Booking) -> Result<(), redb::Error> {
        let Booking { hotel_id, customer_name, begin, end, rooms } = booking;
        if *rooms == 0 {
            return Ok(());
        }
        for night in *begin..*end {
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

/// Replaces all data by the seeded data.
fn seed(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    let tables: Vec<_> = transaction.list_tables()?.collect();
    for table in tables {
        transaction.delete_table(table)?;
    }
    fill(&transaction, data::places(), PLACES, |one| (one.id.as_str(), (one.lat, one.lon)))?;
    fill(&transaction, data::capacities(), CAPACITIES, |(id, rooms)| (id.as_str(), *rooms))?;
    fill(&transaction, data::users(), USERS, |(name, digest)| (name.as_str(), digest.as_str()))?;
    let candidates = data::candidates().into_iter().filter_map(|one| {
        let Candidate { place, rate, price } = one;
        place.map(|place| (place.id, (place.lat, place.lon, rate, price)))
    });
    fill(&transaction, candidates.collect(), RECOMMENDATIONS, |(id, one)| (id.as_str(), *one))?;
    let rates = encoded(&data::rates(), |plan| &plan.hotel_id);
    fill(&transaction, rates, RATES, |(id, bytes)| (id.as_str(), bytes.as_slice()))?;
    let profiles = encoded(&data::profiles(), |hotel| &hotel.id);
    fill(&transaction, profiles, PROFILES, |(id, bytes)| (id.as_str(), bytes.as_slice()))?;
    let reviews = encoded(&data::reviews(), |review| &review.review_id);
    fill(&transaction, reviews, REVIEWS, |(id, bytes)| (id.as_str(), bytes.as_slice()))?;
    // The original has cinemas, but no data for them.
    for (kind, places) in [(RESTAURANT, data::restaurants()), (MUSEUM, data::museums())] {
        let named = places.into_iter().map(|one| (format!("{kind}{}", one.id), (one.lat, one.lon)));
        fill(&transaction, named.collect(), ATTRACTIONS, |(id, place)| (id.as_str(), *place))?;
    }
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

fn encoded<T: Message>(items: &[T], id: impl Fn(&T) -> &String) -> Vec<(String, Vec<u8>)> {
    items.iter().map(|item| (id(item).clone(), item.encode_to_vec())).collect()
}

/// Returns the documents with these ids, in the given order; an empty list returns all.
fn documents<T: Message + Default>(
    database: &Database,
    table: TableDefinition<&'static str, &'static [u8]>,
    of: &[String],
) -> Result<Vec<T>, redb::Error> {
    let table = database.begin_read()?.open_table(table)?;
    let decode =
        |bytes: &[u8]| T::decode(bytes).map_err(|error| redb::Error::Corrupted(error.to_string()));
    if of.is_empty() {
        return table.iter()?.map(|entry| decode(entry?.1.value())).collect();
    }
    let found = of.iter().map(|id| table.get(id.as_str())).filter_map(Result::transpose);
    found.map(|entry| decode(entry?.value())).collect()
}

fn rows<V: Value + 'static, Row>(
    database: &Database,
    table: TableDefinition<&'static str, V>,
    row: impl Fn(&str, V::SelfType<'_>) -> Row,
) -> Result<Vec<Row>, redb::Error> {
    let table = database.begin_read()?.open_table(table)?;
    let mut rows = Vec::new();
    for entry in table.iter()? {
        let (key, value) = entry?;
        rows.push(row(key.value(), value.value()));
    }
    Ok(rows)
}

fn count(database: &Database) -> Result<CountsReply, redb::Error> {
    let read = database.begin_read()?;
    let mut digest = Sha256::new();
    Ok(CountsReply {
        attractions: digest_table(&read.open_table(ATTRACTIONS)?, &mut digest)?,
        capacities: digest_table(&read.open_table(CAPACITIES)?, &mut digest)?,
        hotels: digest_table(&read.open_table(PLACES)?, &mut digest)?,
        nights: digest_table(&read.open_table(NIGHTS)?, &mut digest)?,
        profiles: digest_table(&read.open_table(PROFILES)?, &mut digest)?,
        rates: digest_table(&read.open_table(RATES)?, &mut digest)?,
        recommendations: digest_table(&read.open_table(RECOMMENDATIONS)?, &mut digest)?,
        reservations: digest_table(&read.open_table(RESERVATIONS)?, &mut digest)?,
        reviews: digest_table(&read.open_table(REVIEWS)?, &mut digest)?,
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

#[cfg(test)]
mod tests;
