//! Reading a page of a timeline, which is the same for both kinds.

use bytes::Bytes;
use tonic::{Request, Response, Status};

use super::api::common::{Page, PageRequest};
use super::api::post_storage::PostStorage;
use super::api::stored::timelines::{Kind, RangeRequest, Timelines};
use super::bounds::LARGEST_PAGE;
use super::rendering::EMPTY;

/// Returns the posts from `start` to the one before `stop`, newest first.
pub async fn page(
    timelines: &dyn Timelines,
    posts: &dyn PostStorage,
    kind: Kind,
    PageRequest { user_id, start, stop }: PageRequest,
) -> Result<Response<Page>, Status> {
    let empty = || Ok(Response::new(Page { json: Bytes::from_static(EMPTY.as_bytes()), posts: 0 }));
    let (Ok(start), Ok(stop)) = (u64::try_from(start), u64::try_from(stop)) else {
        return empty();
    };
    if stop <= start {
        return empty();
    }
    if LARGEST_PAGE < stop - start {
        let text = format!("at most {LARGEST_PAGE} posts at once, not {}", stop - start);
        return Err(Status::invalid_argument(text));
    }
    let range = RangeRequest { kind: kind.into(), user_id, start, stop };
    let ids = timelines.range(Request::new(range)).await?.into_inner();
    match ids.ids.is_empty() {
        true => empty(),
        false => posts.read(Request::new(ids)).await,
    }
}
