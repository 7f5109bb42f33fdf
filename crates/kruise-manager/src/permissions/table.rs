//! The list. Whoever adds a write to the code adds its line here, then `make gen`.

use kruise_api::names::{self, APPS_GROUP, POLICY_GROUP, component};

use super::{Names, Proof, Role, Use, Verb, When};

const CORE: &str = "";
const APPS: &str = "apps";
const ADMISSION: &str = "admissionregistration.k8s.io";
const EXTENSIONS: &str = "apiextensions.k8s.io";
const COORDINATION: &str = "coordination.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

const CLONESET: &str = component::CLONESET;
const STATEFULSET: &str = component::STATEFULSET;
const POD_STATE: &str = component::PERSISTENTPODSTATE;
const LAUNCH: &str = component::LAUNCH_PRIORITY;
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
    [
        clonesets(),
        statefulsets(),
        pod_states(),
        pods(),
        claims_and_revisions(),
        image_pulls(),
        budgets(),
        barriers(),
        everybody(),
        webhooks(),
        definitions(),
        leases(),
        secrets(),
    ]
    .concat()
}

fn clonesets() -> Vec<Use> {
    vec![
        manager(
            CLONESET,
            APPS_GROUP,
            "clonesets",
            [CACHE.as_slice(), &[live(), seen("patch", "takes deleted pods out of podsToDelete")]].concat(),
        ),
        manager(
            CLONESET,
            APPS_GROUP,
            "clonesets/status",
            vec![seen("patch", "reports replicas, revisions and conditions")],
        ),
        manager(
            CLONESET,
            APPS_GROUP,
            "clonesets/finalizers",
            vec![Verb {
                name: "update",
                why: "lets pods, claims and revisions block the deletion of their owner, where the cluster checks that",
                proof: Proof::Asked,
            }],
        ),
    ]
}

fn statefulsets() -> Vec<Use> {
    vec![
        manager(STATEFULSET, APPS_GROUP, "statefulsets", [CACHE.as_slice(), &[live()]].concat()),
        manager(
            STATEFULSET,
            APPS_GROUP,
            "statefulsets/status",
            vec![seen("patch", "reports replicas, revisions and conditions")],
        ),
        manager(STATEFULSET, APPS_GROUP, "statefulsets/finalizers", vec![blocks_owner()]),
        Use {
            when: When::Gate("StatefulSetAutoResizePVCGate"),
            ..manager(STATEFULSET, "storage.k8s.io", "storageclasses", CACHE.to_vec())
        },
    ]
}

fn pod_states() -> Vec<Use> {
    let verbs = [
        CACHE.as_slice(),
        &[
            live(),
            seen("create", "makes the object that a workload's annotations ask for"),
            seen("patch", "follows those annotations"),
            seen("delete", "removes it when they are gone"),
        ],
    ];
    vec![
        manager(POD_STATE, APPS_GROUP, "persistentpodstates", verbs.concat()),
        manager(
            POD_STATE,
            APPS_GROUP,
            "persistentpodstates/status",
            vec![seen("patch", "records where pods were ready")],
        ),
        manager(POD_STATE, APPS, "statefulsets", CACHE.to_vec()),
        manager(POD_STATE, APPS, "statefulsets/finalizers", vec![blocks_owner()]),
        Use {
            role: Role::Webhook,
            names: Names::Only(&[names::CONFIGURATION]),
            ..manager(
                POD_STATE,
                CORE,
                "configmaps",
                [CACHE.as_slice(), &[seen("get", "reads which other kinds are supported")]].concat(),
            )
        },
    ]
}

fn pods() -> Vec<Use> {
    let pods = [
        CACHE.as_slice(),
        &[
            live(),
            seen("create", "makes replicas"),
            seen("patch", "updates in place, labels, adopts and releases"),
            seen("delete", "scales in and recreates"),
        ],
    ];
    vec![
        manager(CLONESET, CORE, "pods", pods.concat()),
        manager(CLONESET, CORE, "pods/status", vec![seen("patch", "opens and closes readiness gates")]),
        manager(
            CLONESET,
            CORE,
            "pods/finalizers",
            vec![Verb {
                name: "update",
                why: "lets a claim block the deletion of the pod it is handed over to, where the cluster checks that",
                proof: Proof::Asked,
            }],
        ),
        Use {
            when: When::Gate("InPlaceWorkloadVerticalScaling"),
            ..manager(CLONESET, CORE, "pods/resize", vec![seen("patch", "resizes containers in place")])
        },
        manager(CLONESET, CORE, "nodes", [CACHE.as_slice(), &[]].concat()),
    ]
}

fn claims_and_revisions() -> Vec<Use> {
    let claims = [
        CACHE.as_slice(),
        &[
            live(),
            seen("create", "makes claims from volumeClaimTemplates"),
            seen("patch", "adopts claims whose pod went, releases those of orphans"),
            seen("delete", "removes claims of replicas that are gone for good"),
        ],
    ];
    let revisions = [
        CACHE.as_slice(),
        &[
            live(),
            seen("create", "records a template"),
            seen("patch", "numbers a revision that is used again"),
            seen("delete", "keeps history within its limit"),
        ],
    ];
    vec![
        manager(CLONESET, CORE, "persistentvolumeclaims", claims.concat()),
        manager(CLONESET, APPS, "controllerrevisions", revisions.concat()),
    ]
}

fn image_pulls() -> Vec<Use> {
    let verbs = [
        CACHE.as_slice(),
        &[live(), seen("create", "pre-downloads images of an update"), seen("delete", "ends a pre-download")],
    ];
    vec![Use {
        when: When::Gate("ImagePullJobGate"),
        ..manager(CLONESET, APPS_GROUP, "imagepulljobs", verbs.concat())
    }]
}

fn budgets() -> Vec<Use> {
    let asked = When::Gate("PodUnavailableBudgetUpdateGate");
    let budgets = manager(
        CLONESET,
        POLICY_GROUP,
        "podunavailablebudgets",
        vec![seen("get", "asks whether a pod may be disturbed")],
    );
    let status = manager(
        CLONESET,
        POLICY_GROUP,
        "podunavailablebudgets/status",
        vec![seen("patch", "spends one unit of what is allowed before a pod is disturbed")],
    );
    vec![Use { when: asked, ..budgets }, Use { when: asked, ..status }]
}

fn barriers() -> Vec<Use> {
    let replaced = Proof::Test(
        "kruise-core/src/launch/tests.rs::shared_machinery_m10_a_config_map_of_an_earlier_pod_is_replaced",
    );
    let verbs = vec![
        seen("get", "sees which containers of a pod may start; one by name, never a list"),
        seen("create", "makes the barrier of a pod whose containers start in an order"),
        seen("patch", "lets the next containers start"),
        Verb {
            name: "delete",
            why: "removes the barrier of an earlier pod of the same name",
            proof: replaced,
        },
    ];
    vec![manager(LAUNCH, CORE, "configmaps", verbs)]
}

fn everybody() -> Vec<Use> {
    vec![
        manager("all controllers", CORE, "events", vec![seen("create", "tells users what happened")]),
        manager(
            "admission",
            CORE,
            "podtemplates",
            vec![seen("create", "dry run: the API server itself judges a pod template; nothing is stored")],
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
                seen("update", "writes the CA, the address and the narrow selection of pods"),
            ],
        )
    };
    let creation = |resource| Use {
        role: Role::Certificates,
        when: When::Value("webhookConfiguration.selfHealing"),
        ..manager(CERTIFICATES, ADMISSION, resource, vec![seen("create", "replaces one that was deleted")])
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
                    "makes it the owner of a replaced configuration, which then goes with the release",
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
                    seen("list", "finds out which definitions changed, by their metadata"),
                    seen("watch", "repairs a conversion within a second, by their metadata"),
                ],
            )
        },
        Use {
            role: Role::Certificates,
            names: Names::ConvertedDefinitions,
            ..manager(CERTIFICATES, EXTENSIONS, DEFINITIONS, vec![seen("get", "compares the conversion")])
        },
        Use {
            role: Role::Certificates,
            when: When::Unless("EnableExternalCerts"),
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
            vec![seen("get", "sees who leads"), seen("update", "takes, renews and gives back the lead")],
        ),
        lease(Names::Any, vec![seen("create", "makes the lease")]),
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
            vec![seen("get", "reads the certificates"), seen("watch", "takes up new ones at once")],
        ),
        secret(ours, When::Unless("EnableExternalCerts"), vec![seen("update", "renews certificates")]),
        secret(
            Names::Any,
            When::Unless("EnableExternalCerts"),
            vec![seen("create", "makes the secret where it was deleted")],
        ),
    ]
}

/// What every cached type needs.
const CACHE: [Verb; 2] = [
    seen("list", "fills the cache, on servers without streaming lists"),
    seen("watch", "keeps the cache current"),
];

const fn live() -> Verb {
    Verb { name: "get", why: "reads again what a write left without a certain answer", proof: LIVE_READ }
}

const fn seen(name: &'static str, why: &'static str) -> Verb {
    Verb { name, why, proof: Proof::Seen }
}

const fn blocks_owner() -> Verb {
    Verb {
        name: "update",
        why: "lets what it owns block the deletion of the owner, where the cluster checks that",
        proof: Proof::Asked,
    }
}

fn manager(part: &'static str, group: &'static str, resource: &'static str, verbs: Vec<Verb>) -> Use {
    Use { role: Role::Manager, when: When::Always, part, group, resource, names: Names::Any, verbs }
}
