//! The frontend: HTTP requests in, calls of the services, HTTP responses out. Paths, parameters,
//! the order of checks, texts and headers are the original's, so that its workload runs unmodified.
//! It keeps no data.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use hyper::body::Bytes;
use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::{Method, StatusCode, Uri};
use serde::Serialize;
use tonic::{Request, Status};

use super::api;
use super::api::profile::{Address, GetProfilesRequest, Hotel};
use super::api::recommendation::GetRecommendationsRequest;
use super::api::reservation::ReservationRequest;
use super::api::search::NearbyRequest;
use super::api::store::{CountsReply, Nothing};
use super::api::user::CheckUserRequest;
use super::api::{attractions, review};
use super::metrics::{Endpoint, Metrics, Reserving};
use super::postgres::Use;
use super::recommendation::Require;
use super::{Process, source, stay};
use crate::kit::answer::of_type;
use crate::kit::arguments::Common;
use crate::kit::health::Health;
use crate::kit::metrics::Metrics as _;
use crate::kit::process;
use crate::kit::query::{Query, number};
use crate::kit::rpc::{Addresses, Remote};
use crate::kit::serve::{FullResponse, Site};
use crate::kit::source::Source;

const TEXT: &str = "text/plain; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const JSON: &str = "application/json";

const LOGGED_IN: &str = "{\"message\":\"Login successfully!\"}\n";
const RESERVED: &str = "{\"message\":\"Reserve successfully!\"}\n";
const FULL: &str = "{\"message\":\"Failed. Already reserved. \"}\n";
const NOT_LOGGED_IN: &str = "{\"message\":\"Failed. Please check your username and password. \"}\n";

#[derive(Args)]
pub struct Arguments {
    #[arg(long, value_name = "ADDRESSES")]
    search: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    profile: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    recommendation: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    user: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    reservation: Addresses,

    /// Without it /review is unknown.
    #[arg(long, value_name = "ADDRESSES")]
    review: Option<Addresses>,

    /// Without it /restaurants, /museums and /cinema are unknown.
    #[arg(long, value_name = "ADDRESSES")]
    attractions: Option<Addresses>,

    /// The store, for /counts and /reset: ADDRESSES or postgres://USER@HOST:PORT/DATABASE.
    #[arg(long, value_name = "ADDRESSES|URL")]
    store: Source,

    #[command(flatten)]
    common: Common,
}

pub struct Frontend {
    pub search: Arc<dyn api::search::Search>,
    pub profile: Arc<dyn api::profile::Profile>,
    pub recommendation: Arc<dyn api::recommendation::Recommendation>,
    pub user: Arc<dyn api::user::User>,
    pub reservation: Arc<dyn api::reservation::Reservation>,
    /// Newer services, which the original of 2022 did not have: without them their paths are
    /// unknown.
    pub review: Option<Arc<dyn api::review::Review>>,
    pub attractions: Option<Arc<dyn api::attractions::Attractions>>,
    /// For experiments only: to count and reset it.
    pub store: Arc<dyn api::store::Store>,
    pub health: Health,
    pub metrics: Arc<Metrics>,
}

/// Runs a process of the frontend until a signal ends it.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let common = arguments.common.clone();
    process::run(common, async |process: &Process| Frontend::connect(process, &arguments).await)
}

/// The things that may be near a hotel.
#[derive(Clone, Copy)]
enum Near {
    Reviews,
    Restaurants,
    Museums,
    Cinemas,
}

/// A response before it becomes HTTP.
struct Content {
    code: StatusCode,
    content_type: &'static str,
    body: Bytes,
}

/// A line of text with a status, instead of the requested response.
struct Refusal {
    code: StatusCode,
    text: Cow<'static, str>,
}

impl Site for Frontend {
    async fn answer(&self, request: hyper::Request<Bytes>) -> FullResponse {
        let began = now();
        let (endpoint, answer) = self.route(request.method(), request.uri()).await;
        let answer = answer.unwrap_or_else(Content::from);
        self.metrics.answered(endpoint, answer.code.as_u16(), began.elapsed());
        response(endpoint, answer)
    }

    fn refused_connection(&self) {
        self.metrics.basic().refused_connection();
    }
}

impl Frontend {
    /// Connects to the services that it calls.
    async fn connect(process: &Process, to: &Arguments) -> anyhow::Result<Self> {
        let mut needed = Vec::new();
        let mut called = async |service, addresses: &Addresses| {
            let peers = process.peers(service, addresses).await?;
            needed.push(peers.clone());
            anyhow::Ok(Arc::new(Remote(peers)))
        };
        let search = called("search", &to.search).await?;
        let profile = called("profile", &to.profile).await?;
        let recommendation = called("recommendation", &to.recommendation).await?;
        let user = called("user", &to.user).await?;
        let reservation = called("reservation", &to.reservation).await?;
        let (store, of_store) = source::connect(&to.store, process, Use::Reads).await?;
        let review: Option<Arc<dyn api::review::Review>> = match &to.review {
            Some(addresses) => Some(called("review", addresses).await?),
            None => None,
        };
        let attractions: Option<Arc<dyn api::attractions::Attractions>> = match &to.attractions {
            Some(addresses) => Some(called("attractions", addresses).await?),
            None => None,
        };
        Ok(Frontend {
            search,
            profile,
            recommendation,
            user,
            reservation,
            review,
            attractions,
            store,
            health: Health::of_peers(needed).and(of_store),
            metrics: Arc::clone(&process.metrics),
        })
    }

    /// Calls the service for a path. Parameters are in the query, whatever the method. Only the
    /// path of an absolute target counts: the original's workload always names port 5000.
    async fn route(&self, method: &Method, target: &Uri) -> (Endpoint, Result<Content, Refusal>) {
        let query = Query::new(target.query());
        match target.path() {
            "/hotels" => (Endpoint::Hotels, self.hotels(query).await),
            "/recommendations" => (Endpoint::Recommendations, self.recommendations(query).await),
            "/user" => (Endpoint::User, self.user(query).await),
            "/reservation" => (Endpoint::Reservation, self.reservation(query).await),
            "/review" => (Endpoint::Nearby, self.near(query, Near::Reviews).await),
            "/restaurants" => (Endpoint::Nearby, self.near(query, Near::Restaurants).await),
            "/museums" => (Endpoint::Nearby, self.near(query, Near::Museums).await),
            "/cinema" => (Endpoint::Nearby, self.near(query, Near::Cinemas).await),
            "/" => (Endpoint::Page, Ok(Content::page())),
            "/stylesheets/main.css" => (Endpoint::Page, Ok(Content::style())),
            "/healthz" => (Endpoint::Admin, self.healthy()),
            "/metrics" => (Endpoint::Admin, Ok(Content::ok(PROMETHEUS, self.metrics.text()))),
            "/counts" => {
                (Endpoint::Admin, counts(self.store.counts(Request::new(Nothing {})).await))
            }
            "/reset" if *method == Method::POST => {
                (Endpoint::Admin, counts(self.store.reset(Request::new(Nothing {})).await))
            }
            "/reset" => (Endpoint::Admin, Err(Refusal::wrong_method())),
            _ => (Endpoint::Unknown, Err(Refusal::not_found())),
        }
    }

    async fn hotels(&self, query: Query<'_>) -> Result<Content, Refusal> {
        let [in_date, out_date] = dates(query)?.map(Cow::into_owned);
        let [lat, lon] = location(query)?;
        let found = self.search.nearby(Request::new(NearbyRequest {
            lat: number(&lat),
            lon: number(&lon),
            in_date: in_date.clone(),
            out_date: out_date.clone(),
        }));
        let available = self.reservation.check_availability(Request::new(ReservationRequest {
            customer_name: String::new(),
            hotel_id: found.await?.into_inner().hotel_ids,
            in_date,
            out_date,
            room_number: 1,
        }));
        let available = available.await?.into_inner().hotel_id;
        self.metrics.searched(available.len());
        self.on_map(available, query).await
    }

    async fn recommendations(&self, query: Query<'_>) -> Result<Content, Refusal> {
        let [lat, lon] = location(query)?;
        let require = query.get("require");
        if Require::parse(&require).is_none() {
            return Err(Refusal::of_client("Please specify require params"));
        }
        let best = GetRecommendationsRequest {
            require: require.into_owned(),
            lat: number(&lat),
            lon: number(&lon),
        };
        let best = self.recommendation.get_recommendations(Request::new(best)).await?;
        self.on_map(best.into_inner().hotel_ids, query).await
    }

    async fn user(&self, query: Query<'_>) -> Result<Content, Refusal> {
        let correct = self.is_correct(login(query)?).await?;
        Ok(Content::message(if correct { LOGGED_IN } else { NOT_LOGGED_IN }))
    }

    async fn is_correct(&self, login: [Cow<'_, str>; 2]) -> Result<bool, Status> {
        let [username, password] = login.map(Cow::into_owned);
        let check = Request::new(CheckUserRequest { username, password });
        Ok(self.user.check_user(check).await?.into_inner().correct)
    }

    async fn reservation(&self, query: Query<'_>) -> Result<Content, Refusal> {
        let [in_date, out_date] = dates(query)?.map(Cow::into_owned);
        if stay::nights(&in_date, &out_date).is_none() {
            return Err(Refusal::of_client("Please check inDate/outDate format (YYYY-MM-DD)"));
        }
        let [hotel_id] = required(query, ["hotelId"], "Please specify hotelId params")?;
        let [customer_name] =
            required(query, ["customerName"], "Please specify customerName params")?;
        let reserving = match self.is_correct(login(query)?).await {
            Err(failure) => Err(failure),
            Ok(false) => Ok(Reserving::LoginFailed),
            Ok(true) => {
                let request = ReservationRequest {
                    customer_name: customer_name.into_owned(),
                    hotel_id: vec![hotel_id.into_owned()],
                    in_date,
                    out_date,
                    room_number: number(&query.get("number")),
                };
                self.reserve(request).await
            }
        };
        self.metrics.reserved(*reserving.as_ref().unwrap_or(&Reserving::Failed));
        Ok(Content::message(message(reserving?)))
    }

    async fn reserve(&self, request: ReservationRequest) -> Result<Reserving, Status> {
        let reply = self.reservation.make_reservation(Request::new(request)).await?.into_inner();
        Ok(if reply.hotel_id.is_empty() { Reserving::Full } else { Reserving::Made })
    }

    /// Returns the number of reviews or places near a hotel, for a user with a correct login.
    async fn near(&self, query: Query<'_>, what: Near) -> Result<Content, Refusal> {
        let is_correct = self.is_correct(login(query)?).await?;
        let [hotel_id] = required(query, ["hotelId"], "Please specify hotelId params")?;
        if !is_correct {
            return Ok(Content::message(NOT_LOGGED_IN));
        }
        let name = match what {
            Near::Reviews => "Reviews",
            Near::Restaurants => "Restaurants",
            Near::Museums => "Museums",
            Near::Cinemas => "Cinemas",
        };
        let text = match self.count_near(hotel_id.into_owned(), what).await? {
            0 => format!("Failed. No {name}. "),
            count => format!("Have {} = {count}", name.to_lowercase()),
        };
        Ok(Content::ok(TEXT, format!("{{\"message\":\"{text}\"}}\n")))
    }

    async fn count_near(&self, hotel_id: String, what: Near) -> Result<usize, Refusal> {
        if let Near::Reviews = what {
            let review = self.review.as_ref().ok_or_else(Refusal::not_found)?;
            let asked = Request::new(review::ReviewRequest { hotel_id });
            return Ok(review.get_reviews(asked).await?.into_inner().reviews.len());
        }
        let attractions = self.attractions.as_ref().ok_or_else(Refusal::not_found)?;
        let asked = Request::new(attractions::Request { hotel_id });
        let found = match what {
            Near::Museums => attractions.nearby_mus(asked).await?,
            Near::Cinemas => attractions.nearby_cinema(asked).await?,
            Near::Restaurants | Near::Reviews => attractions.nearby_rest(asked).await?,
        };
        Ok(found.into_inner().attraction_ids.len())
    }

    /// Returns hotels as GeoJSON. It calls the service for an empty list as well, as the original
    /// does.
    async fn on_map(&self, hotel_ids: Vec<String>, query: Query<'_>) -> Result<Content, Refusal> {
        let locale = match query.get("locale") {
            none if none.is_empty() => "en".to_owned(),
            locale => locale.into_owned(),
        };
        let profiles = Request::new(GetProfilesRequest { hotel_ids, locale });
        let profiles = self.profile.get_profiles(profiles).await?.into_inner();
        Ok(Content::ok(TEXT, geo_json(&profiles.hotels)))
    }

    fn healthy(&self) -> Result<Content, Refusal> {
        match self.health.unhealthy() {
            None => Ok(Content::ok(TEXT, "ok")),
            Some(text) => Err(Refusal { code: StatusCode::SERVICE_UNAVAILABLE, text: text.into() }),
        }
    }
}

fn counts(counts: Result<tonic::Response<CountsReply>, Status>) -> Result<Content, Refusal> {
    let counts = counts?.into_inner();
    let mut body = serde_json::to_vec(&counts).expect("counts have string keys only");
    body.push(b'\n');
    Ok(Content::ok(JSON, body))
}

impl Content {
    fn ok(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Content { code: StatusCode::OK, content_type, body: body.into() }
    }

    fn message(json: &'static str) -> Self {
        Content::ok(TEXT, json)
    }

    fn page() -> Self {
        Content::ok("text/html; charset=utf-8", include_str!("static/index.html"))
    }

    fn style() -> Self {
        Content::ok("text/css; charset=utf-8", include_str!("static/main.css"))
    }
}

impl From<Refusal> for Content {
    fn from(refusal: Refusal) -> Self {
        let body = format!("{}\n", refusal.text).into();
        Content { code: refusal.code, content_type: TEXT, body }
    }
}

impl Refusal {
    fn of_client(text: &'static str) -> Self {
        Refusal { code: StatusCode::BAD_REQUEST, text: text.into() }
    }

    fn not_found() -> Self {
        Refusal { code: StatusCode::NOT_FOUND, text: "404 page not found".into() }
    }

    fn wrong_method() -> Self {
        Refusal { code: StatusCode::METHOD_NOT_ALLOWED, text: "use POST to reset".into() }
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        let text = format!("rpc error: code = {:?} desc = {}", status.code(), status.message());
        Refusal { code: StatusCode::INTERNAL_SERVER_ERROR, text: text.into() }
    }
}

fn message(reserving: Reserving) -> &'static str {
    match reserving {
        Reserving::Made => RESERVED,
        Reserving::LoginFailed => NOT_LOGGED_IN,
        Reserving::Full | Reserving::Failed => FULL,
    }
}

fn dates(query: Query<'_>) -> Result<[Cow<'_, str>; 2], Refusal> {
    required(query, ["inDate", "outDate"], "Please specify inDate/outDate params")
}

fn location(query: Query<'_>) -> Result<[Cow<'_, str>; 2], Refusal> {
    required(query, ["lat", "lon"], "Please specify location params")
}

fn login(query: Query<'_>) -> Result<[Cow<'_, str>; 2], Refusal> {
    required(query, ["username", "password"], "Please specify username and password")
}

/// Returns the values of these parameters, none of which may be empty.
fn required<'a, const N: usize>(
    query: Query<'a>,
    names: [&str; N],
    otherwise: &'static str,
) -> Result<[Cow<'a, str>; N], Refusal> {
    let values = names.map(|name| query.get(name));
    if values.iter().any(|value| value.is_empty()) {
        return Err(Refusal::of_client(otherwise));
    }
    Ok(values)
}

/// A list of hotels as GeoJSON. Fields are in alphabetical order, as the original's are.
#[derive(Serialize)]
struct FeatureCollection<'a> {
    features: Vec<Feature<'a>>,
    r#type: &'static str,
}

#[derive(Serialize)]
struct Feature<'a> {
    geometry: Geometry,
    id: &'a str,
    properties: Properties<'a>,
    r#type: &'static str,
}

#[derive(Serialize)]
struct Geometry {
    /// Longitude first, as GeoJSON requires.
    coordinates: [f32; 2],
    r#type: &'static str,
}

#[derive(Serialize)]
struct Properties<'a> {
    name: &'a str,
    phone_number: &'a str,
}

fn geo_json(hotels: &[Hotel]) -> Vec<u8> {
    let features = hotels.iter().map(feature).collect();
    let collection = FeatureCollection { features, r#type: "FeatureCollection" };
    // A hotel takes about 175 bytes.
    let mut body = Vec::with_capacity(64 + 192 * hotels.len());
    serde_json::to_writer(&mut body, &collection).expect("a vector takes any bytes");
    body.push(b'\n');
    body
}

fn feature(hotel: &Hotel) -> Feature<'_> {
    let (lat, lon) = hotel.address.as_ref().map_or((0.0, 0.0), |at: &Address| (at.lat, at.lon));
    Feature {
        geometry: Geometry { coordinates: [lon, lat], r#type: "Point" },
        id: &hotel.id,
        properties: Properties { name: &hotel.name, phone_number: &hotel.phone_number },
        r#type: "Feature",
    }
}

/// Adds the headers that the original sends; the server adds the date and the length.
fn response(endpoint: Endpoint, answer: Content) -> FullResponse {
    let mut response = of_type(answer.code, answer.content_type, answer.body);
    let headers = response.headers_mut();
    if !matches!(endpoint, Endpoint::Page | Endpoint::Unknown) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
    if !answer.code.is_success() {
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    response
}

#[expect(clippy::disallowed_methods, reason = "a server measures its own real time")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests;
