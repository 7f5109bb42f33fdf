//! Tests on real nodes: kubelet, containerd, runc and kube-proxy beside the real control plane.
//!
//! One library whose tests are one binary, so that they share clusters: one of two nodes, one where our manager works. Where real nodes cannot
//! run, each test says `skipped:` and why; in CI (`CI=true`) that is a failure.

#[cfg(test)]
mod agent;
#[cfg(test)]
mod cloneset;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod images;
#[cfg(test)]
mod in_place;
#[cfg(test)]
mod install;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod services;
