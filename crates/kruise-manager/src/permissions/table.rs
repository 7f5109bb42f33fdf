//! What the process itself needs; the rest comes from the registrations of kinds. Whoever adds a write to the code adds its line, then
//! `make gen`.

use kruise_api::names;
use kruise_core::gates::Gate;

use super::{Names, Proof, Role, Use, Verb, When};
use crate::kinds;

const CORE: &str = "";
const ADMISSION: &str = "admissionregistration.k8s.io";
const EXTENSIONS: &str = "apiextensions.k8s.io";
const COORDINATION: &str = "coordination.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

const CERTIFICATES: &str = "webhook certificates";

const MUTATING: &str = "mutatingwebhookconfigurations";
const VALIDATING: &str = "validatingwebhookconfigurations";
const DEFINITIONS: &str = "customresourcedefinitions";

/// Unit test of the live read that follows a write without a certain answer.
const LIVE_READ: Proof = Proof::Test(
    "kruise-runtime/src/apply/tests.rs::cs_81_sm_71_write_without_a_certain_answer_is_read_live_and_never_left_to_a_time_out",
);

/// Everything, in the order of roles.
pub fn uses() -> Vec<Use> {
    let kinds = kinds::ALL.iter().flat_map(|one| (one.permissions)()).collect();
    [kinds, everybody(), webhooks(), definitions(), leases(), secrets()].concat()
}

fn everybody() -> Vec<Use> {
    vec![
        manager("all controllers", CORE, "events", vec![seen("create", "reports what happened")]),
        manager(
            "admission",
            CORE,
            "podtemplates",
            vec![seen(
                "create",
                "dry run: the API server itself validates a pod template; nothing is stored",
            )],
        ),
    ]
}

/// The pod webhook is kept as narrow as our objects allow: that is a write to the configuration, whoever brings certificates.
fn webhooks() -> Vec<Use> {
    let configuration = |resource, name: &'static [&'static str]| Use {
        role: Role::Certificates,
        names: Names::Only(name),
        ..manager(
            CERTIFICATES,
            ADMISSION,
            resource,
            vec![
                seen("get", "compares it with what it should be"),
                seen("watch", "repairs it within a second"),
                seen("update", "writes the CA, the address and the pod selection"),
            ],
        )
    };
    let creation = |resource| Use {
        role: Role::Certificates,
        when: When::Value("webhookConfiguration.selfHealing"),
        ..manager(
            CERTIFICATES,
            ADMISSION,
            resource,
            vec![seen("create", "recreates a deleted configuration")],
        )
    };
    vec![
        configuration(MUTATING, &["kruise-mutating-webhook-configuration"]),
        configuration(VALIDATING, &["kruise-validating-webhook-configuration"]),
        creation(MUTATING),
        creation(VALIDATING),
        Use {
            role: Role::Certificates,
            when: When::Value("webhookConfiguration.selfHealing"),
            names: Names::Only(&["kruise-manager-role"]),
            ..manager(
                CERTIFICATES,
                RBAC,
                "clusterroles",
                vec![seen(
                    "get",
                    "becomes the owner of a recreated configuration, so that uninstalling the release removes it",
                )],
            )
        },
    ]
}

fn definitions() -> Vec<Use> {
    vec![
        Use {
            role: Role::Certificates,
            ..manager(
                CERTIFICATES,
                EXTENSIONS,
                DEFINITIONS,
                vec![
                    seen("list", "detects changed CRDs by their metadata"),
                    seen("watch", "detects a broken conversion within a second, by metadata"),
                ],
            )
        },
        Use {
            role: Role::Certificates,
            names: Names::ConvertedDefinitions,
            ..manager(CERTIFICATES, EXTENSIONS, DEFINITIONS, vec![seen("get", "checks the conversion")])
        },
        Use {
            role: Role::Certificates,
            when: When::Unless(Gate::EnableExternalCerts),
            names: Names::ConvertedDefinitions,
            ..manager(
                CERTIFICATES,
                EXTENSIONS,
                DEFINITIONS,
                vec![seen("update", "writes the CA and the address of the conversion")],
            )
        },
    ]
}

fn leases() -> Vec<Use> {
    let lease = |names, verbs| Use {
        role: Role::LeaderElection,
        names,
        ..manager("leader election", COORDINATION, "leases", verbs)
    };
    vec![
        lease(
            Names::Only(&["kruise-manager"]),
            vec![seen("get", "reads the leader"), seen("update", "acquires, renews and releases the lease")],
        ),
        lease(Names::Any, vec![seen("create", "creates the lease")]),
    ]
}

fn secrets() -> Vec<Use> {
    let secret = |names, when, verbs| Use {
        role: Role::Webhook,
        when,
        names,
        ..manager(CERTIFICATES, CORE, "secrets", verbs)
    };
    let ours = Names::Only(&[names::WEBHOOK_CERTS_SECRET]);
    vec![
        secret(
            ours,
            When::Always,
            vec![seen("get", "reads the certificates"), seen("watch", "picks up new certificates at once")],
        ),
        secret(ours, When::Unless(Gate::EnableExternalCerts), vec![seen("update", "renews certificates")]),
        secret(
            Names::Any,
            When::Unless(Gate::EnableExternalCerts),
            vec![seen("create", "recreates a deleted secret")],
        ),
    ]
}

/// What every cached type needs.
pub const CACHE: [Verb; 2] = [
    seen("list", "fills the cache on servers without streaming lists"),
    seen("watch", "keeps the cache current"),
];

pub const fn live() -> Verb {
    Verb {
        name: "get",
        why: "reads an object again after a write with an uncertain outcome",
        proof: LIVE_READ,
    }
}

pub const fn seen(name: &'static str, why: &'static str) -> Verb {
    Verb { name, why, proof: Proof::Seen }
}

pub const fn blocks_owner() -> Verb {
    Verb {
        name: "update",
        why: "lets its objects block the deletion of their owner, where the cluster enforces that",
        proof: Proof::Asked,
    }
}

pub fn manager(part: &'static str, group: &'static str, resource: &'static str, verbs: Vec<Verb>) -> Use {
    Use { role: Role::Manager, when: When::Always, part, group, resource, names: Names::Any, verbs }
}
