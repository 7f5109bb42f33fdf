//! Tests on the real control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler; simulated nodes.
//!
//! One library whose tests are one binary, so that all of them share one control plane.

#[cfg(test)]
mod advancedcronjob;
#[cfg(test)]
mod api;
#[cfg(test)]
mod broadcastjob;
#[cfg(test)]
mod certificates;
#[cfg(test)]
mod chart;
#[cfg(test)]
mod cloneset;
#[cfg(test)]
mod containerrecreaterequest;
#[cfg(test)]
mod daemonset;
#[cfg(test)]
mod definitions;
#[cfg(test)]
mod ephemeraljob;
#[cfg(test)]
mod gitops;
#[cfg(test)]
mod images;
#[cfg(test)]
mod launch;
#[cfg(test)]
mod lease;
#[cfg(test)]
mod outage;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod permissions;
#[cfg(test)]
mod persistentpodstate;
#[cfg(test)]
mod podprobemarker;
#[cfg(test)]
mod replicas;
#[cfg(test)]
mod resourcedistribution;
#[cfg(test)]
mod run;
#[cfg(test)]
mod selection;
#[cfg(test)]
mod sidecarset;
#[cfg(test)]
mod sidecarterminator;
#[cfg(test)]
mod simnodes;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod statefulset;
#[cfg(test)]
mod testbed;
#[cfg(test)]
mod upgrade;
#[cfg(test)]
mod webhook;
#[cfg(test)]
mod widening;
#[cfg(test)]
mod without_helm;
#[cfg(test)]
mod workload;
