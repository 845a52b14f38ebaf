//! The cheap endpoint of the benchmarks: the services of ../../typescript.mjs with the published Rust SDK, on one thread. Environment: PORT.
mod services;

use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use restate_sdk::hyper::HyperEndpoint;
use tokio::net::TcpListener;

/// The SDK's own server, with TCP_NODELAY, which it does not set.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let port: u16 = std::env::var("PORT").expect("PORT").parse().expect("PORT");
    let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("bind");
    let endpoint = HyperEndpoint::new(services::endpoint());
    println!("ready");
    loop {
        let (stream, _) = listener.accept().await.expect("accept");
        stream.set_nodelay(true).expect("TCP_NODELAY");
        let connection = http2::Builder::new(TokioExecutor::default())
            .serve_connection(TokioIo::new(stream), endpoint.clone());
        // An error means that the server closed the connection, for example because it was killed.
        tokio::spawn(async move { connection.await.ok() });
    }
}
