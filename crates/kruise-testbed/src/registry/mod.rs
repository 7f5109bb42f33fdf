//! A registry for images made here: read-only, on one address of this machine, in this process.
//!
//! It answers for every registry host at once (containerd names the host it meant in the `ns` parameter), so pods
//! name `nginx:1.14.2` or `registry.k8s.io/pause:3.10` and the pull is a real one: resolve, manifest, blobs, digests.
//! A test makes an image fail or slow with a [`Fault`] and counts how often it was asked for.

mod server;
mod store;

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::TestbedError;
use crate::images::{Digest, Image, Reference};
use store::Store;

/// How the registry treats one image, until it is [healed](Registry::heal).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    NotFound,
    ServerError,
    Unauthorized,
    /// Answers after this time.
    Slow(Duration),
}

/// A running registry. It has a thread and a runtime of its own, so it outlives the test that happened to start it,
/// and ends when it is dropped.
#[derive(Debug)]
pub struct Registry {
    address: SocketAddr,
    store: Arc<Mutex<Store>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Registry {
    /// Starts an empty registry on a free port of an address.
    pub fn start(address: IpAddr) -> Result<Self, TestbedError> {
        let listener = TcpListener::bind((address, 0))
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(TestbedError::io(format!("opening a port on {address} for the image registry")))?;
        let local = listener.local_addr().map_err(TestbedError::io("asking for the port of the registry"))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(TestbedError::io("starting the runtime of the registry"))?;
        let store = Arc::new(Mutex::new(Store::default()));
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn({
            let store = Arc::clone(&store);
            move || runtime.block_on(server::serve(listener, store, stopped))
        });
        Ok(Self { address: local, store, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds or replaces an image under all its names; returns the digest of its manifest.
    pub fn add(&self, image: &Image) -> Result<Digest, TestbedError> {
        let built = image.build().map_err(TestbedError::io("making an image"))?;
        let digest = built.manifest.clone();
        lock(&self.store).add(built);
        Ok(digest)
    }

    /// From now on an image is treated so, whether it exists or not.
    pub fn fault(&self, name: &str, fault: Fault) {
        lock(&self.store).fault(Reference::read(name), fault);
    }

    /// Takes the fault of an image away.
    pub fn heal(&self, name: &str) {
        lock(&self.store).heal(&Reference::read(name));
    }

    /// How often a tag was looked up: once per pull, failed ones included.
    pub fn pulls(&self, name: &str) -> u64 {
        lock(&self.store).pulls(&Reference::read(name))
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // The other end sees the sender go and leaves its loop.
        drop(self.stop.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            eprintln!("[testbed] the image registry ended with a panic");
        }
    }
}

/// A poisoned lock only says that another test panicked; the images stay good.
fn lock(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
