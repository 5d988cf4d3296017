//! The seeding of a new instance in PostgreSQL, its reset, and its counts.
//!
//! Each is one transaction. With the rows of all hotels locked no booking can be in progress;
//! lookups meanwhile see the previous state.

use prost::Message;
use sha2::{Digest, Sha256};
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, Error, IsolationLevel, Row, Transaction};

use crate::hotel::api::store::{Booking, CountsReply, Place};
use crate::hotel::data::{self, hex};

pub(super) const RESTAURANT: &str = "restaurant";
pub(super) const MUSEUM: &str = "museum";
pub(super) const CINEMA: &str = "cinema";

/// An arbitrary number: only our processes take this lock, which belongs to one database.
const PREPARING: i64 = 0x0068_6f74_656c;

/// The number of rows that are fetched at once for counting.
const ROWS: i32 = 4096;

/// Creates the tables and fills them, unless that is done already.
pub(super) async fn prepare(client: &mut Client) -> Result<(), Error> {
    if is_prepared(client.query_one(IS_PREPARED, &[]).await?) {
        return Ok(());
    }
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&PREPARING]).await?;
    // The previous holder of the lock has prepared everything.
    if !is_prepared(transaction.query_one(IS_PREPARED, &[]).await?) {
        transaction.batch_execute(include_str!("schema.sql")).await?;
        fill(&transaction).await?;
    }
    transaction.commit().await
}

/// Reads the catalogue's tables, which show what was committed before the query. `to_regclass`
/// would remember, for the rest of its transaction, that the table did not exist.
const IS_PREPARED: &str = "SELECT EXISTS (
    SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = 'hotel' AND relname = 'reservations')";

fn is_prepared(row: Row) -> bool {
    row.get(0)
}

/// Replaces all data by the seeded data, and counts it.
pub(super) async fn reset(client: &mut Client) -> Result<CountsReply, Error> {
    let transaction = client.transaction().await?;
    // Hotels keep their rows: bookings wait for the locks on them.
    transaction.batch_execute(HOLD_ALL).await?;
    for (table, _) in TABLES.iter().filter(|(table, _)| *table != CAPACITIES) {
        transaction.batch_execute(&format!("DELETE FROM hotel.{table}")).await?;
    }
    let first = "ALTER TABLE hotel.reservations ALTER COLUMN number RESTART WITH 1";
    transaction.batch_execute(first).await?;
    fill(&transaction).await?;
    let counted = count_in(&transaction).await?;
    transaction.commit().await?;
    Ok(counted)
}

const HOLD_ALL: &str = "SELECT FROM hotel.capacities ORDER BY hotel FOR UPDATE";

/// Returns the number of rows of each kind, and a digest of them, as of one moment.
pub(super) async fn count(client: &mut Client) -> Result<CountsReply, Error> {
    let view = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let transaction = view.read_only(true).start().await?;
    let counted = count_in(&transaction).await?;
    transaction.commit().await?;
    Ok(counted)
}

async fn fill(transaction: &Transaction<'_>) -> Result<(), Error> {
    let places = data::places();
    let place = |one: &Place| (one.id.clone(), one.lat, one.lon);
    let (hotels, lats, lons) = columns(places.iter().map(place));
    insert(
        transaction,
        "places SELECT * FROM unnest($1::text[], $2::float8[], $3::float8[])",
        &[&hotels, &lats, &lons],
    )
    .await?;

    let candidates = data::candidates();
    let rates: Vec<f64> = candidates.iter().map(|one| one.rate).collect();
    let prices: Vec<f64> = candidates.iter().map(|one| one.price).collect();
    let (hotels, lats, lons) =
        columns(candidates.iter().filter_map(|one| one.place.as_ref()).map(place));
    insert(
        transaction,
        "recommendations SELECT * FROM
         unnest($1::text[], $2::float8[], $3::float8[], $4::float8[], $5::float8[])",
        &[&hotels, &lats, &lons, &rates, &prices],
    )
    .await?;

    // The original has cinemas, but no data for them.
    for (kind, places) in [(RESTAURANT, data::restaurants()), (MUSEUM, data::museums())] {
        let (names, lats, lons) = columns(places.iter().map(place));
        insert(
            transaction,
            "attractions SELECT $1::text, * FROM unnest($2::text[], $3::float8[], $4::float8[])",
            &[&kind, &names, &lats, &lons],
        )
        .await?;
    }

    let rates = data::rates();
    let (hotels, documents) = encoded(&rates, |plan| &plan.hotel_id);
    let into = "rates SELECT * FROM unnest($1::text[], $2::bytea[])";
    insert(transaction, into, &[&hotels, &documents]).await?;
    let profiles = data::profiles();
    let (hotels, documents) = encoded(&profiles, |hotel| &hotel.id);
    let into = "profiles SELECT * FROM unnest($1::text[], $2::bytea[])";
    insert(transaction, into, &[&hotels, &documents]).await?;
    let reviews = data::reviews();
    let (names, documents) = encoded(&reviews, |review| &review.review_id);
    let hotels: Vec<&str> = reviews.iter().map(|review| review.hotel_id.as_str()).collect();
    let into = "reviews SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[])";
    insert(transaction, into, &[&names, &hotels, &documents]).await?;

    let (names, digests): (Vec<_>, Vec<_>) = data::users().into_iter().unzip();
    let into = "users SELECT * FROM unnest($1::text[], $2::text[])";
    insert(transaction, into, &[&names, &digests]).await?;
    let (hotels, rooms): (Vec<_>, Vec<_>) =
        data::capacities().into_iter().map(|(hotel, rooms)| (hotel, i64::from(rooms))).unzip();
    let into = "capacities SELECT * FROM unnest($1::text[], $2::bigint[])
         ON CONFLICT (hotel) DO UPDATE SET rooms = excluded.rooms";
    insert(transaction, into, &[&hotels, &rooms]).await?;

    let Booking { hotel_id, customer_name, begin, end, rooms } = data::first_booking();
    let about: [&(dyn ToSql + Sync); 5] =
        [&hotel_id, &customer_name, &begin, &end, &i64::from(rooms)];
    transaction.execute("SELECT hotel.reserve($1, $2, $3, $4, $5)", &about).await?;
    Ok(())
}

async fn insert(
    transaction: &Transaction<'_>,
    into: &str,
    columns: &[&(dyn ToSql + Sync)],
) -> Result<(), Error> {
    transaction.execute(&format!("INSERT INTO hotel.{into}"), columns).await?;
    Ok(())
}

fn columns(places: impl Iterator<Item = (String, f64, f64)>) -> (Vec<String>, Vec<f64>, Vec<f64>) {
    let mut columns = (Vec::new(), Vec::new(), Vec::new());
    for (id, lat, lon) in places {
        columns.0.push(id);
        columns.1.push(lat);
        columns.2.push(lon);
    }
    columns
}

fn encoded<T: Message>(items: &[T], id: impl Fn(&T) -> &String) -> (Vec<&str>, Vec<Vec<u8>>) {
    items.iter().map(|item| (id(item).as_str(), item.encode_to_vec())).unzip()
}

const CAPACITIES: &str = "capacities";

/// All tables, in the order of the reply, with the columns that sort their rows.
const TABLES: [(&str, &str); 10] = [
    ("attractions", "kind, name"),
    (CAPACITIES, "hotel"),
    ("places", "hotel"),
    ("nights", "hotel, night"),
    ("profiles", "hotel"),
    ("rates", "hotel"),
    ("recommendations", "hotel"),
    ("reservations", "number"),
    ("reviews", "review"),
    ("users", "name"),
];

async fn count_in(transaction: &Transaction<'_>) -> Result<CountsReply, Error> {
    let mut digest = Sha256::new();
    let mut lengths = [0; TABLES.len()];
    for ((table, order), length) in TABLES.iter().zip(&mut lengths) {
        *length = digest_table(transaction, table, order, &mut digest).await?;
    }
    let [
        attractions,
        capacities,
        hotels,
        nights,
        profiles,
        rates,
        recommendations,
        reservations,
        reviews,
        users,
    ] = lengths;
    Ok(CountsReply {
        attractions,
        capacities,
        digest: hex(digest),
        hotels,
        nights,
        profiles,
        rates,
        recommendations,
        reservations,
        reviews,
        users,
    })
}

/// Adds each row's bytes, with their lengths, and then the table's length to the digest.
async fn digest_table(
    transaction: &Transaction<'_>,
    table: &str,
    order: &str,
    digest: &mut Sha256,
) -> Result<u64, Error> {
    let all = format!("SELECT * FROM hotel.{table} ORDER BY {order}");
    let portal = transaction.bind(&all, &[]).await?;
    let mut length = 0;
    loop {
        let rows = transaction.query_portal(&portal, ROWS).await?;
        for row in &rows {
            for column in 0..row.len() {
                let Raw(bytes) = row.get(column);
                digest.update((bytes.len() as u64).to_le_bytes());
                digest.update(bytes);
            }
        }
        length += rows.len() as u64;
        if rows.len() < ROWS as usize {
            digest.update(length.to_le_bytes());
            return Ok(length);
        }
    }
}

/// A value in its wire format, which is the same on all machines.
struct Raw<'row>(&'row [u8]);

impl<'row> FromSql<'row> for Raw<'row> {
    fn from_sql(
        _: &Type,
        bytes: &'row [u8],
    ) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Raw(bytes))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
