//! The store in PostgreSQL: the same replies as the embedded one, from a database that several
//! processes use without a store process between.
//!
//! Each process keeps a few connections open. Calls share them: queries are pipelined on a
//! connection. A broken connection is replaced, and until then calls fail with `Unavailable`. An
//! operation that needs a transaction of several statements (counts, reset, seeding) opens a
//! short-lived connection, one at a time. A booking is one statement, which locks its hotel's row:
//! no lock is ever held while we wait for anything but PostgreSQL.

use std::borrow::Cow;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};
use tonic::{Request, Response, Status, async_trait};

use super::api;
use super::api::store::{
    AttractionsReply, Booking, Candidate, CandidatesReply, CountsReply, HasRoomsReply,
    HasRoomsRequest, Hotels, Nothing, PasswordDigestReply, PasswordDigestRequest, Place,
    PlacesReply, ProfilesReply, RatePlansReply, Reserved, ReviewsReply,
};
use super::stay::LONGEST_STAY;
use crate::kit::health::Needed;
use crate::kit::postgres::{self, Administration, Connected, Database, Links, unavailable};
use crate::kit::statistics::Statistics;
use crate::kit::timeout;

mod seed;

/// The purpose of a process's connections. A process that books keeps more than one, since bookings
/// on one connection wait for each other's commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Reads,
    Books,
}

impl Use {
    fn connections(self) -> usize {
        match self {
            Use::Reads => 1,
            Use::Books => 3,
        }
    }
}

/// The database of one instance.
pub struct Postgres {
    /// The first is for reads, the others are for bookings.
    links: Links<Statements>,
    administration: Administration,
    deadline: Duration,
    statistics: Arc<Statistics>,
}

impl Postgres {
    /// Connects, and creates the tables if they are missing. Waits for a database that is starting,
    /// but no longer than `within`.
    pub async fn connect(
        database: &Database,
        purpose: Use,
        (deadline, within): (Duration, Duration),
        statistics: Arc<Statistics>,
    ) -> anyhow::Result<Self> {
        database.prepare(within, seed::prepare).await?;
        Ok(Postgres {
            links: Links::connect(database, purpose.connections(), within).await?,
            administration: Administration::of(database),
            deadline,
            statistics,
        })
    }

    /// Returns the connection for reads.
    fn reader(&self) -> Result<Arc<Connected<Statements>>, Status> {
        self.links.first()
    }

    /// Returns the next connection for bookings that is connected.
    fn writer(&self) -> Result<Arc<Connected<Statements>>, Status> {
        self.links.next_after(1)
    }

    /// Runs a query with the deadline; its time counts as waiting for others.
    async fn within<T>(
        &self,
        asked: impl Future<Output = Result<T, Status>>,
    ) -> Result<Response<T>, Status> {
        let asked = pin!(asked);
        let answer = timeout::within(self.deadline, "PostgreSQL", &self.statistics, asked).await;
        answer.map(Response::new)
    }

    async fn rows(
        &self,
        question: fn(&Statements) -> &Statement,
        about: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Status> {
        let connected = self.reader()?;
        let Connected { client, statements } = &*connected;
        client.query(question(statements), about).await.map_err(unavailable)
    }

    /// Returns the documents of these hotels, in the given order; an empty list returns all.
    async fn documents<T: Message + Default>(
        &self,
        question: fn(&Statements) -> &Statement,
        hotels: &[String],
    ) -> Result<Vec<T>, Status> {
        let hotels: Vec<_> = hotels.iter().map(|hotel| text(hotel)).collect();
        let rows = self.rows(question, &[&hotels]).await?;
        let decoded = rows.iter().map(|row| T::decode(row.get::<_, &[u8]>(0)));
        let wrong = |error| Status::unavailable(format!("a document in PostgreSQL: {error}"));
        decoded.collect::<Result<_, _>>().map_err(wrong)
    }
}

impl Needed for Postgres {
    fn unhealthy(&self) -> Option<String> {
        (!self.links.are_connected()).then(|| self.links.lost().message().to_owned())
    }
}

#[async_trait]
impl api::store::Store for Postgres {
    async fn places(&self, _: Request<Nothing>) -> Result<Response<PlacesReply>, Status> {
        self.within(async {
            let rows = self.rows(|all| &all.places, &[]).await?;
            Ok(PlacesReply { places: rows.iter().map(place).collect() })
        })
        .await
    }

    /// Returns them in the order of the hotels' numbers.
    async fn candidates(&self, _: Request<Nothing>) -> Result<Response<CandidatesReply>, Status> {
        let candidate =
            |row: &Row| Candidate { place: Some(place(row)), rate: row.get(3), price: row.get(4) };
        self.within(async {
            let rows = self.rows(|all| &all.candidates, &[]).await?;
            Ok(CandidatesReply { candidates: rows.iter().map(candidate).collect() })
        })
        .await
    }

    async fn attractions(&self, _: Request<Nothing>) -> Result<Response<AttractionsReply>, Status> {
        self.within(async {
            let hotels = self.rows(|all| &all.places, &[]).await?;
            let all = self.rows(|all| &all.attractions, &[]).await?;
            let of = |kind: &str| {
                let of_kind = all.iter().filter(|row| row.get::<_, &str>(3) == kind);
                of_kind.map(place).collect()
            };
            Ok(AttractionsReply {
                hotels: hotels.iter().map(place).collect(),
                restaurants: of(seed::RESTAURANT),
                museums: of(seed::MUSEUM),
                cinemas: of(seed::CINEMA),
            })
        })
        .await
    }

    async fn rate_plans(
        &self,
        request: Request<Hotels>,
    ) -> Result<Response<RatePlansReply>, Status> {
        let of = request.into_inner().hotel_ids;
        let plans = async { self.documents(|all| &all.rates, &of).await };
        self.within(async { Ok(RatePlansReply { rate_plans: plans.await? }) }).await
    }

    async fn profiles(&self, request: Request<Hotels>) -> Result<Response<ProfilesReply>, Status> {
        let of = request.into_inner().hotel_ids;
        let hotels = async { self.documents(|all| &all.profiles, &of).await };
        self.within(async { Ok(ProfilesReply { hotels: hotels.await? }) }).await
    }

    async fn reviews(&self, request: Request<Hotels>) -> Result<Response<ReviewsReply>, Status> {
        let of = request.into_inner().hotel_ids;
        let reviews = async { self.documents(|all| &all.reviews, &of).await };
        self.within(async { Ok(ReviewsReply { reviews: reviews.await? }) }).await
    }

    async fn password_digest(
        &self,
        request: Request<PasswordDigestRequest>,
    ) -> Result<Response<PasswordDigestReply>, Status> {
        let name = request.into_inner().username;
        self.within(async {
            let rows = self.rows(|all| &all.digest, &[&text(&name)]).await?;
            Ok(PasswordDigestReply { digest: rows.first().map(|row| row.get(0)) })
        })
        .await
    }

    /// Returns the hotels that have the rooms in every night.
    async fn has_rooms(
        &self,
        request: Request<HasRoomsRequest>,
    ) -> Result<Response<HasRoomsReply>, Status> {
        let HasRoomsRequest { hotel_ids, begin, end, rooms } = request.into_inner();
        self.within(async {
            let asked: Vec<_> = hotel_ids.iter().map(|hotel| text(hotel)).collect();
            let about: [&(dyn ToSql + Sync); 4] = [&asked, &begin, &end, &i64::from(rooms)];
            let rows = self.rows(|all| &all.has_rooms, &about).await?;
            Ok(HasRoomsReply { hotel_ids: rows.iter().map(|row| row.get(0)).collect() })
        })
        .await
    }

    async fn reserve(&self, request: Request<Booking>) -> Result<Response<Reserved>, Status> {
        let Booking { hotel_id, customer_name, begin, end, rooms } = request.into_inner();
        if (LONGEST_STAY as i64) < i64::from(end) - i64::from(begin) {
            return Err(Status::invalid_argument("a stay is at most 366 nights"));
        }
        self.within(async {
            let connected = self.writer()?;
            let Connected { client, statements } = &*connected;
            let (hotel, customer) = (text(&hotel_id), text(&customer_name));
            let about: [&(dyn ToSql + Sync); 5] =
                [&hotel, &customer, &begin, &end, &i64::from(rooms)];
            let decided = client.query_one(&statements.reserve, &about).await;
            let made: Option<bool> = decided.map_err(unavailable)?.get(0);
            let unknown = || Status::not_found(format!("unknown hotel {hotel_id:?}"));
            Ok(Reserved { made: made.ok_or_else(unknown)? })
        })
        .await
    }

    /// Counts and digests everything, as of one moment.
    async fn counts(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        self.within(self.administration.run(seed::count)).await
    }

    /// Returns to the seeded data in one transaction.
    async fn reset(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        self.within(self.administration.run(seed::reset)).await
    }
}

/// Reads a place; the columns are the name, the latitude and the longitude.
fn place(row: &Row) -> Place {
    Place { id: row.get(0), lat: row.get(1), lon: row.get(2) }
}

/// Replaces NUL, which PostgreSQL's text cannot contain; no seeded name contains it, so any other
/// character works.
fn text(text: &str) -> Cow<'_, str> {
    match text.contains('\0') {
        true => text.replace('\0', "\u{fffd}").into(),
        false => text.into(),
    }
}

/// The prepared statements, prepared once for each connection.
struct Statements {
    places: Statement,
    candidates: Statement,
    attractions: Statement,
    rates: Statement,
    profiles: Statement,
    reviews: Statement,
    digest: Statement,
    has_rooms: Statement,
    reserve: Statement,
}

impl postgres::Statements for Statements {
    async fn prepare(client: &Client) -> Result<Self, Error> {
        let documents = |table: &str| {
            format!(
                "(SELECT document FROM hotel.{table} WHERE cardinality($1::text[]) = 0
                  ORDER BY hotel)
                 UNION ALL
                 (SELECT document FROM unnest($1) WITH ORDINALITY AS asked (hotel, place)
                  JOIN hotel.{table} USING (hotel) ORDER BY place)"
            )
        };
        let prepare = async |text: &str| client.prepare(text).await;
        Ok(Statements {
            places: prepare("SELECT hotel, lat, lon FROM hotel.places ORDER BY hotel").await?,
            candidates: prepare(
                "SELECT hotel, lat, lon, rate, price FROM hotel.recommendations
                 ORDER BY length(hotel), hotel",
            )
            .await?,
            attractions: prepare(
                "SELECT name, lat, lon, kind FROM hotel.attractions ORDER BY kind, name",
            )
            .await?,
            rates: prepare(&documents("rates")).await?,
            profiles: prepare(&documents("profiles")).await?,
            reviews: prepare(
                "SELECT document FROM hotel.reviews
                 WHERE cardinality($1::text[]) = 0 OR hotel = ANY ($1) ORDER BY review",
            )
            .await?,
            digest: prepare("SELECT digest FROM hotel.users WHERE name = $1").await?,
            // Reads only nights with reserved rooms, however long the stay.
            has_rooms: prepare(
                "SELECT hotel FROM unnest($1::text[]) WITH ORDINALITY AS asked (hotel, place)
                 JOIN hotel.capacities AS room USING (hotel)
                 WHERE $3::int <= $2::int OR $4::bigint <= room.rooms AND NOT EXISTS (
                     SELECT FROM hotel.nights AS booked
                     WHERE booked.hotel = room.hotel AND booked.night >= $2 AND booked.night < $3
                         AND room.rooms < booked.taken + $4)
                 ORDER BY place",
            )
            .await?,
            reserve: prepare("SELECT hotel.reserve($1, $2, $3, $4, $5)").await?,
        })
    }
}
