//! The reservation service: has a hotel rooms left, and take some. It keeps no state of its own;
//! the store checks and takes rooms as one indivisible act.

use std::sync::Arc;

use super::metrics::{Metrics, Service};
use super::status::{Code, Status};
use super::stay::{self, LONGEST_STAY};
use super::store::{Booking, Reserved, Store};

pub struct CheckAvailabilityRequest<'a> {
    pub hotel_ids: &'a [String],
    pub in_date: &'a str,
    pub out_date: &'a str,
    pub room_number: i32,
}

pub struct CheckAvailabilityReply {
    pub hotel_ids: Vec<String>,
}

pub struct MakeReservationRequest<'a> {
    pub customer_name: &'a str,
    pub hotel_id: &'a str,
    pub in_date: &'a str,
    pub out_date: &'a str,
    pub room_number: i32,
}

/// The hotel if the reservation was made, nothing if there was no room.
pub struct MakeReservationReply {
    pub hotel_id: Option<String>,
}

pub struct Reservation {
    store: Arc<Store>,
    metrics: Arc<Metrics>,
}

impl Reservation {
    pub fn new(store: Arc<Store>, metrics: Arc<Metrics>) -> Self {
        Reservation { store, metrics }
    }

    /// Those hotels that have the rooms in every night, in the order asked.
    /// A stay without nights, or with a date that does not exist, finds none.
    pub fn check_availability(
        &self,
        request: CheckAvailabilityRequest<'_>,
    ) -> Result<CheckAvailabilityReply, Status> {
        self.metrics.called(Service::Reservation);
        let nights = stay::nights(request.in_date, request.out_date).unwrap_or_default();
        let mut hotel_ids = Vec::with_capacity(request.hotel_ids.len());
        if !nights.is_empty() && !request.hotel_ids.is_empty() {
            let view = self.store.view();
            for id in request.hotel_ids {
                if view.has_rooms(id, nights.clone(), request.room_number)? {
                    hotel_ids.push(id.clone());
                }
            }
        }
        Ok(CheckAvailabilityReply { hotel_ids })
    }

    /// Takes the rooms in every night, or in none. A stay without nights succeeds and takes none.
    pub async fn make_reservation(
        &self,
        request: MakeReservationRequest<'_>,
    ) -> Result<MakeReservationReply, Status> {
        self.metrics.called(Service::Reservation);
        let reserved = self.store.reserve(booking(&request)?).await?;
        match reserved {
            Reserved::Made => Ok(MakeReservationReply { hotel_id: Some(request.hotel_id.into()) }),
            Reserved::Full => Ok(MakeReservationReply { hotel_id: None }),
            Reserved::UnknownHotel => {
                let description = format!("there is no hotel {:?}", request.hotel_id);
                Err(Status::new(Code::NotFound, description))
            }
        }
    }
}

fn booking(request: &MakeReservationRequest<'_>) -> Result<Booking, Status> {
    let refuse = |description: &str| Status::new(Code::InvalidArgument, description);
    let nights = stay::nights(request.in_date, request.out_date)
        .ok_or_else(|| refuse("inDate or outDate is not a day of the calendar"))?;
    if nights.len() > LONGEST_STAY {
        return Err(refuse("a stay is at most 366 nights"));
    }
    let rooms = u32::try_from(request.room_number)
        .map_err(|_| refuse("the number of rooms must not be negative"))?;
    Ok(Booking {
        hotel_id: request.hotel_id.into(),
        customer_name: request.customer_name.into(),
        nights,
        rooms,
    })
}
