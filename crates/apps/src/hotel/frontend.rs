//! The frontend: HTTP in, calls of the services, HTTP out. Paths, parameters, the order of checks,
//! texts and headers are the original's, so that its workload runs unmodified. It holds no data.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Response, StatusCode, Uri};
use serde::Serialize;

use super::metrics::{Endpoint, Metrics, Reserving};
use super::profile::{GetProfilesRequest, Hotel, Profile};
use super::query::{Query, number};
use super::recommendation::{GetRecommendationsRequest, Recommendation, Require};
use super::reservation::{CheckAvailabilityRequest, MakeReservationRequest, Reservation};
use super::search::{NearbyRequest, Search};
use super::status::{Code, Status};
use super::stay;
use super::store::{Counts, Store};
use super::user::{CheckUserRequest, User};
use crate::serve::{Head, Site};

const TEXT: &str = "text/plain; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const JSON: &str = "application/json";

const LOGGED_IN: &str = "{\"message\":\"Login successfully!\"}\n";
const RESERVED: &str = "{\"message\":\"Reserve successfully!\"}\n";
const FULL: &str = "{\"message\":\"Failed. Already reserved. \"}\n";
const NOT_LOGGED_IN: &str = "{\"message\":\"Failed. Please check your username and password. \"}\n";

pub struct Frontend {
    pub search: Search,
    pub profile: Profile,
    pub recommendation: Recommendation,
    pub user: User,
    pub reservation: Reservation,
    pub store: Arc<Store>,
    pub metrics: Arc<Metrics>,
}

/// What is answered, before it becomes HTTP.
struct Answer {
    code: StatusCode,
    content_type: &'static str,
    body: Bytes,
}

/// Why there is no better answer: a line of text with the status.
struct Refusal {
    code: StatusCode,
    text: Cow<'static, str>,
}

impl Site for Frontend {
    async fn answer(&self, request: Head) -> Response<Full<Bytes>> {
        let began = now();
        let (endpoint, answer) = self.route(&request.method, &request.uri).await;
        let answer = answer.unwrap_or_else(Answer::from);
        self.metrics.answered(endpoint, answer.code.as_u16(), began.elapsed());
        response(endpoint, answer)
    }

    fn refused_connection(&self) {
        self.metrics.refused_connection();
    }
}

impl Frontend {
    /// Parameters are in the query, whatever the method.
    /// Only the path of an absolute target counts: the original's workload always names port 5000.
    async fn route(&self, method: &Method, target: &Uri) -> (Endpoint, Result<Answer, Refusal>) {
        let query = Query::new(target.query());
        match target.path() {
            "/hotels" => (Endpoint::Hotels, self.hotels(query)),
            "/recommendations" => (Endpoint::Recommendations, self.recommendations(query)),
            "/user" => (Endpoint::User, self.user(query)),
            "/reservation" => (Endpoint::Reservation, self.reservation(query).await),
            "/" => (Endpoint::Page, Ok(Answer::page())),
            "/stylesheets/main.css" => (Endpoint::Page, Ok(Answer::style())),
            "/healthz" => (Endpoint::Admin, self.health()),
            "/metrics" => (Endpoint::Admin, Ok(Answer::ok(PROMETHEUS, self.metrics.text()))),
            "/counts" => (Endpoint::Admin, self.of_store(Store::counts).await),
            "/reset" if *method == Method::POST => {
                (Endpoint::Admin, self.of_store(Store::reset).await)
            }
            "/reset" => (Endpoint::Admin, Err(Refusal::wrong_method())),
            _ => (Endpoint::Unknown, Err(Refusal::not_found())),
        }
    }

    fn hotels(&self, query: Query<'_>) -> Result<Answer, Refusal> {
        let [in_date, out_date] = dates(query)?;
        let [lat, lon] = location(query)?;
        let found = self.search.nearby(NearbyRequest {
            lat: number(&lat),
            lon: number(&lon),
            in_date: &in_date,
            out_date: &out_date,
        });
        let available = self.reservation.check_availability(CheckAvailabilityRequest {
            hotel_ids: &found.hotel_ids,
            in_date: &in_date,
            out_date: &out_date,
            room_number: 1,
        })?;
        self.metrics.searched(available.hotel_ids.len());
        Ok(self.on_map(&available.hotel_ids, query))
    }

    fn recommendations(&self, query: Query<'_>) -> Result<Answer, Refusal> {
        let [lat, lon] = location(query)?;
        let require = Require::parse(&query.get("require"))
            .ok_or(Refusal::of_client("Please specify require params"))?;
        let best = self.recommendation.get_recommendations(GetRecommendationsRequest {
            require,
            lat: number(&lat),
            lon: number(&lon),
        });
        Ok(self.on_map(&best.hotel_ids, query))
    }

    fn user(&self, query: Query<'_>) -> Result<Answer, Refusal> {
        let [username, password] = login(query)?;
        let check = CheckUserRequest { username: &username, password: &password };
        let correct = self.user.check_user(check)?.correct;
        Ok(Answer::message(if correct { LOGGED_IN } else { NOT_LOGGED_IN }))
    }

    async fn reservation(&self, query: Query<'_>) -> Result<Answer, Refusal> {
        let [in_date, out_date] = dates(query)?;
        if stay::nights(&in_date, &out_date).is_none() {
            return Err(Refusal::of_client("Please check inDate/outDate format (YYYY-MM-DD)"));
        }
        let [hotel_id] = required(query, ["hotelId"], "Please specify hotelId params")?;
        let [customer_name] =
            required(query, ["customerName"], "Please specify customerName params")?;
        let [username, password] = login(query)?;
        let check = CheckUserRequest { username: &username, password: &password };
        let reserving = match self.user.check_user(check) {
            Err(failure) => Err(failure),
            Ok(reply) if !reply.correct => Ok(Reserving::LoginFailed),
            Ok(_) => {
                let request = MakeReservationRequest {
                    customer_name: &customer_name,
                    hotel_id: &hotel_id,
                    in_date: &in_date,
                    out_date: &out_date,
                    room_number: number(&query.get("number")),
                };
                self.reserve(request).await
            }
        };
        self.metrics.reserved(*reserving.as_ref().unwrap_or(&Reserving::Failed));
        Ok(Answer::message(message(reserving?)))
    }

    async fn reserve(&self, request: MakeReservationRequest<'_>) -> Result<Reserving, Status> {
        let reply = self.reservation.make_reservation(request).await?;
        Ok(if reply.hotel_id.is_some() { Reserving::Made } else { Reserving::Full })
    }

    /// Hotels as GeoJSON. An empty list is asked for as well, as the original does.
    fn on_map(&self, hotel_ids: &[String], query: Query<'_>) -> Answer {
        let locale = match query.get("locale") {
            none if none.is_empty() => Cow::Borrowed("en"),
            locale => locale,
        };
        let profiles = self.profile.get_profiles(GetProfilesRequest { hotel_ids, locale: &locale });
        Answer::ok(TEXT, geo_json(&profiles.hotels))
    }

    fn health(&self) -> Result<Answer, Refusal> {
        if self.store.is_writing() {
            return Ok(Answer::ok(TEXT, "ok"));
        }
        let text = "the store has stopped writing".into();
        Err(Refusal { code: StatusCode::SERVICE_UNAVAILABLE, text })
    }

    /// Runs what takes milliseconds beside the requests and not before them.
    async fn of_store(
        &self,
        ask: impl FnOnce(&Store) -> Result<Counts, Status> + Send + 'static,
    ) -> Result<Answer, Refusal> {
        let store = Arc::clone(&self.store);
        let counts = tokio::task::spawn_blocking(move || ask(&store)).await;
        let counts = counts.map_err(|error| Status::new(Code::Unavailable, error))??;
        let mut body = serde_json::to_vec(&counts).expect("counts have string keys only");
        body.push(b'\n');
        Ok(Answer::ok(JSON, body))
    }
}

impl Answer {
    fn ok(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Answer { code: StatusCode::OK, content_type, body: body.into() }
    }

    fn message(json: &'static str) -> Self {
        Answer::ok(TEXT, json)
    }

    fn page() -> Self {
        Answer::ok("text/html; charset=utf-8", include_str!("static/index.html"))
    }

    fn style() -> Self {
        Answer::ok("text/css; charset=utf-8", include_str!("static/main.css"))
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let body = format!("{}\n", refusal.text).into();
        Answer { code: refusal.code, content_type: TEXT, body }
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
        Refusal { code: StatusCode::INTERNAL_SERVER_ERROR, text: status.to_string().into() }
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

/// The values of these parameters, none of which may be empty.
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

/// Fields stand in alphabetical order, as the original's do.
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
    /// Longitude first, as GeoJSON wants it.
    coordinates: [f32; 2],
    r#type: &'static str,
}

#[derive(Serialize)]
struct Properties<'a> {
    name: &'a str,
    phone_number: &'a str,
}

fn geo_json(hotels: &[Arc<Hotel>]) -> Vec<u8> {
    let features = hotels.iter().map(|hotel| feature(hotel)).collect();
    let collection = FeatureCollection { features, r#type: "FeatureCollection" };
    // A hotel takes some 175 bytes.
    let mut body = Vec::with_capacity(64 + 192 * hotels.len());
    serde_json::to_writer(&mut body, &collection).expect("a vector takes any bytes");
    body.push(b'\n');
    body
}

fn feature(hotel: &Hotel) -> Feature<'_> {
    let coordinates = [hotel.address.lon, hotel.address.lat];
    Feature {
        geometry: Geometry { coordinates, r#type: "Point" },
        id: &hotel.id,
        properties: Properties { name: &hotel.name, phone_number: &hotel.phone_number },
        r#type: "Feature",
    }
}

/// Adds the headers which the original sends; the date and the length are the server's to add.
fn response(endpoint: Endpoint, answer: Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(answer.body));
    *response.status_mut() = answer.code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    if !matches!(endpoint, Endpoint::Page | Endpoint::Unknown) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
    if !answer.code.is_success() {
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    response
}

#[expect(clippy::disallowed_methods, reason = "a server tells its own real time")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests;
