//! The testbed itself: it starts, serves, and leaves nothing behind.

use kruise_testbed::{Cluster, Options};

#[tokio::test]
async fn two_clusters_run_side_by_side() {
    let first = Cluster::start(Options::default()).await.unwrap();
    let second = Cluster::start(Options::default()).await.unwrap();

    let versions = [first.client().apiserver_version().await.unwrap(), second.client().apiserver_version().await.unwrap()];

    assert_ne!(first.dir(), second.dir());
    assert!(versions.iter().all(|version| version.git_version == "v1.36.3"), "{versions:?}");
}
