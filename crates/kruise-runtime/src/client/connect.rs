//! Connections to the API server. A network that drops packets without a word is noticed by the kernel, which asks a silent
//! peer whether it is there and gives up sending what nobody confirms.

use std::time::Duration;

use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::{Body, ClientBuilder, ConfigExt};
use tower::{BoxError, Service, ServiceBuilder};

/// To open a connection; the answer's deadline covers the TLS handshake.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// A connection that has been silent for so long is asked whether it is alive, and again as often.
const ASK_AFTER: Duration = Duration::from_secs(5);
/// A connection whose peer confirms nothing for so long is over: whatever waited for it goes on within half a minute. It also
/// bounds how long the kernel goes on sending a request that we have given up.
const DEAD_AFTER: Duration = Duration::from_secs(15);
/// Questions until then.
const QUESTIONS: u32 = 3;
/// Connections that nobody has used for so long are closed: fewer that can have died unnoticed.
const UNUSED_FOR: Duration = Duration::from_secs(30);

/// The stack below our own layers: address, credentials, connections.
pub fn connected(
    config: &Config,
) -> Result<
    ClientBuilder<
        impl Service<
            http::Request<Body>,
            Response = http::Response<hyper::body::Incoming>,
            Error = BoxError,
            Future: Send + 'static,
        > + Send
        + 'static,
    >,
    kube::Error,
> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_WITHIN));
    connector.set_keepalive(Some(ASK_AFTER));
    connector.set_keepalive_interval(Some(ASK_AFTER));
    connector.set_keepalive_retries(Some(QUESTIONS));
    connector.set_tcp_user_timeout(Some(DEAD_AFTER));
    let connector = config.rustls_https_connector_with_connector(connector)?;
    let client: Client<_, Body> =
        Client::builder(TokioExecutor::new()).pool_idle_timeout(UNUSED_FOR).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(client);
    Ok(ClientBuilder::new(service, config.default_namespace.clone()))
}
