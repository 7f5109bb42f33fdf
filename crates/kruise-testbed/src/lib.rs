//! A real Kubernetes on this machine.
