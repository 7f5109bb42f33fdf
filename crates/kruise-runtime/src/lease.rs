//! Leader election by Lease, with the original's name, identity format and timings, so that both managers exclude
//! each other (LE-1). Ours releases the lease on a clean stop (LE-3).

use std::time::Duration;

use http::{Request, header};
use jiff::Timestamp;
use kruise_core::chain::{Event, EventKind};
use kube::Client;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::clock::Clock;
use crate::events::{Recorder, Subject};

/// How long a lease holds, when a leader gives up, how often everybody looks.
#[derive(Debug, Clone, Copy)]
pub struct Timings {
    pub duration: Duration,
    pub renew_deadline: Duration,
    pub retry: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// One candidate.
pub struct Candidate {
    pub client: Client,
    pub clock: Clock,
    pub namespace: String,
    pub name: String,
    /// `<hostname>_<uuid>`.
    pub identity: String,
    pub timings: Timings,
}

/// Who this process is among candidates: the host and a random UUID, in the original's format.
pub fn identity(host: &str, random: [u64; 2]) -> String {
    let [high, low] = random;
    // Version and variant of a random UUID have their fixed bits.
    let (high, low) = (high & !0xf000 | 0x4000, low & !(0b11 << 62) | 0b10 << 62);
    let (time_low, time_mid, version) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
    let (variant, node) = (low >> 48, low & 0xffff_ffff_ffff);
    format!("{host}_{time_low:08x}-{time_mid:04x}-{version:04x}-{variant:04x}-{node:012x}")
}

/// What one look at the lease says.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// Ours: renew it.
    Renew,
    /// Free or expired: take it.
    Take,
    /// Somebody else's; look again.
    Wait,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    holder_identity: Option<String>,
    lease_duration_seconds: Option<u64>,
    acquire_time: Option<String>,
    renew_time: Option<String>,
    lease_transitions: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
struct Lease {
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    resource_version: String,
}

/// What was last seen of another holder, and when by our own clock: its time stamps are of another machine.
#[derive(Debug, Default)]
struct Observed(Option<(Option<String>, Option<String>, Instant)>);

impl Candidate {
    /// Resolves when this replica leads.
    pub async fn acquire(&self) {
        let mut observed = Observed::default();
        loop {
            match tokio::time::timeout(self.one_try(), self.attempt(&mut observed)).await {
                Ok(Ok(true)) => return,
                Ok(Ok(false)) => {}
                Err(_) => tracing::warn!(lease = self.name, "no answer about the lease"),
                Ok(Err(error)) => tracing::warn!(%error, lease = self.name, "lease not reached"),
            }
            // Twice as often as a leader renews: a released lease is found within two seconds, one try included.
            tokio::time::sleep(self.timings.retry / 2).await;
        }
    }

    /// Tells users on the lease itself (LE-1).
    pub fn tell(&self, recorder: &Recorder, reason: &'static str, what: &str) {
        let subject = Subject {
            api_version: "coordination.k8s.io/v1".to_owned(),
            kind: "Lease",
            namespace: self.namespace.as_str().into(),
            name: self.name.as_str().into(),
            uid: String::new(),
        };
        let message = format!("{} {what}", self.identity);
        let kind = EventKind::Normal;
        recorder.tell(&subject, &Event { kind, reason, message });
    }

    /// Renews until it is lost: resolves when this replica must stop leading. A request without an answer counts as a failed
    /// one: whoever waits for it longer than the deadline may no longer be the only leader.
    pub async fn hold(&self) {
        // Others count from when they see a renewal, which is not before it was sent.
        let mut renewed = Instant::now();
        let mut observed = Observed::default();
        loop {
            tokio::time::sleep(self.timings.retry).await;
            let (sent, deadline) = (Instant::now(), renewed + self.timings.renew_deadline);
            let until = deadline.min(sent + self.one_try());
            match tokio::time::timeout_at(until, self.attempt(&mut observed)).await {
                Ok(Ok(true)) => renewed = sent,
                Ok(Ok(false)) => return,
                Err(_) => tracing::warn!(lease = self.name, "lease not renewed: no answer"),
                Ok(Err(error)) => tracing::warn!(%error, lease = self.name, "lease not renewed"),
            }
            if renewed + self.timings.renew_deadline <= Instant::now() {
                return;
            }
        }
    }

    /// What one try may take: a connection that died unnoticed leaves time for a second one.
    fn one_try(&self) -> Duration {
        self.timings.renew_deadline / 2
    }

    /// Lets the next one lead at once.
    pub async fn release(&self) {
        let released = async {
            let Some(lease) = self.get().await? else { return Ok(()) };
            if lease.spec.holder_identity.as_deref() != Some(self.identity.as_str()) {
                return Ok(());
            }
            let mut spec =
                Spec { holder_identity: Some(String::new()), lease_duration_seconds: Some(1), ..lease.spec };
            spec.renew_time = Some(micro(self.clock.now()));
            self.put(&lease.metadata.resource_version, &spec).await.map(drop)
        };
        let released: Result<Result<(), kube::Error>, _> =
            tokio::time::timeout(self.one_try(), released).await;
        match released {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "lease not released; the next leader waits for its end"),
            Err(_) => tracing::warn!("lease not released in time; the next leader waits for its end"),
        }
    }

    async fn attempt(&self, observed: &mut Observed) -> Result<bool, kube::Error> {
        let Some(lease) = self.get().await? else { return self.create().await };
        let now = Instant::now();
        match observed.judge(&lease.spec, &self.identity, self.timings.duration, now) {
            Verdict::Wait => Ok(false),
            verdict @ (Verdict::Renew | Verdict::Take) => {
                let spec = self.next_spec(&lease.spec, &verdict);
                self.put(&lease.metadata.resource_version, &spec).await
            }
        }
    }

    fn next_spec(&self, old: &Spec, verdict: &Verdict) -> Spec {
        let now = micro(self.clock.now());
        let taken = *verdict == Verdict::Take;
        Spec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(self.timings.duration.as_secs()),
            acquire_time: if taken { Some(now.clone()) } else { old.acquire_time.clone() },
            renew_time: Some(now),
            lease_transitions: Some(old.lease_transitions.unwrap_or(0) + u64::from(taken)),
        }
    }

    async fn get(&self) -> Result<Option<Lease>, kube::Error> {
        let request = request(Request::get(self.path(&self.name)), None)?;
        match self.client.request(request).await {
            Ok(lease) => Ok(Some(lease)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn create(&self) -> Result<bool, kube::Error> {
        let spec = self.next_spec(&Spec::default(), &Verdict::Renew);
        let spec = Spec { acquire_time: spec.renew_time.clone(), ..spec };
        let request = request(Request::post(self.path("")), Some(self.object(None, &spec)))?;
        self.taken(request).await
    }

    async fn put(&self, version: &str, spec: &Spec) -> Result<bool, kube::Error> {
        let request = request(Request::put(self.path(&self.name)), Some(self.object(Some(version), spec)))?;
        self.taken(request).await
    }

    /// A conflict means that another candidate was faster.
    async fn taken(&self, request: Request<Vec<u8>>) -> Result<bool, kube::Error> {
        match self.client.request_text(request).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn object(&self, version: Option<&str>, spec: &Spec) -> Value {
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": self.name, "namespace": self.namespace, "resourceVersion": version},
            "spec": spec,
        })
    }

    fn path(&self, name: &str) -> String {
        let collection = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace);
        if name.is_empty() { collection } else { format!("{collection}/{name}") }
    }
}

impl Observed {
    fn judge(&mut self, spec: &Spec, us: &str, ours: Duration, now: Instant) -> Verdict {
        match spec.holder_identity.as_deref() {
            Some(holder) if holder == us => return Verdict::Renew,
            None | Some("") => return Verdict::Take,
            Some(_) => {}
        }
        let record = (spec.holder_identity.clone(), spec.renew_time.clone());
        let since = match &self.0 {
            Some((holder, renewed, since)) if (holder, renewed) == (&record.0, &record.1) => *since,
            Some(_) | None => {
                self.0 = Some((record.0, record.1, now));
                now
            }
        };
        let holds = spec.lease_duration_seconds.map_or(ours, Duration::from_secs);
        if now.duration_since(since) > holds { Verdict::Take } else { Verdict::Wait }
    }
}

fn request(builder: http::request::Builder, body: Option<Value>) -> Result<Request<Vec<u8>>, kube::Error> {
    let body = body.map(|body| serde_json::to_vec(&body)).transpose().map_err(kube::Error::SerdeError)?;
    builder
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, "kruise-manager")
        .body(body.unwrap_or_default())
        .map_err(kube::Error::HttpError)
}

/// The API's micro time takes exactly six digits.
fn micro(time: Timestamp) -> String {
    format!("{time:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLDS: Duration = Duration::from_secs(15);

    fn held(by: &str, renewed: &str) -> Spec {
        Spec {
            holder_identity: Some(by.into()),
            renew_time: Some(renewed.into()),
            lease_duration_seconds: Some(15),
            ..Spec::default()
        }
    }

    fn candidate(client: Client) -> Candidate {
        Candidate {
            client,
            clock: Clock::system(),
            namespace: "n".to_owned(),
            name: "leader".to_owned(),
            identity: "us".to_owned(),
            timings: Timings::default(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn le_1_lease_of_another_is_taken_only_after_it_was_silent_for_its_duration() {
        let mut observed = Observed::default();
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);

        assert_eq!(observed.judge(&held("them", "t1"), "us", HOLDS, at(0)), Verdict::Wait);
        assert_eq!(observed.judge(&held("them", "t2"), "us", HOLDS, at(14)), Verdict::Wait);
        assert_eq!(observed.judge(&held("them", "t2"), "us", HOLDS, at(29)), Verdict::Wait);
        assert_eq!(observed.judge(&held("them", "t2"), "us", HOLDS, at(30)), Verdict::Take);
    }

    /// A server that takes requests and never answers is no reason to lead on: after its duration the lease is another's.
    #[tokio::test(start_paused = true)]
    async fn le_1_leader_that_hears_nothing_gives_up_before_its_lease_ends() {
        let silent = tower::service_fn(|_: Request<kube::client::Body>| {
            std::future::pending::<Result<http::Response<kube::client::Body>, std::io::Error>>()
        });
        let candidate = candidate(Client::new(silent, "default"));
        let start = Instant::now();

        candidate.hold().await;

        assert_eq!(start.elapsed(), candidate.timings.renew_deadline);
    }

    /// A connection that died without a word costs one try, not the lead.
    #[tokio::test(start_paused = true)]
    async fn le_1_one_request_without_an_answer_does_not_cost_the_lead() {
        let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
        let count = std::sync::Arc::clone(&asked);
        let server = tower::service_fn(move |_: Request<kube::client::Body>| {
            let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            async move {
                if number == 0 || number > 8 {
                    return std::future::pending().await;
                }
                let lease = json!({"metadata": {"resourceVersion": "1"}, "spec": {"holderIdentity": "us"}});
                let body = kube::client::Body::from(lease.to_string().into_bytes());
                Ok::<_, std::io::Error>(http::Response::new(body))
            }
        });
        let start = Instant::now();

        candidate(Client::new(server, "default")).hold().await;

        assert!(asked.load(std::sync::atomic::Ordering::SeqCst) > 8, "it went on after the first silence");
        assert!(start.elapsed() > Timings::default().renew_deadline * 2, "{:?}", start.elapsed());
    }

    #[test]
    fn le_1_identity_is_the_host_and_a_uuid() {
        assert_eq!(identity("n", [0; 2]), "n_00000000-0000-4000-8000-000000000000");
        assert_eq!(identity("n", [u64::MAX; 2]), "n_ffffffff-ffff-4fff-bfff-ffffffffffff");
    }

    #[tokio::test(start_paused = true)]
    async fn le_3_released_lease_is_taken_at_once() {
        let mut observed = Observed::default();

        assert_eq!(observed.judge(&held("", "t"), "us", HOLDS, Instant::now()), Verdict::Take);
        assert_eq!(observed.judge(&held("us", "t"), "us", HOLDS, Instant::now()), Verdict::Renew);
    }
}
