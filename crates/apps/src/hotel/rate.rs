//! The rate service: what a hotel costs. Rates never change, so it keeps them in memory.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::metrics::{Metrics, Service};

/// The dates are part of the contract, but no rate depends on them.
pub struct GetRatesRequest<'a> {
    pub hotel_ids: &'a [String],
    pub in_date: &'a str,
    pub out_date: &'a str,
}

pub struct GetRatesReply {
    pub rate_plans: Vec<Arc<RatePlan>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RatePlan {
    pub hotel_id: String,
    pub code: String,
    pub in_date: String,
    pub out_date: String,
    pub room_type: RoomType,
}

/// Prices are in dollars a night.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomType {
    pub bookable_rate: f64,
    pub total_rate: f64,
    pub total_rate_inclusive: f64,
    pub code: String,
    pub currency: String,
    pub room_description: String,
}

pub struct Rate {
    plans: HashMap<String, Arc<RatePlan>>,
    metrics: Arc<Metrics>,
}

impl Rate {
    pub fn new(plans: Vec<RatePlan>, metrics: Arc<Metrics>) -> Self {
        let plans = plans.into_iter().map(|plan| (plan.hotel_id.clone(), Arc::new(plan))).collect();
        Rate { plans, metrics }
    }

    /// The plans of those hotels that have one, the dearest first.
    pub fn get_rates(&self, request: GetRatesRequest<'_>) -> GetRatesReply {
        self.metrics.called(Service::Rate);
        let plan_of = |id| self.plans.get(id).cloned();
        let mut rate_plans: Vec<_> = request.hotel_ids.iter().filter_map(plan_of).collect();
        rate_plans
            .sort_by(|one, other| other.room_type.total_rate.total_cmp(&one.room_type.total_rate));
        GetRatesReply { rate_plans }
    }
}
