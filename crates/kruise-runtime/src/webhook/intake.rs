//! Bodies of reviews: how much of them is in memory at once, and where they are worked on. Everybody in the cluster who reaches the
//! port can send some, so nothing here depends on what they hold being honest.
//!
//! A small body is worked on where it arrives. A large one gets one thread beside the one that everything else runs on, one at a time:
//! neither probes nor leases nor other reviews wait for it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::header;
use bytes::{Bytes, BytesMut};
use futures::{StreamExt, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::weigh::weigh;

/// A body up to here is small: the reviews of usual objects are. Reading it takes less than a millisecond.
const SMALL: usize = 64 << 10;
/// The bytes of large bodies in memory at once, besides one that needs no permission.
const LARGE_BYTES: usize = 8 << 20;
/// The trees of small bodies in memory at once.
const SMALL_TREES: usize = 16 << 20;
/// The tree of one body. An object of 1.5 MiB (etcd's limit) with its predecessor takes about 27 MiB.
const TREE_MAX: usize = 40 << 20;
/// Values of all objects of a conversion: of a full body each takes 30 bytes, as in usual objects.
const CONVERTED_VALUES_MAX: usize = 300_000;
/// The API server needs milliseconds; large ones also wait for their turn meanwhile.
const BODY_WITHIN: Duration = Duration::from_secs(5);
/// Of a large answer so much at once.
const PIECE: usize = 16 << 10;
/// Permits are counted in these.
const KIB: usize = 1 << 10;

/// A code and what to say.
pub(super) type Refusal = (u16, String);

/// Shared by all paths of a server.
#[derive(Debug, Clone)]
pub(super) struct Intake {
    large_bytes: Arc<Semaphore>,
    /// Who has it needs no others.
    first: Arc<Semaphore>,
    small_trees: Arc<Semaphore>,
    /// Who has it works on a large body.
    thread: Arc<Semaphore>,
}

/// A body that was taken in.
#[derive(Debug)]
pub(super) struct Taken {
    pub body: Bytes,
    size: Size,
    held: Held,
}

/// Memory that a large body has been given so far: for what has arrived, not for what was announced. Its answer keeps it until it is
/// sent.
#[derive(Debug, Default)]
pub(super) struct Held {
    bytes: Option<OwnedSemaphorePermit>,
    first: Option<OwnedSemaphorePermit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Small,
    Large,
}

impl Held {
    /// The body of an answer that keeps its place in memory until its last piece is on its way.
    pub fn answer(self, text: String) -> Body {
        if self.bytes.is_none() && self.first.is_none() {
            return Body::from(text);
        }
        Body::from_stream(stream::unfold((Bytes::from(text), self), |(mut rest, held)| async move {
            let piece = rest.split_to(rest.len().min(PIECE));
            (!piece.is_empty()).then_some((Ok::<_, Infallible>(piece), (rest, held)))
        }))
    }
}

impl Default for Intake {
    fn default() -> Self {
        Self {
            large_bytes: Arc::new(Semaphore::new(LARGE_BYTES / KIB)),
            first: Arc::new(Semaphore::new(1)),
            small_trees: Arc::new(Semaphore::new(SMALL_TREES / KIB)),
            thread: Arc::new(Semaphore::new(1)),
        }
    }
}

impl Intake {
    /// Reads the body of a request.
    pub async fn take(&self, request: axum::extract::Request, bytes_max: usize) -> Result<Taken, Refusal> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if kind.is_none_or(|kind| !kind.starts_with("application/json")) {
            return Err((400, format!("content type {}: send application/json", kind.unwrap_or("missing"))));
        }
        let taken = tokio::time::timeout(BODY_WITHIN, self.read(request.into_body(), bytes_max)).await;
        taken.unwrap_or_else(|_| Err((408, format!("the body did not come within {BODY_WITHIN:?}"))))
    }

    async fn read(&self, body: Body, bytes_max: usize) -> Result<Taken, Refusal> {
        let too_long = || (413, format!("a body may have {bytes_max} bytes"));
        // A body that does not say its length may be as long as any.
        let length =
            body.size_hint().upper().map_or(bytes_max, |most| usize::try_from(most).unwrap_or(usize::MAX));
        if length > bytes_max {
            return Err(too_long());
        }
        let size = if length <= SMALL { Size::Small } else { Size::Large };
        let mut held = Held::default();
        // As long as it says, and never copied: collecting pieces would take twice the memory.
        let mut read = BytesMut::with_capacity(length);
        let mut pieces = body.into_data_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| (400, format!("the body was not read: {error}")))?;
            if bytes_max < read.len() + piece.len() {
                return Err(too_long());
            }
            if size == Size::Large {
                self.hold(&mut held, piece.len()).await?;
            }
            read.extend_from_slice(&piece);
        }
        let whole = read.freeze();
        if whole.is_empty() {
            Err((400, "the body is empty".to_owned()))
        } else {
            Ok(Taken { body: whole, size, held })
        }
    }

    /// Memory for one more piece. When there is none left, one body gets what it needs all the same: so somebody always comes to its end.
    async fn hold(&self, held: &mut Held, bytes: usize) -> Result<(), Refusal> {
        if held.first.is_some() {
            return Ok(());
        }
        tokio::select! {
            biased;
            more = acquire(&self.large_bytes, bytes.min(LARGE_BYTES)) => match (&mut held.bytes, more?) {
                (Some(had), more) => had.merge(more),
                (none @ None, more) => *none = Some(more),
            },
            first = acquire(&self.first, KIB) => held.first = Some(first?),
        }
        Ok(())
    }

    /// Works on a body that becomes one tree, in the right place.
    pub async fn work<T: Send + 'static>(
        &self,
        taken: Taken,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<(T, Held), Refusal> {
        self.work_if(light, taken, work).await
    }

    /// Works on a body whose objects become trees one after the other.
    pub async fn convert<T: Send + 'static>(
        &self,
        taken: Taken,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<(T, Held), Refusal> {
        self.work_if(few, taken, work).await
    }

    async fn work_if<T: Send + 'static>(
        &self,
        check: fn(&[u8]) -> Result<usize, Refusal>,
        taken: Taken,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<(T, Held), Refusal> {
        match taken.size {
            Size::Small => {
                let _tree = acquire(&self.small_trees, check(&taken.body)?.min(SMALL_TREES)).await?;
                Ok((work.await, taken.held))
            }
            Size::Large => {
                let turn = acquire(&self.thread, KIB).await?;
                let runtime = tokio::runtime::Handle::current();
                let worked = tokio::task::spawn_blocking(move || {
                    let _turn = turn;
                    check(&taken.body)?;
                    drop(taken.body);
                    Ok((runtime.block_on(work), taken.held))
                });
                worked.await.unwrap_or_else(|_| {
                    Err((500, "the webhook failed inside; its log says where".to_owned()))
                })
            }
        }
    }
}

/// What it weighs, if it may be read at all.
fn light(body: &[u8]) -> Result<usize, Refusal> {
    let weight = weigh(body).map_err(|message| (400, message))?;
    if weight.bytes <= TREE_MAX {
        return Ok(weight.bytes);
    }
    let values = weight.values;
    Err((413, format!("the body holds {values} values, too many to be looked at: make the object smaller")))
}

/// What it weighs at most; each object is weighed when its turn comes.
fn few(body: &[u8]) -> Result<usize, Refusal> {
    let weight = weigh(body).map_err(|message| (400, message))?;
    if weight.values <= CONVERTED_VALUES_MAX {
        return Ok(weight.bytes.min(TREE_MAX));
    }
    Err((413, format!("the body holds {} values: convert fewer objects at once", weight.values)))
}

/// Whether one object of a body may become a tree.
pub(super) fn is_light(object: &str) -> Result<(), String> {
    light(object.as_bytes()).map(drop).map_err(|(_, message)| message)
}

async fn acquire(semaphore: &Arc<Semaphore>, bytes: usize) -> Result<OwnedSemaphorePermit, Refusal> {
    let permits = u32::try_from(bytes.div_ceil(KIB)).unwrap_or(u32::MAX);
    let permit = Arc::clone(semaphore).acquire_many_owned(permits).await;
    permit.map_err(|_| (503, "the server is closing".to_owned()))
}

#[cfg(test)]
mod tests {
    use axum::extract::Request;

    use super::*;

    const MAX: usize = 7 << 20;

    fn request(length: usize, body: Body) -> Request {
        Request::post("/")
            .header("content-type", "application/json")
            .header("content-length", length)
            .body(body)
            .unwrap()
    }

    fn full(length: usize) -> Request {
        request(length, Body::from(vec![b' '; length]))
    }

    /// Sends so much, and then nothing.
    fn stuck(sent: usize) -> Request {
        let first = stream::once(async move { Ok::<_, std::io::Error>(Bytes::from(vec![b' '; sent])) });
        request(MAX, Body::from_stream(first.chain(stream::pending())))
    }

    /// Large bodies that do not come keep no other one from being taken: not by what they announce, and not by what they hold.
    #[tokio::test(start_paused = true)]
    async fn bodies_that_do_not_come_keep_nobody_waiting() {
        for sent in [1, LARGE_BYTES / 8, LARGE_BYTES - KIB] {
            let intake = Intake::default();
            let stuck: Vec<_> = (0..20)
                .map(|_| {
                    let intake = intake.clone();
                    tokio::spawn(async move { intake.take(stuck(sent.min(MAX)), MAX).await.map(drop) })
                })
                .collect();
            tokio::task::yield_now().await;
            let started = tokio::time::Instant::now();

            let honest = loop {
                match intake.take(full(MAX), MAX).await {
                    Ok(taken) => break taken,
                    Err((code, _)) => assert_eq!(code, 408),
                }
            };

            assert_eq!(honest.body.len(), MAX);
            assert!(started.elapsed() <= BODY_WITHIN * 2, "{sent}: {:?}", started.elapsed());
            for one in stuck {
                assert_eq!(one.await.unwrap().unwrap_err().0, 408);
            }
        }
    }

    #[tokio::test]
    async fn bodies_that_become_large_trees_are_refused_before_they_are_read() {
        let intake = Intake::default();
        for (text, expected) in [
            (format!("[{}0]", "0,".repeat(1 << 20)), 413),
            (format!("[{}0]", r#"{"a":0},"#.repeat(1 << 17)), 413),
            ("[".repeat(1 << 17), 400),
            ("[".repeat(1 << 10), 400),
            (format!("\"{}\"", "x".repeat(1 << 20)), 0),
        ] {
            let taken = intake.take(request(text.len(), Body::from(text)), MAX).await.unwrap();
            let worked = intake.work(taken, async {}).await;
            assert_eq!(worked.err().map_or(0, |(code, _)| code), expected);
        }
    }

    /// A large body is worked on by another thread: the one that answers probes goes on.
    #[tokio::test]
    async fn large_bodies_are_worked_on_elsewhere() {
        let intake = Intake::default();
        let here = std::thread::current().id();
        let at = async || std::thread::current().id();
        let small = intake.take(full(10), MAX).await.unwrap();
        assert_eq!(intake.work(small, at()).await.unwrap().0, here);
        let large = intake.take(full(SMALL + 1), MAX).await.unwrap();
        assert_ne!(intake.work(large, at()).await.unwrap().0, here);
    }
}
