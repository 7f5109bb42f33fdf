//! Starts the webhook server and the loop that keeps its certificates.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use anyhow::Context as _;
use kruise_runtime::certs::{Configuration, Keeper, Selections, State};
use kruise_runtime::clock::Clock;
use kruise_runtime::metrics::Metrics;
use kruise_runtime::webhook::{Serving, serve};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Context, configuration, flags::Source, flags::WebhookFlags};

/// The chart's role of the manager: it goes with the release.
const OWNER: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/kruise-manager-role";

/// A running webhook server.
pub struct Started {
    /// Answers until the very end.
    pub server: JoinHandle<()>,
    /// Keeps certificates and configurations; ends as soon as we are told to stop.
    pub keeper: Vec<JoinHandle<()>>,
    pub state: watch::Receiver<State>,
    pub serving: Serving,
}

/// Listens, serves and keeps certificates; `None` where it is switched off.
pub async fn start(
    flags: &WebhookFlags,
    cx: Arc<Context>,
    source: Source,
    metrics: Arc<Metrics>,
    selections: watch::Receiver<Selections>,
) -> anyhow::Result<Option<Started>> {
    if flags.webhook_port == 0 {
        return Ok(None);
    }
    let listener = listen(flags.webhook_port).await?;
    let serving = Serving::default();
    let router = super::webhooks(&cx, Arc::clone(&metrics)).into_router();
    let (sender, state) = watch::channel(State::Starting("certificates are not there yet".to_owned()));
    let keeper = Keeper {
        client: cx.client.clone(),
        clock: Clock::system(),
        location: flags.location(source),
        policy: flags.policy(),
        address: flags.address(),
        configurations: configurations(),
        crds: configuration::conversion_crds(),
        convert_path: kruise_api::names::CONVERT_PATH,
        serving: serving.clone(),
        state: sender,
        metrics,
        selections,
        owner: OWNER,
    };
    let served = serving.clone();
    let server = tokio::spawn(async move {
        if let Err(error) = serve(listener, router, served).await {
            tracing::error!(%error, "the webhook server ended");
        }
    });
    let late = tokio::spawn(report_late(state.clone(), flags.webhook_initialize_timeout));
    Ok(Some(Started { server, keeper: vec![tokio::spawn(keeper.run()), late], state, serving }))
}

fn configurations() -> Vec<Configuration> {
    vec![
        Configuration {
            kind: "MutatingWebhookConfiguration",
            plural: "mutatingwebhookconfigurations",
            name: "kruise-mutating-webhook-configuration",
            entries: configuration::mutating(),
        },
        Configuration {
            kind: "ValidatingWebhookConfiguration",
            plural: "validatingwebhookconfigurations",
            name: "kruise-validating-webhook-configuration",
            entries: configuration::validating(),
        },
    ]
}

/// Both families through one socket (PL-B8); IPv4 alone where the machine has no IPv6.
async fn listen(port: u16) -> anyhow::Result<TcpListener> {
    if let Ok(listener) = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
        return Ok(listener);
    }
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await;
    listener.with_context(|| format!("the webhook port {port} cannot be listened on: is it in use?"))
}

/// PL-B12: said, not fatal; `/readyz` says it too.
async fn report_late(mut state: watch::Receiver<State>, within: std::time::Duration) {
    let is_ready = state.wait_for(|state| *state == State::Ready);
    if tokio::time::timeout(within, is_ready).await.is_err() {
        tracing::error!(
            seconds = within.as_secs(),
            "the webhook server is still not ready; it goes on trying"
        );
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    /// PL-B8: one socket for both families, where the machine has both.
    #[tokio::test]
    async fn pl_b8_both_families_reach_the_server() {
        let listener = listen(0).await.unwrap();
        let address = listener.local_addr().unwrap();
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, address.port())).await.is_ok());
        let has_six = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await.is_ok();
        assert_eq!(address.is_ipv6(), has_six);
        assert_eq!(TcpStream::connect((Ipv6Addr::LOCALHOST, address.port())).await.is_ok(), has_six);
    }
}
