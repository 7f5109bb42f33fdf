//! Watches of the kinds that the administrator lists for PersistentPodState: one for each, for as long as it is listed (PP-5, D14).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kruise_api::names::{CONFIGURATION, CONFIGURATION_PERSISTENT_POD_STATE};
use kruise_core::lookup::Index;
use kruise_core::persistentpodstate::{
    self as brain, CustomKind, CustomWorkload, NotAWhitelist, Owner, Supported, Target,
};
use kruise_runtime::Key;
use kruise_runtime::cache::{Store, Watch, WatchSettings};
use kube::Client;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::configuration_map::Configuration;
use crate::front::Aborting;

/// Between two looks for a kind that is listed before it is installed.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The listed kinds and their objects, as far as they are known.
#[derive(Default)]
pub struct CustomKinds {
    configuration: Arc<Store<Configuration>>,
    changed: Arc<Notify>,
    state: Mutex<State>,
    handlers: Mutex<Vec<Handler>>,
}

#[derive(Default)]
struct State {
    /// The last list that could be read (D6).
    supported: Supported,
    watched: BTreeMap<CustomKind, Watched>,
}

struct Watched {
    store: Arc<Store<CustomWorkload>>,
    _tasks: Aborting,
}

/// What is told about a kind.
pub enum News<'a> {
    /// All of its objects are known from now on.
    Listed,
    Changed(&'a CustomWorkload),
}

type Handler = Arc<dyn Fn(&CustomKind, News<'_>) + Send + Sync>;

impl CustomKinds {
    /// Is told about all kinds, also those that are listed later. Must not block.
    pub fn on_news(&self, handler: impl Fn(&CustomKind, News<'_>) + Send + Sync + 'static) {
        self.handlers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(handler));
    }

    pub fn supported(&self) -> Supported {
        self.state().supported.clone()
    }

    pub fn by_uid(&self, uid: &str) -> Vec<(CustomKind, Arc<CustomWorkload>)> {
        self.find(|store| store.by(Index::Uid, uid).pop())
    }

    fn find(
        &self,
        in_store: impl Fn(&Store<CustomWorkload>) -> Option<Arc<CustomWorkload>>,
    ) -> Vec<(CustomKind, Arc<CustomWorkload>)> {
        let state = self.state();
        let found =
            |(kind, watched): (&CustomKind, &Watched)| Some((kind.clone(), in_store(&watched.store)?));
        state.watched.iter().filter_map(found).collect()
    }

    /// Follows the list in `own_namespace` by tasks of this set; the objects are where `settings` say.
    pub fn start(
        self: &Arc<Self>,
        tasks: &mut JoinSet<()>,
        client: &Client,
        settings: &WatchSettings,
        own_namespace: &str,
    ) {
        let changed = Arc::clone(&self.changed);
        self.configuration.on_change(move |_| changed.notify_one());
        let own = WatchSettings { namespace: own_namespace.into(), ..settings.clone() };
        let watch = Watch::new(client.clone(), Arc::clone(&self.configuration), own).only(CONFIGURATION);
        tasks.spawn(watch.run());
        tasks.spawn(Arc::clone(self).follow(client.clone(), settings.clone()));
    }

    async fn follow(self: Arc<Self>, client: Client, settings: WatchSettings) {
        loop {
            match self.listed() {
                Ok(supported) => self.state().supported = supported,
                Err(error) => {
                    tracing::warn!(%error, "the custom workload list cannot be parsed; the previous list stays in effect");
                }
            }
            let missing = self.settle();
            let mut is_complete = true;
            for kind in missing {
                match discover(&client, &kind, &settings.namespace).await {
                    Ok(Some(path)) => self.watch(&client, &settings, &kind, path),
                    Ok(None) => {
                        tracing::debug!(?kind, "listed, but not installed");
                        is_complete = false;
                    }
                    Err(error) => {
                        tracing::warn!(?kind, %error, "listed, but cannot be watched; trying again");
                        is_complete = false;
                    }
                }
            }
            tokio::select! {
                biased;
                () = self.changed.notified() => {}
                () = tokio::time::sleep(LOOK_AGAIN), if !is_complete => {}
            }
        }
    }

    fn listed(&self) -> Result<Supported, NotAWhitelist> {
        let all = self.configuration.all();
        let text = all.first().and_then(|one| one.data.get(CONFIGURATION_PERSISTENT_POD_STATE));
        Supported::read(text.map(String::as_str))
    }

    /// Ends the watches of kinds that are not listed any more; returns those that are and have none.
    fn settle(&self) -> Vec<CustomKind> {
        let mut state = self.state();
        let wanted: Vec<CustomKind> = state.supported.custom().cloned().collect();
        state.watched.retain(|kind, _| wanted.contains(kind));
        wanted.into_iter().filter(|kind| !state.watched.contains_key(kind)).collect()
    }

    fn watch(self: &Arc<Self>, client: &Client, settings: &WatchSettings, kind: &CustomKind, path: String) {
        let store: Arc<Store<CustomWorkload>> = Arc::default();
        let (these, of) = (Arc::downgrade(self), kind.clone());
        store.on_change(move |change| {
            if let (Some(kinds), Some(object)) = (these.upgrade(), change.new.or(change.old)) {
                kinds.tell(&of, || News::Changed(object));
            }
        });
        let watch = Watch::new(client.clone(), Arc::clone(&store), settings.clone()).at(path);
        let (kinds, new, listed) = (Arc::downgrade(self), kind.clone(), Arc::clone(&store));
        let told = async move {
            listed.synced().await;
            if let Some(kinds) = kinds.upgrade() {
                kinds.tell(&new, || News::Listed);
            }
        };
        let tasks = Aborting(vec![tokio::spawn(watch.run()), tokio::spawn(told)]);
        tracing::info!(?kind, "pods of this kind are now recorded where a PersistentPodState asks for it");
        self.state().watched.insert(kind.clone(), Watched { store, _tasks: tasks });
    }

    fn tell<'a>(&self, kind: &CustomKind, news: impl Fn() -> News<'a>) {
        let handlers = self.handlers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for handler in handlers {
            handler(kind, news());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl brain::CustomKinds for CustomKinds {
    fn look_up(&self, namespace: &str, target: &Target) -> Owner {
        let state = self.state();
        let watched = state.watched.iter().find(|(kind, _)| kind.is_of(target));
        match watched.filter(|(_, watched)| watched.store.is_synced()) {
            None => Owner::Unknown,
            Some((_, watched)) => match watched.store.get(&Key::new(namespace, target.name.as_str())) {
                None => Owner::Absent,
                Some(found) => Owner::There { uid: found.head.uid.clone(), workload: found.workload.clone() },
            },
        }
    }

    fn named(&self, key: &Key) -> Vec<(CustomKind, Arc<CustomWorkload>)> {
        self.find(|store| store.get(key))
    }
}

/// The path of the kind's objects; none if it is not installed. What cannot be part of a path is nobody's kind.
async fn discover(
    client: &Client,
    kind: &CustomKind,
    namespace: &str,
) -> Result<Option<String>, kube::Error> {
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
    if kind.version.is_empty() || !is_plain(&kind.group) || !is_plain(&kind.version) {
        return Ok(None);
    }
    let root = match kind.group.as_str() {
        "" => format!("/api/{}", kind.version),
        group => format!("/apis/{group}/{}", kind.version),
    };
    let request = http::Request::get(&root).body(Vec::new()).map_err(kube::Error::HttpError)?;
    let found = match client.request::<Value>(request).await {
        Ok(found) => found,
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
        Err(error) => return Err(error),
    };
    let text =
        |one: &Value, field: &str| one.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let all = found.get("resources").and_then(Value::as_array).into_iter().flatten();
    let mut plurals = all.filter(|one| text(one, "kind") == kind.kind).map(|one| text(one, "name"));
    let plural = plurals.find(|name| !name.contains('/'));
    Ok(plural.map(|plural| match namespace {
        "" => format!("{root}/{plural}"),
        namespace => format!("{root}/namespaces/{namespace}/{plural}"),
    }))
}

#[cfg(test)]
impl CustomKinds {
    /// As if the list had this kind, with these objects, all known.
    pub fn with(&self, kind: &CustomKind, objects: &[Value]) {
        let mut caches = kruise_runtime::cache::Caches::default();
        caches.add::<CustomWorkload>();
        let store = Arc::clone(caches.store::<CustomWorkload>().unwrap());
        for object in objects {
            let text = object.to_string();
            caches.refresh(<CustomWorkload as kruise_runtime::cache::Slim>::RESOURCE, &text).unwrap();
        }
        store.assume_complete();
        let mut state = self.state();
        state.supported = Supported::of([kind.clone()]);
        state.watched.insert(kind.clone(), Watched { store, _tasks: Aborting(Vec::new()) });
    }
}
