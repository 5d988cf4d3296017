//! The reservation service: finds hotels with free rooms, and reserves rooms. It has no state; the
//! store checks and reserves rooms in one atomic step.

use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::api;
use super::api::reservation::{ReservationReply, ReservationRequest};
use super::api::store::{Booking, HasRoomsRequest};
use super::command::Stateless;
use super::metrics::Metrics;
use super::postgres::Use;
use super::{Process, Service, source, stay};
use crate::kit::process;

pub struct Reservation {
    store: Arc<dyn api::store::Store>,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(Stateless { store, common }: Stateless) -> anyhow::Result<()> {
    process::run(common, async |process: &Process| {
        let (store, health) = source::connect(&store, process, Use::Books).await?;
        let reservation = Reservation::new(store, Arc::clone(&process.metrics));
        let answering = api::reservation::answering(Arc::new(reservation));
        Ok(process.page(Service::Reservation, answering, health))
    })
}

impl Reservation {
    pub fn new(store: Arc<dyn api::store::Store>, metrics: Arc<Metrics>) -> Self {
        Reservation { store, metrics }
    }
}

#[async_trait]
impl api::reservation::Reservation for Reservation {
    /// Returns the hotels that have the rooms in every night, in the order of the request. A stay
    /// without nights, or with a date that does not exist, finds none.
    async fn check_availability(
        &self,
        request: Request<ReservationRequest>,
    ) -> Result<Response<ReservationReply>, Status> {
        self.metrics.called(Service::Reservation);
        let request = request.into_inner();
        let nights = stay::nights(&request.in_date, &request.out_date).unwrap_or_default();
        if nights.is_empty() || request.hotel_id.is_empty() {
            return Ok(Response::new(ReservationReply::default()));
        }
        let asked = HasRoomsRequest {
            hotel_ids: request.hotel_id,
            begin: nights.start,
            end: nights.end,
            rooms: request.room_number,
        };
        let hotel_id = self.store.has_rooms(Request::new(asked)).await?.into_inner().hotel_ids;
        Ok(Response::new(ReservationReply { hotel_id }))
    }

    /// Reserves the rooms in every night, or in none. A stay without nights succeeds and reserves
    /// nothing.
    async fn make_reservation(
        &self,
        request: Request<ReservationRequest>,
    ) -> Result<Response<ReservationReply>, Status> {
        self.metrics.called(Service::Reservation);
        let booking = booking(request.into_inner())?;
        let hotel_id = booking.hotel_id.clone();
        let reserved = self.store.reserve(Request::new(booking)).await?.into_inner();
        let hotel_id = if reserved.made { vec![hotel_id] } else { Vec::new() };
        Ok(Response::new(ReservationReply { hotel_id }))
    }
}

fn booking(request: ReservationRequest) -> Result<Booking, Status> {
    let nights = stay::nights(&request.in_date, &request.out_date).ok_or_else(|| {
        Status::invalid_argument("inDate or outDate is not a day of the calendar")
    })?;
    let rooms = u32::try_from(request.room_number)
        .map_err(|_| Status::invalid_argument("the number of rooms must not be negative"))?;
    let [hotel_id] = <[String; 1]>::try_from(request.hotel_id)
        .map_err(|_| Status::invalid_argument("a reservation is for one hotel"))?;
    Ok(Booking {
        hotel_id,
        customer_name: request.customer_name,
        begin: nights.start,
        end: nights.end,
        rooms,
    })
}
