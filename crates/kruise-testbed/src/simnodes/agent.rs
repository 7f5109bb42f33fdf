//! The loop: watch, decide, write.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use jiff::Timestamp;
use kruise_sim::kubelet::{Knobs, Step};
use kube::Client;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

use super::Controls;
use super::pods::{Job, Pods};
use crate::slim::{self, Versioned};

/// Writes in flight; more than the API server of a small machine can use.
const AT_ONCE: usize = 64;

/// Only pods that are bound: the kubelet's business begins there.
const BOUND: &str = "fieldSelector=spec.nodeName%21%3D";

/// Of an answer only the version is read; the rest need not be sent.
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// Between two tries to write.
const RETRY: Duration = Duration::from_millis(500);

/// Something that happened.
enum News {
    Heard(slim::News),
    Wrote { uid: String, version: Option<u64> },
}

/// Plays all kubelets until aborted.
pub async fn run(client: Client, controls: Arc<Controls>) {
    let (sender, mut news) = mpsc::unbounded_channel();
    let (followed, heard) = (client.clone(), sender.clone());
    let _following = AbortOnDrop(tokio::spawn(async move {
        slim::follow(&followed, "/api/v1/pods", BOUND, |item| tell(&heard, News::Heard(item))).await;
    }));
    let writer = Writer { client, permits: Arc::new(Semaphore::new(AT_ONCE)), done: sender };
    let mut pods = Pods::default();
    loop {
        let jobs = tokio::select! {
            biased;
            Some(item) = news.recv() => take(item, &mut pods, &controls.knobs()),
            () = until(pods.next_timer()) => pods.due(&controls.knobs(), Timestamp::now()),
            () = controls.changed.notified() => pods.all(&controls.knobs(), Timestamp::now()),
        };
        for job in jobs {
            writer.send(job);
        }
    }
}

fn take(item: News, pods: &mut Pods, knobs: &Knobs) -> Vec<Job> {
    let now = Timestamp::now();
    match item {
        News::Heard(slim::News::Listed(listed)) => {
            let uids: BTreeSet<String> = listed.iter().map(|pod| pod.metadata.uid.clone()).collect();
            pods.retain(&uids);
            listed.into_iter().filter_map(|pod| pods.seen(pod, knobs, now)).collect()
        }
        News::Heard(slim::News::Seen(pod)) => pods.seen(*pod, knobs, now).into_iter().collect(),
        News::Heard(slim::News::Gone(pod)) => {
            pods.gone(&pod.metadata.uid);
            Vec::new()
        }
        News::Wrote { uid, version } => pods.wrote(&uid, version, knobs, now).into_iter().collect(),
    }
}

async fn until(at: Option<Timestamp>) {
    match at {
        None => std::future::pending().await,
        Some(at) => {
            let wait = at.duration_since(Timestamp::now());
            tokio::time::sleep(Duration::try_from(wait).unwrap_or(Duration::ZERO)).await;
        }
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The receiver only goes when the whole agent does.
fn tell(news: &mpsc::UnboundedSender<News>, item: News) {
    if news.send(item).is_err() {
        tracing::debug!("the agent is ending");
    }
}

struct Writer {
    client: Client,
    permits: Arc<Semaphore>,
    done: mpsc::UnboundedSender<News>,
}

/// All that is read of an answer.
#[derive(Deserialize)]
struct Written {
    metadata: Versioned,
}

impl Writer {
    fn send(&self, job: Job) {
        let (client, permits, done) = (self.client.clone(), Arc::clone(&self.permits), self.done.clone());
        tokio::spawn(async move {
            let _permit = permits.acquire().await;
            let result = write(&client, &job).await;
            let version = match result {
                Ok(version) => version,
                Err(error) => {
                    explain(&job, &error).await;
                    None
                }
            };
            tell(&done, News::Wrote { uid: job.uid, version });
        });
    }
}

/// A pod that is gone or was changed by somebody else meanwhile is normal: the watch will tell.
async fn explain(job: &Job, error: &kube::Error) {
    if matches!(error, kube::Error::Api(status) if matches!(status.code, 404 | 409 | 422)) {
        tracing::debug!(pod = job.name, %error, "write not taken");
    } else {
        tracing::warn!(pod = job.name, %error, "write failed; tried again");
    }
    tokio::time::sleep(RETRY).await;
}

async fn write(client: &Client, job: &Job) -> Result<Option<u64>, kube::Error> {
    let path = format!("/api/v1/namespaces/{}/pods/{}", job.namespace, job.name);
    let request = match &job.step {
        Step::Patch(patch) => Request::patch(format!("{path}/status"))
            .header(http::header::CONTENT_TYPE, "application/json-patch+json")
            .header(http::header::ACCEPT, METADATA_ONLY)
            .body(json(patch)?),
        Step::Remove => Request::delete(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .header(http::header::ACCEPT, METADATA_ONLY)
            .body(json(&json!({"gracePeriodSeconds": 0, "preconditions": {"uid": job.uid}}))?),
        Step::Wait(_) => return Ok(None),
    };
    let request = request.map_err(kube::Error::HttpError)?;
    let written: Written = client.request(request).await?;
    Ok(written.metadata.resource_version.parse().ok())
}

/// A status patch of one container has about this many bytes: its buffer need not grow.
const PATCH_BYTES: usize = 4096;

fn json(value: &impl Serialize) -> Result<Vec<u8>, kube::Error> {
    let mut bytes = Vec::with_capacity(PATCH_BYTES);
    serde_json::to_writer(&mut bytes, value).map_err(kube::Error::SerdeError)?;
    Ok(bytes)
}
