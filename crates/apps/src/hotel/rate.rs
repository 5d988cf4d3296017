//! The rate service: the prices of hotels. Rates never change, so it keeps them in memory, or in
//! memcached.

use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::api;
use super::api::rate::{GetRatesReply, GetRatesRequest, RatePlan};
use super::command::{Cacheable, Stateless};
use super::documents::Documents;
use super::metrics::Metrics;
use super::{Process, Service};
use crate::kit::process;

pub struct Rate {
    plans: Documents<RatePlan>,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(arguments: Cacheable) -> anyhow::Result<()> {
    let Cacheable { stateless: Stateless { store, common }, cache } = arguments;
    process::run(common, async |process: &Process| {
        let (documents, health) = Documents::connect(process, &store, &cache).await?;
        let rate = Rate::new(documents, Arc::clone(&process.metrics));
        Ok(process.page(Service::Rate, api::rate::answering(Arc::new(rate)), health))
    })
}

impl Rate {
    pub fn new(plans: Documents<RatePlan>, metrics: Arc<Metrics>) -> Self {
        Rate { plans, metrics }
    }
}

#[async_trait]
impl api::rate::Rate for Rate {
    /// Returns the plans of the hotels that have one, the most expensive first. No rate depends on
    /// the dates.
    async fn get_rates(
        &self,
        request: Request<GetRatesRequest>,
    ) -> Result<Response<GetRatesReply>, Status> {
        self.metrics.called(Service::Rate);
        let mut rate_plans = self.plans.of(request.into_inner().hotel_ids).await?;
        rate_plans.sort_by(|one, other| total(other).total_cmp(&total(one)));
        Ok(Response::new(GetRatesReply { rate_plans }))
    }
}

fn total(plan: &RatePlan) -> f64 {
    plan.room_type.as_ref().map_or(0.0, |room| room.total_rate)
}
