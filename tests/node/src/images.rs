//! Pulls are real: they fail, back off and recover.

use k8s_openapi::api::core::v1::Pod;
use kruise_testbed::registry::Fault;

use crate::fixtures::bench;

const IMAGE: &str = "nginx:1.21";

fn waiting_reason(pod: &Pod) -> Option<&str> {
    let status = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
    status.state.as_ref()?.waiting.as_ref()?.reason.as_deref()
}

#[tokio::test]
async fn image_that_fails_to_pull_is_reported_and_recovers() {
    let Some(bench) = bench("pull").await else { return };
    let registry = bench.cluster.registry().unwrap();
    registry.fault(IMAGE, Fault::NotFound);
    bench.run("web", IMAGE, bench.node(1)).await;
    bench
        .until("web", "the pull to fail", |pod| {
            matches!(waiting_reason(pod), Some("ErrImagePull" | "ImagePullBackOff"))
        })
        .await;

    registry.heal(IMAGE);

    bench.until_ready("web").await;
    assert!(2 <= registry.pulls(IMAGE), "{} pulls", registry.pulls(IMAGE));
}
