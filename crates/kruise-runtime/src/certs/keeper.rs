//! The loop that keeps certificates good and known to the API server, in every replica.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use http::Method;
use kube::api::{ApiResource, DynamicObject, ListParams, WatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::decide::{Policy, carry_out, next};
use super::inject::{Address, Endpoint, Selections, completed, configured, converted, trusts};
use super::material::{CA_CERT, Data, EXTERNAL_CA, Material, Serving as Leaf};
use super::store::{Location, StoreError, Written, api, call, found};
use crate::clock::Clock;
use crate::metrics::{CertificateRead, Metrics};
use crate::webhook::Serving;

/// As the original looks again; changes wake us at once.
const EVERY: Duration = Duration::from_mins(1);
/// Several changes come together.
const GATHER: Duration = Duration::from_millis(100);
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_LONGEST: Duration = Duration::from_secs(30);
/// A watch that ends sooner was refused in one way or another.
const LASTED: Duration = Duration::from_secs(1);
/// API servers learn of a new bundle by watching; then a certificate of a new CA may be served.
const BUNDLE_SPREADS_WITHIN: Duration = Duration::from_secs(1);
/// Losing the race once is usual; every time means that something else is wrong.
const RACES_MAX: usize = 5;

/// A webhook configuration of ours.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// `MutatingWebhookConfiguration` or `ValidatingWebhookConfiguration`.
    pub kind: &'static str,
    pub plural: &'static str,
    pub name: &'static str,
    /// What is created if there is none (PL-B3).
    pub entries: Vec<Value>,
    /// Those of them that belong into it whether or not the chart names them.
    pub always: Vec<Value>,
}

/// How far this replica is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Not ready yet, and why.
    Starting(String),
    /// Synced once (WC-11); from then on it stays ready.
    Ready,
}

/// Everything the loop needs.
pub struct Keeper {
    pub client: Client,
    pub clock: Clock,
    pub location: Location,
    pub policy: Policy,
    pub address: Address,
    pub configurations: Vec<Configuration>,
    /// CRDs that convert by webhook, and the path they call.
    pub crds: Vec<String>,
    pub convert_path: &'static str,
    pub serving: Serving,
    pub state: watch::Sender<State>,
    pub metrics: Arc<Metrics>,
    /// Entries whose selection others decide: it stays as it is.
    pub selections: Selections,
    /// Told when a configuration has changed.
    pub configuration_changed: Arc<Notify>,
    /// Path of a cluster-wide object of our release: a configuration that we have to make anew is removed with it.
    pub owner: &'static str,
}

/// What was found right, by path: resourceVersion and bundle.
type Known = BTreeMap<String, (String, Vec<u8>)>;

impl Keeper {
    /// Runs until aborted.
    pub async fn run(self) {
        let changed = Arc::new(Notify::new());
        let _watches = self.watches(&changed);
        let mut known = Known::new();
        let mut retry = RETRY_FIRST;
        loop {
            match self.sync(&mut known).await {
                Ok(()) => {
                    self.state.send_replace(State::Ready);
                    retry = RETRY_FIRST;
                    // Whatever comes first; all mean "look again".
                    tokio::select! {
                        () = changed.notified() => {}
                        () = tokio::time::sleep(EVERY) => {}
                    }
                    tokio::time::sleep(GATHER).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "webhook certificates are not in order");
                    self.state.send_if_modified(|state| match state {
                        State::Ready => false,
                        State::Starting(_) => {
                            *state = State::Starting(error.to_string());
                            true
                        }
                    });
                    tokio::time::sleep(retry).await;
                    retry = retry.saturating_mul(2).min(RETRY_LONGEST);
                }
            }
        }
    }

    /// Tests call it once instead of the loop.
    async fn sync(&self, known: &mut Known) -> Result<(), StoreError> {
        let data = self.data().await?;
        let (material, bundle) = match self.location {
            Location::External { .. } => (Material::read_external(&data), data.get(EXTERNAL_CA)),
            Location::Secret { .. } | Location::Directory(_) => (Material::read(&data), data.get(CA_CERT)),
        };
        let is_usable = material.serving.is_some();
        let found = if is_usable { CertificateRead::Usable } else { CertificateRead::Unusable };
        self.metrics.certificate_read(found);
        let serving = material.serving.ok_or_else(|| {
            StoreError::Unfit("there is no serving certificate with its key yet".to_owned())
        })?;
        let endpoint =
            Endpoint { address: self.address.clone(), bundle: bundle.cloned().unwrap_or_default() };
        // Without any certificate nobody can be answered: the first one is served before anybody is told to call us.
        let is_first = self.serving.current().is_none();
        if is_first {
            self.serve(&serving);
        }
        self.inject(&endpoint, known).await?;
        self.serving.trust(material.authorities.into_iter().map(|authority| authority.der).collect());
        let current = self.serving.current();
        if current.is_none_or(|current| current.cert != serving.key.cert) {
            tokio::time::sleep(BUNDLE_SPREADS_WITHIN).await;
            self.serve(&serving);
        }
        Ok(())
    }

    fn serve(&self, serving: &Leaf) {
        tracing::info!(until = %serving.leaf.not_after, "serving with a new certificate");
        self.serving.install(Arc::clone(&serving.key));
    }

    /// What is stored, after whatever had to be done about it.
    async fn data(&self) -> Result<Data, StoreError> {
        for _ in 0..RACES_MAX {
            let stored = self.location.load(&self.client).await?;
            if matches!(self.location, Location::External { .. }) {
                return Ok(stored.data);
            }
            let now = self.clock.now();
            let step = next(&Material::read(&stored.data), &self.policy, now);
            let Some(data) = carry_out(step, &stored.data, &self.policy, now)? else {
                return Ok(stored.data);
            };
            if self.location.save(&self.client, &stored, &data).await? == Written::Yes {
                tracing::info!(?step, "webhook certificates written");
                return Ok(data);
            }
        }
        Err(StoreError::Unfit("others keep changing the certificates".to_owned()))
    }

    async fn inject(&self, endpoint: &Endpoint, known: &mut Known) -> Result<(), StoreError> {
        for configuration in &self.configurations {
            let path = format!("/apis/admissionregistration.k8s.io/v1/{}", configuration.plural);
            let one = format!("{path}/{}", configuration.name);
            let object =
                found(call(&self.client, Method::GET, &one, None).await).map_err(api(one.clone()))?;
            match object {
                Some(object) if self.is_external() => {
                    trusted(&one, &object, endpoint)?;
                    self.write(&one, completed(&object, endpoint, &configuration.always)).await?;
                }
                Some(object) => {
                    let wanted = configured(&object, endpoint, &self.selections, &configuration.always);
                    self.write(&one, wanted).await?;
                }
                None => self.create(configuration, &path, endpoint).await,
            }
        }
        let versions = self.crd_versions().await?;
        for name in &self.crds {
            let Some(version) = versions.get(name) else { continue };
            let seen = (version.clone(), endpoint.bundle.clone());
            if known.get(name) == Some(&seen) {
                continue;
            }
            let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
            let crd = call(&self.client, Method::GET, &path, None).await.map_err(api(path.clone()))?;
            if self.is_external() {
                trusted(&path, &crd, endpoint)?;
                continue;
            }
            let wanted = converted(&crd, endpoint, self.convert_path);
            if wanted.is_none() {
                known.insert(name.clone(), seen);
            }
            self.write(&path, wanted).await?;
        }
        Ok(())
    }

    /// Replaces exactly what was read; who was faster wrote the same, and the next look shows it.
    async fn write(&self, path: &str, wanted: Option<Value>) -> Result<(), StoreError> {
        let Some(wanted) = wanted else { return Ok(()) };
        match call(&self.client, Method::PUT, path, Some(&wanted)).await {
            Ok(_) => {
                tracing::info!(path, "webhook address and CA written");
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            Err(error) => Err(api(format!("writing {path}"))(error)),
        }
    }

    /// A manager without its configuration serves on: somebody may have deleted it in an emergency and taken our right.
    async fn create(&self, configuration: &Configuration, path: &str, endpoint: &Endpoint) {
        if self.is_external() {
            return;
        }
        let object = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": configuration.kind,
            "metadata": {"name": configuration.name, "ownerReferences": self.owner_references().await},
            "webhooks": configuration.entries,
        });
        let object = configured(&object, endpoint, &self.selections, &[]).unwrap_or(object);
        if let Err(error) = call(&self.client, Method::POST, path, Some(&object)).await {
            tracing::warn!(%error, name = configuration.name, "the webhook configuration is missing and cannot be created");
        }
    }

    /// None where the release has no such object; then nobody removes it but a human.
    async fn owner_references(&self) -> Value {
        let Ok(owner) = call(&self.client, Method::GET, self.owner, None).await else { return json!([]) };
        let text = |path: &str| owner.pointer(path).cloned().unwrap_or_default();
        json!([{
            "apiVersion": text("/apiVersion"), "kind": text("/kind"),
            "name": text("/metadata/name"), "uid": text("/metadata/uid"),
        }])
    }

    fn is_external(&self) -> bool {
        match self.location {
            Location::External { .. } => true,
            Location::Secret { .. } | Location::Directory(_) => false,
        }
    }

    async fn crd_versions(&self) -> Result<BTreeMap<String, String>, StoreError> {
        let api_of_crds = Api::<DynamicObject>::all_with(self.client.clone(), &crds());
        let list = api_of_crds.list_metadata(&ListParams::default()).await;
        let list = list.map_err(api("listing custom resource definitions".to_owned()))?;
        let pairs = list.items.into_iter().map(|crd| crd.metadata);
        Ok(pairs.filter_map(|meta| Some((meta.name?, meta.resource_version?))).collect())
    }

    /// What wakes the loop: metadata only, by name where there is one.
    fn watches(&self, changed: &Arc<Notify>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let all = |resource: &ApiResource| Api::<DynamicObject>::all_with(self.client.clone(), resource);
        for configuration in &self.configurations {
            let gvk = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", configuration.kind);
            let resource = ApiResource::from_gvk_with_plural(&gvk, configuration.plural);
            let told = vec![Arc::clone(changed), Arc::clone(&self.configuration_changed)];
            tasks.spawn(wake(all(&resource), Some(configuration.name.to_owned()), told));
        }
        tasks.spawn(wake(all(&crds()), None, vec![Arc::clone(changed)]));
        if let Location::Secret { namespace, name } | Location::External { namespace, name } = &self.location
        {
            let resource =
                ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "Secret"), "secrets");
            let secrets = Api::<DynamicObject>::namespaced_with(self.client.clone(), namespace, &resource);
            tasks.spawn(wake(secrets, Some(name.clone()), vec![Arc::clone(changed)]));
        }
        tasks
    }
}

/// WC-9, PL-B11: not ready, with the reason; whoever injects the CA will come.
fn trusted(path: &str, object: &Value, endpoint: &Endpoint) -> Result<(), StoreError> {
    if trusts(object, &endpoint.bundle) {
        return Ok(());
    }
    Err(StoreError::Unfit(format!(
        "{path} does not carry the CA of the external certificates: is its injection set up?"
    )))
}

fn crds() -> ApiResource {
    let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    ApiResource::from_gvk_with_plural(&gvk, "customresourcedefinitions")
}

async fn wake(objects: Api<DynamicObject>, name: Option<String>, told: Vec<Arc<Notify>>) {
    let params = match name {
        Some(name) => WatchParams::default().fields(&format!("metadata.name={name}")),
        None => WatchParams::default(),
    };
    let mut retry = RETRY_FIRST;
    loop {
        let opened = Instant::now();
        // Each watch begins with what there is: nothing that changed between two of them is missed.
        if let Ok(stream) = objects.watch_metadata(&params, "0").await {
            let mut events = stream.boxed();
            while let Ok(Some(_)) = events.try_next().await {
                for changed in &told {
                    changed.notify_one();
                }
            }
        }
        // Servers end every watch after some minutes. Only one that did not last is not opened again at once.
        if opened.elapsed() >= LASTED {
            retry = RETRY_FIRST;
        } else {
            tokio::time::sleep(retry).await;
            retry = retry.saturating_mul(2).min(RETRY_LONGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use bytes::Bytes;
    use futures::stream;
    use http::{Request, Response};
    use tokio::sync::mpsc;

    use super::super::inject::Owned;
    use super::*;

    /// A change right after an ordinary end of the watch is seen within a second, not after half a minute.
    #[tokio::test(start_paused = true)]
    async fn watch_that_ended_is_opened_again_at_once() {
        let (sender, mut opened) = mpsc::unbounded_channel();
        let server = tower::service_fn(move |_: Request<kube::client::Body>| {
            sender.send(Instant::now()).unwrap();
            async {
                let end = stream::once(async {
                    tokio::time::sleep(Duration::from_secs(290)).await;
                    Ok::<_, std::io::Error>(Bytes::new())
                });
                Ok::<_, std::io::Error>(Response::new(Body::from_stream(end)))
            }
        });
        let objects = Api::all_with(Client::new(server, "default"), &crds());
        let _waking = tokio::spawn(wake(objects, None, Vec::new()));

        let first = opened.recv().await.unwrap();
        let second = opened.recv().await.unwrap();

        assert!(second - first < Duration::from_secs(291), "{:?}", second - first);
    }

    /// PL-B9, PL-B10: all CRDs wake the loop at once, the rest by name; only metadata is asked for.
    #[tokio::test(start_paused = true)]
    async fn pl_b9_pl_b10_watches_ask_for_metadata_and_for_names() {
        let (sender, mut opened) = mpsc::unbounded_channel();
        let server = tower::service_fn(move |request: Request<kube::client::Body>| {
            let accepted = request.headers()[http::header::ACCEPT].to_str().unwrap().to_owned();
            sender.send((request.uri().to_string(), accepted)).unwrap();
            // Nothing changes before the watches are stopped.
            std::future::pending::<Result<Response<Body>, std::io::Error>>()
        });
        let configuration = |kind, plural, name| Configuration {
            kind,
            plural,
            name,
            entries: Vec::new(),
            always: Vec::new(),
        };
        let keeper = Keeper {
            client: Client::new(server, "default"),
            clock: Clock::system(),
            location: Location::Secret { namespace: "ns".to_owned(), name: "certs".to_owned() },
            policy: Policy::new("svc.ns.svc", ""),
            address: Address::new("", 9876, "svc", "ns"),
            configurations: vec![
                configuration("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "m"),
                configuration("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "v"),
            ],
            crds: Vec::new(),
            convert_path: "/convert",
            serving: Serving::default(),
            state: watch::Sender::new(State::Ready),
            metrics: Arc::default(),
            selections: Selections { entries: BTreeMap::new(), owned: Owned::default() },
            configuration_changed: Arc::default(),
            owner: "",
        };

        let _watches = keeper.watches(&Arc::default());

        let mut asked = Vec::new();
        while let Ok(Some((uri, accepted))) =
            tokio::time::timeout(Duration::from_secs(1), opened.recv()).await
        {
            assert!(accepted.contains("as=PartialObjectMetadata"), "{uri}: {accepted}");
            let (path, query) = uri.split_once('?').unwrap();
            let name = query.split('&').find_map(|part| part.strip_prefix("fieldSelector=metadata.name%3D"));
            let plural = path.rsplit('/').next().unwrap();
            asked.push((plural.to_owned(), name.map(str::to_owned)));
        }
        asked.sort();
        let by_name = |plural: &str, name: Option<&str>| (plural.to_owned(), name.map(str::to_owned));
        assert_eq!(
            asked,
            [
                by_name("customresourcedefinitions", None),
                by_name("mutatingwebhookconfigurations", Some("m")),
                by_name("secrets", Some("certs")),
                by_name("validatingwebhookconfigurations", Some("v")),
            ]
        );
    }

    /// A watch that is refused is tried again, but less and less often.
    #[tokio::test(start_paused = true)]
    async fn watch_that_is_refused_is_not_asked_for_in_a_loop() {
        let (sender, mut opened) = mpsc::unbounded_channel();
        let server = tower::service_fn(move |_: Request<kube::client::Body>| {
            sender.send(()).unwrap();
            async { Ok::<_, std::io::Error>(Response::builder().status(403).body(Body::empty()).unwrap()) }
        });
        let objects = Api::all_with(Client::new(server, "default"), &crds());
        let _waking = tokio::spawn(wake(objects, None, Vec::new()));

        tokio::time::sleep(Duration::from_mins(10)).await;

        let mut count = 0;
        while opened.try_recv().is_ok() {
            count += 1;
        }
        assert!((15..40).contains(&count), "{count}");
    }
}
