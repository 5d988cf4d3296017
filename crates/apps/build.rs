//! Makes Rust of the messages and services in `proto/`, without an installed `protoc`.

use std::io::Error;

const FILES: [&str; 10] = [
    "attractions.proto",
    "geo.proto",
    "profile.proto",
    "rate.proto",
    "recommendation.proto",
    "reservation.proto",
    "review.proto",
    "search.proto",
    "store.proto",
    "user.proto",
];

fn main() -> Result<(), Error> {
    println!("cargo::rerun-if-changed=proto");
    let described = protox::compile(FILES, ["proto"]).map_err(Error::other)?;
    tonic_prost_build::configure()
        .build_transport(false)
        .codec_path("crate::rpc::Codec")
        .type_attribute("store.CountsReply", "#[derive(serde::Serialize)]")
        .compile_fds(described)
}
