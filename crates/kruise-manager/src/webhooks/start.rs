//! Starts the webhook server and the loop that keeps its certificates.

use std::sync::Arc;

use anyhow::Context as _;
use kruise_core::gates::Gate;
use kruise_runtime::certs::{Configuration, Keeper, State};
use kruise_runtime::clock::Clock;
use kruise_runtime::listen::Address;
use kruise_runtime::metrics::Metrics;
use kruise_runtime::webhook::{Serving, serve};
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::{Context, configuration, flags::Source, flags::WebhookFlags, selecting};

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
    configuration_changed: Arc<Notify>,
) -> anyhow::Result<Option<Started>> {
    if flags.webhook_port == 0 {
        return Ok(None);
    }
    let port = flags.webhook_port;
    let listener = Address::All(port).listen().await;
    let listener =
        listener.with_context(|| format!("the webhook port {port} cannot be listened on: is it in use?"))?;
    let serving = Serving::default();
    let router = super::webhooks(&cx, Arc::clone(&metrics)).into_router();
    let (sender, state) = watch::channel(State::Starting("certificates are not there yet".to_owned()));
    let keeper = Keeper {
        client: cx.client.clone(),
        clock: Clock::system(),
        location: flags.location(source),
        policy: flags.policy(),
        address: flags.address(),
        configurations: configurations(&cx),
        crds: configuration::conversion_crds(),
        convert_path: kruise_api::names::CONVERT_PATH,
        serving: serving.clone(),
        state: sender,
        metrics,
        selections: selecting::undecided(),
        configuration_changed,
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

fn configurations(cx: &Context) -> Vec<Configuration> {
    let of = |kind, plural, object, entries: Vec<Value>| {
        let live = configuration::live();
        let is_live =
            |entry: &Value| live.iter().any(|one| entry.get("name").is_some_and(|name| name == one));
        let (always, others): (Vec<Value>, Vec<Value>) = entries.into_iter().partition(is_live);
        // Without its gate nothing is done about pods.
        let always = if cx.gates.on(Gate::PodWebhook) { always } else { Vec::new() };
        Configuration { kind, plural, name: object, entries: [always.clone(), others].concat(), always }
    };
    vec![
        of(
            "MutatingWebhookConfiguration",
            "mutatingwebhookconfigurations",
            "kruise-mutating-webhook-configuration",
            configuration::mutating(&cx.namespace),
        ),
        of(
            "ValidatingWebhookConfiguration",
            "validatingwebhookconfigurations",
            "kruise-validating-webhook-configuration",
            configuration::validating(&cx.namespace),
        ),
    ]
}

/// PL-B12: said, not fatal; `/readyz` says it too.
async fn report_late(mut state: watch::Receiver<State>, within: std::time::Duration) {
    let is_ready = state.wait_for(|state| *state == State::Ready);
    if tokio::time::timeout(within, is_ready).await.is_err() {
        tracing::error!(seconds = within.as_secs(), "the webhook server is still not ready; retrying");
    }
}
