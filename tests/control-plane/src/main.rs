//! Tests on the real control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler; simulated nodes.

mod testbed;
