//! Kinds of group `policy.kruise.io`: one folder per kind, one file per version. The newest version is the hub.

pub mod podunavailablebudget;
