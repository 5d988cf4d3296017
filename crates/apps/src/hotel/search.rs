//! The search service: the hotels near a place that have a rate.

use std::sync::Arc;

use clap::Args;
use tonic::{Request, Response, Status, async_trait};

use super::api;
use super::api::search::{NearbyReply, NearbyRequest};
use super::metrics::Metrics;
use super::{Process, Service};
use crate::kit::arguments::Common;
use crate::kit::health::Health;
use crate::kit::process;
use crate::kit::rpc::{Addresses, Remote};

#[derive(Args)]
pub struct Arguments {
    #[arg(long, value_name = "ADDRESSES")]
    geo: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    rate: Addresses,

    #[command(flatten)]
    common: Common,
}

pub struct Search {
    geo: Arc<dyn api::geo::Geo>,
    rate: Arc<dyn api::rate::Rate>,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(Arguments { geo, rate, common }: Arguments) -> anyhow::Result<()> {
    process::run(common, async |process: &Process| {
        let geo = process.peers("geo", &geo).await?;
        let rate = process.peers("rate", &rate).await?;
        let health = Health::of_peers(vec![geo.clone(), rate.clone()]);
        let (geo, rate) = (Arc::new(Remote(geo)), Arc::new(Remote(rate)));
        let search = Search::new(geo, rate, Arc::clone(&process.metrics));
        Ok(process.page(Service::Search, api::search::answering(Arc::new(search)), health))
    })
}

impl Search {
    pub fn new(
        geo: Arc<dyn api::geo::Geo>,
        rate: Arc<dyn api::rate::Rate>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Search { geo, rate, metrics }
    }
}

#[async_trait]
impl api::search::Search for Search {
    /// Returns the nearest hotels that have a rate, the most expensive first.
    async fn nearby(
        &self,
        request: Request<NearbyRequest>,
    ) -> Result<Response<NearbyReply>, Status> {
        self.metrics.called(Service::Search);
        let NearbyRequest { lat, lon, in_date, out_date } = request.into_inner();
        let near = self.geo.nearby(Request::new(api::geo::NearbyRequest { lat, lon })).await?;
        let hotel_ids = near.into_inner().hotel_ids;
        let rates = api::rate::GetRatesRequest { hotel_ids, in_date, out_date };
        let rates = self.rate.get_rates(Request::new(rates)).await?.into_inner();
        let hotel_ids = rates.rate_plans.into_iter().map(|plan| plan.hotel_id).collect();
        Ok(Response::new(NearbyReply { hotel_ids }))
    }
}
