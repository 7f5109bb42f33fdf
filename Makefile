# Few obvious words. What is longer than a line is Rust: `crates/xtask` for chores, `crates/kruise-testbed` for clusters.

.DEFAULT_GOAL := help
.PHONY: help run demo test check sim sim-long sim-soak sim-replay sim-bugs sim-model test-unit test-cluster test-node test-versions bench bench-admission crds gen images images-check rules deny build-kubernetes

# `--bin` without `--package`: cargo then takes the features of the whole workspace, as every other build here does, and builds nothing twice.
# `make run` and `make test` are a newcomer's first: cargo is not quiet there, because the first build takes minutes.

# make run CLUSTER=existing: use the cluster of $KUBECONFIG instead of a new one.
CLUSTER ?= new
NODES ?= 20
REPLICAS ?= 300
WORKLOADS ?= 1
# cloneset or statefulset
KIND ?= cloneset

# make sim-long, make sim-soak, make sim-replay
DURATION ?= 3600
FROM ?= 1000000
LIVES ?= 1000000
SEED ?= 1

# make rules
SPEC ?=

help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Start a real Kubernetes with simulated nodes and the manager (CLUSTER=existing: use $KUBECONFIG; NODES=20)
	@cargo run --bin xtask -- run --cluster $(CLUSTER) --nodes $(NODES)

demo: ## Roll out a sample on the cluster that `make run` started
	@cargo run --quiet --bin xtask -- demo

test: ## Everything a change must pass; what CI runs
	@cargo run --bin xtask -- test

check: ## Format, lints, architecture, paths and links, generated files
	@cargo run --quiet --bin xtask -- test check

test-unit: ## Unit and property tests
	@cargo run --quiet --bin xtask -- test unit

sim: ## Simulated worlds: a crash at every write of every scenario, and fixed seeds
	@cargo run --quiet --bin xtask -- test sim

sim-long: ## Simulated worlds from ever new seeds (DURATION=3600 seconds, FROM=1000000 the first seed)
	@cargo run --quiet --profile sim --bin kruise-sim -- long --seconds $(DURATION) --from $(FROM)

sim-soak: ## The heap of a manager while pods come and go (LIVES=1000000 of them)
	@SOAK_LIVES=$(LIVES) cargo test --quiet --profile sim --package kruise-sim --test memory pods_that_came_and_went -- --nocapture

sim-bugs: ## Managers with planted bugs: how each of them is found
	@cargo run --quiet --profile sim --bin kruise-sim -- bugs

sim-model: ## All interleavings of planners with tiny clusters (LARGE=--large: three pods instead of two)
	@cargo run --quiet --profile sim --bin kruise-sim -- model $(LARGE)

sim-replay: ## One simulated run again, with its log (SEED=7; RUN=CloneSet/in-place WRITE=5 AFTER=--after for a crash)
	@cargo run --quiet --profile sim --bin kruise-sim -- replay --seed $(SEED) $(if $(RUN),--run $(RUN)) $(if $(WRITE),--write $(WRITE)) $(AFTER) $(LEASE)

test-cluster: ## Tests on the real control plane
	@cargo run --quiet --bin xtask -- test cluster

# Builds the servers of the oldest supported version at first, which takes minutes. An agreed subset: the chart, both API versions, create, in place,
# recreate, scale-in, claims, pod selection, take-over.
VERSIONS_SUBSET := chart:: upgrade:: without_helm:: gitops:: widening:: selection:: launch:: webhook:: cloneset::create cloneset::inplace cloneset::update cloneset::delete statefulset::claims statefulset::scale

test-versions: ## A subset of the tests on the oldest supported Kubernetes
	@KRUISE_TESTBED_KUBERNETES=1.29.6 cargo test --package control-plane-tests -- $(VERSIONS_SUBSET)

test-node: ## Tests on real nodes (root on Linux)
	@cargo run --quiet --bin xtask -- test node

bench: ## Measure rollouts and the floor (KIND=cloneset|statefulset REPLICAS=300 WORKLOADS=1 NODES=20 MORE="--until in-place")
	@cargo run --quiet --bin xtask -- bench --kind $(KIND) --replicas $(REPLICAS) --workloads $(WORKLOADS) --nodes $(NODES) -- $(MORE)

bench-admission: ## Measure our own time per admission review at 1,000 a second
	@cargo bench --quiet --package kruise-manager --bench admission

crds: ## Write the custom resource definitions
	@cargo run --quiet --bin xtask -- crds

gen: ## Write all generated files: definitions, the chart's roles, gates and webhooks, tables in docs/
	@cargo run --quiet --bin xtask -- gen

images: ## Build the images that ship, as OCI layouts, without an engine
	@cargo run --quiet --bin kruise-testbed -- images --out target/images/kruise-manager

images-check: ## Build the image twice, in two directories, and compare the digests (two release builds)
	@cargo run --quiet --bin kruise-testbed -- images-check

rules: ## Rules of docs/spec that a test names, by page (SPEC="cloneset --missing": only this page, and which are missing)
	@cargo run --quiet --bin xtask -- rules $(SPEC)

deny: ## Licences, sources and banned crates of all dependencies (installs cargo-deny)
	@cargo run --quiet --bin xtask -- deny

build-kubernetes: ## Build all parts of Kubernetes into the cache
	@cargo run --quiet --bin kruise-testbed -- build
