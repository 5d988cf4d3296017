//! The state as a whole, for experiments, where timelines are in another place than documents.

use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::api::common::Nothing;
use super::api::stored::state::{CountsReply, State};

/// Two stores, of which each counts, notes and resets what it keeps.
pub struct Both {
    pub documents: Arc<dyn State>,
    pub timelines: Arc<dyn State>,
}

#[async_trait]
impl State for Both {
    async fn counts(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        let documents = self.documents.counts(Request::new(Nothing {})).await?;
        let timelines = self.timelines.counts(Request::new(Nothing {})).await?;
        Ok(joined(documents, timelines))
    }

    async fn snapshot(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        let documents = self.documents.snapshot(Request::new(Nothing {})).await?;
        let timelines = self.timelines.snapshot(Request::new(Nothing {})).await?;
        Ok(joined(documents, timelines))
    }

    /// Returns to the noted state. Timelines first: none may have a post that is not there any more.
    async fn reset(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        let timelines = self.timelines.reset(Request::new(Nothing {})).await?;
        let documents = self.documents.reset(Request::new(Nothing {})).await?;
        Ok(joined(documents, timelines))
    }
}

fn joined(
    documents: Response<CountsReply>,
    timelines: Response<CountsReply>,
) -> Response<CountsReply> {
    let CountsReply { home_timeline_entries, user_timeline_entries, .. } = timelines.into_inner();
    let documents = documents.into_inner();
    Response::new(CountsReply { home_timeline_entries, user_timeline_entries, ..documents })
}
