//! Nodes: their labels, for spreading and to know where our daemon cannot run.

use std::collections::BTreeMap;

use kruise_api::labels::{NODE_TYPE, NODE_TYPE_VIRTUAL_KUBELET};
use kruise_runtime::cache::{Cached, Index};
use kruise_runtime::{Resource, Scope};
use serde::Deserialize;

use super::Meta;

#[derive(Debug, Deserialize)]
pub struct Node {
    metadata: NodeMeta,
}

#[derive(Debug, Deserialize)]
struct NodeMeta {
    #[serde(flatten)]
    meta: Meta,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

impl Node {
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.metadata.labels
    }

    /// A virtual node has no container runtime of its own, so our daemon is not there.
    pub fn is_virtual(&self) -> bool {
        self.labels().get(NODE_TYPE).is_some_and(|kind| kind == NODE_TYPE_VIRTUAL_KUBELET)
    }
}

impl Cached for Node {
    type Shared = ();
    const RESOURCE: Resource = Resource::core("nodes", "Node", Scope::Cluster);

    identified_by!(metadata.meta);

    fn index(&self, _put: &mut dyn FnMut(Index, &str)) {}
}
