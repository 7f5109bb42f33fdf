//! The chart as helm renders it: golden output, values of the original, gates, and what must never be in it.

use std::path::{Path, PathBuf};

use kruise_api::names::NAMESPACE;
use kruise_manager::configuration;
use kruise_testbed::chart::Chart;

/// Rendered without the definitions: they are a file each, and 600 KB.
const WITHOUT_DEFINITIONS: &str = "--set=crds.managed=false";
/// As where they are looked up and exist.
const WITH_POD_ENTRIES: &str = "--set=webhookConfiguration.renderPodEntries=true";

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/chart").join(name)
}

/// Compares with the recorded text; `UPDATE_GOLDEN=1` records it.
fn check_golden(name: &str, text: &str) {
    let path = golden(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    let difference = text.lines().zip(recorded.lines()).find(|(now, then)| now != then);
    assert!(
        recorded == text,
        "{name} differs first at {difference:?}; if that is meant: UPDATE_GOLDEN=1 cargo test"
    );
}

async fn render(args: &[&str]) -> String {
    Chart::find().await.unwrap().rendered(args).await.unwrap()
}

/// Objects of a rendering as `Kind/name`.
fn objects(text: &str) -> Vec<String> {
    let field = |object: &str, name: &str| {
        object.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned()
    };
    let object = |part: &str| format!("{}/{}", field(part, "kind:"), field(part, "  name:"));
    let mut all: Vec<String> =
        text.split("\n---\n").filter(|part| part.contains("\nkind:")).map(object).collect();
    all.sort();
    all
}

#[tokio::test]
async fn lint_is_content() {
    let output = Chart::find().await.unwrap().lint(&["--strict"]).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[tokio::test]
async fn default_rendering_is_the_recorded_one() {
    check_golden("default.yaml", &render(&[WITHOUT_DEFINITIONS]).await);
}

/// Install acceptance 2, CH-B1, CH-B5, install/T48: every value at something else.
#[tokio::test]
async fn ch_b1_ch_b5_every_value_has_its_place() {
    let values = golden("all-values.yaml");
    let values = format!("--values={}", values.display());
    check_golden("all-values.rendered.yaml", &render(&[WITHOUT_DEFINITIONS, &values]).await);
}

/// CH-B7, IN-2: the values of the original's charts, with their odd types, pass the schema.
#[tokio::test]
async fn ch_b7_values_of_the_original_are_accepted_and_mistakes_refused() {
    let values = format!("--values={}", golden("original-values.yaml").display());
    let text = render(&[&values]).await;
    assert!(text.contains("--feature-gates=AllAlpha=true"), "{text}");

    let chart = Chart::find().await.unwrap();
    for (mistake, words) in [
        ("manager.replicas=two", "want integer"),
        ("webhookConfiguration.timeoutSeconds=60", "maximum"),
        ("manager.webhook.port=99999", "maximum"),
    ] {
        let output = chart.render(&["--set", mistake]).await.unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(words), "{mistake}: {error}");
    }
}

/// F14: an unknown gate is passed on to the manager, which reports it, and the other gates count.
#[tokio::test]
async fn install_f14_unknown_gates_are_installed_all_the_same() {
    let gates = "--set=featureGates=UnusedFeature=false\\,PodWebhook=maybe\\,KruiseDaemon=false";
    let text = render(&[WITHOUT_DEFINITIONS, gates, WITH_POD_ENTRIES]).await;
    let flag = "--feature-gates=UnusedFeature=false,PodWebhook=maybe,KruiseDaemon=false";
    assert!(text.contains(flag), "{text}");
    assert!(text.contains("mpod.kb.io") && !text.contains("kruise-daemon-config"), "{text}");
}

/// T4, T9, T12, T20, F25 and 2.2: the names that users and tools know.
#[tokio::test]
async fn install_t4_install_t9_install_t12_install_t20_install_f25_objects_have_the_known_names() {
    let text = render(&[]).await;
    let all = objects(&text);
    for name in [
        "ClusterRole/kruise-manager-role",
        "ClusterRoleBinding/kruise-manager-rolebinding",
        "ClusterRole/kruise-certs-role",
        "Role/kruise-leader-election-role",
        "Role/kruise-webhook-role",
        "ClusterRole/aggregate-kruise-view",
        "ClusterRole/aggregate-kruise-edit",
        "ClusterRole/aggregate-kruise-admin",
        "Deployment/kruise-controller-manager",
        "Job/kruise-finalizer",
        "MutatingWebhookConfiguration/kruise-mutating-webhook-configuration",
        "ValidatingWebhookConfiguration/kruise-validating-webhook-configuration",
        "Namespace/kruise-system",
        "Namespace/kruise-daemon-config",
        "PodDisruptionBudget/kruise-controller-manager",
        "Secret/kruise-webhook-certs",
        "Service/kruise-webhook-service",
        "Service/kruise-controller-manager",
        "ServiceAccount/kruise-manager",
        "ServiceAccount/kruise-daemon",
        "DaemonSet/kruise-daemon",
        "ClusterRole/kruise-daemon-role",
        "ClusterRoleBinding/kruise-daemon-rolebinding",
        "Role/kruise-daemon-secret-role",
    ] {
        assert!(all.iter().any(|object| object == name), "{name} is not in {all:?}");
    }
    let definitions = text.matches("\nkind: CustomResourceDefinition\n").count();
    assert_eq!(definitions, 18);
    // And the namespace with the secrets of users.
    assert_eq!(text.matches("helm.sh/resource-policy: keep").count(), definitions + 1);
}

/// T49: every object carries the label that selects all of them.
#[tokio::test]
async fn install_t49_every_object_is_part_of_openkruise() {
    let text = render(&[]).await;
    for part in text.split("\n---\n").filter(|part| part.contains("\nkind:")) {
        assert!(part.contains("app.kubernetes.io/part-of: openkruise"), "{part}");
    }
}

/// 2.3, 7: gates are read, not matched as text; each leaves out exactly its part.
#[tokio::test]
async fn gates_leave_out_exactly_their_part() {
    let default = objects(&render(&[WITHOUT_DEFINITIONS]).await);
    let without = |text: &str| {
        let now = objects(text);
        default.iter().filter(|object| !now.contains(object)).cloned().collect::<Vec<_>>()
    };
    let external = render(&[
        WITHOUT_DEFINITIONS,
        "--set-string=featureGates= EnableExternalCerts = true\\,ImagePullJobGate=true",
    ])
    .await;
    assert_eq!(without(&external), ["Secret/kruise-webhook-certs"]);
    assert!(!external.contains("verbs: [\"update\"]\n---"), "no definition is written");
    // G6: who wants every experiment does not bring certificates.
    let alpha = render(&[WITHOUT_DEFINITIONS, "--set=featureGates=AllAlpha=true"]).await;
    assert_eq!(without(&alpha), Vec::<String>::new());
    assert!(alpha.contains("pods/resize") && !render(&[WITHOUT_DEFINITIONS]).await.contains("pods/resize"));
    let quiet = render(&[WITHOUT_DEFINITIONS, "--set=featureGates=PodWebhook=false", WITH_POD_ENTRIES]).await;
    assert!(!quiet.contains("mpod.kb.io") && quiet.contains("mcloneset.kb.io"));
    let without_daemon =
        render(&[WITHOUT_DEFINITIONS, "--set-string=featureGates=KruiseDaemon= false"]).await;
    assert!(!without_daemon.contains("kruise-daemon"), "CH-B9: nothing of the agent is left");
    assert!(
        !without_daemon.contains("\"imagepulljobs\"]\n    verbs: [\"list\",\"watch\",\"get\",\"create\"")
    );
    let own = render(&[WITHOUT_DEFINITIONS, "--namespace=kruise-system"]).await;
    assert_eq!(without(&own), ["Namespace/kruise-system"], "IN-1");
}

/// CH-B3, IN-5: definitions convert in our namespace and carry what an injector of certificates looks for.
#[tokio::test]
async fn ch_b3_in_5_definitions_follow_namespace_and_annotations() {
    let args = [
        "--set=installation.namespace=other",
        "--set=externalCerts.annotations.cert-manager\\.io/inject-ca-from=other/kruise-webhook-certs",
        "--show-only=templates/crds.yaml",
    ];
    let text = render(&args).await;
    let converting = configuration::conversion_crds().len();
    assert_eq!(text.matches("          namespace: other\n").count(), converting);
    assert_eq!(
        text.matches("cert-manager.io/inject-ca-from: other/kruise-webhook-certs").count(),
        converting
    );
    assert!(!text.contains("kruise-system"), "nothing points at the usual namespace");
}

/// IN-6: an entry that calls a path which is not served would be without effect.
#[tokio::test]
async fn in_6_paths_of_the_chart_are_those_of_the_program() {
    let text = render(&["--show-only=templates/webhooks.yaml", WITH_POD_ENTRIES]).await;
    let mut rendered: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("path: ")).collect();
    let entries = [configuration::mutating(NAMESPACE), configuration::validating(NAMESPACE)].concat();
    let mut known: Vec<&str> =
        entries.iter().filter_map(|entry| entry.pointer("/clientConfig/service/path")?.as_str()).collect();
    rendered.sort_unstable();
    known.sort_unstable();
    assert_eq!(rendered, known);
}

/// 16.11: rules about creation alone are for servers that take them.
#[tokio::test]
async fn definitions_for_older_servers_have_no_rule_that_those_refuse() {
    let definitions = "--show-only=templates/crds.yaml";
    let older = render(&[definitions, "--kube-version=1.29.6"]).await;
    let newer = render(&[definitions]).await;
    assert!(!older.contains("optionalOldSelf") && !older.contains("oldSelf.hasValue"));
    assert_eq!(newer.matches("optionalOldSelf: true").count(), 4);
    assert_eq!(newer.lines().count(), older.lines().count() + 4 * 4, "nothing else is missing");
}

/// 16.15, 16.16: only the manager says which pods are asked about; what is rendered is wide, and says what a rollback has to remove.
#[tokio::test]
async fn entries_about_pods_are_rendered_wide_or_not_at_all() {
    let only = "--show-only=templates/webhooks.yaml";
    assert!(!render(&[only]).await.contains("mpod.kb.io"));
    let wide = render(&[only, WITH_POD_ENTRIES]).await;
    assert!(wide.contains("    objectSelector: {}\n    matchConditions: []\n"), "{wide}");
}

/// CH-B4, F22: nothing that the restricted level forbids.
#[tokio::test]
async fn ch_b4_install_f22_manager_is_restricted() {
    let text =
        render(&["--show-only=templates/deployment.yaml", "--show-only=templates/hooks/uninstall.yaml"])
            .await;
    for line in [
        "runAsNonRoot: true",
        "readOnlyRootFilesystem: true",
        "allowPrivilegeEscalation: false",
        "drop: [ALL]",
        "type: RuntimeDefault",
    ] {
        assert_eq!(text.matches(line).count(), 2, "{line}: deployment and hook");
    }
}

/// daemon 2.3, 2.4 and problem 8, CH-B1, F24: the agent as OpenKruise's, on Linux nodes only, with as little as it needs.
#[tokio::test]
async fn daemon_7_8_install_f24_agent_is_rendered_with_its_values() {
    let only = "--show-only=templates/daemon.yaml";
    let text = render(&[only]).await;
    for line in [
        "kubernetes.io/os: linux",
        "hostNetwork: true",
        "dnsPolicy: ClusterFirstWithHostNet",
        "command: [/kruise-daemon]",
        "--addr=:10221",
        "readOnlyRootFilesystem: true",
        "drop: [ALL]",
        "type: RuntimeDefault",
        "values: [virtual-kubelet]",
        "path: /var/run",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    assert!(!text.contains("credential-provider"), "plugins only if they are asked for");
    let set = render(&[
        only,
        "--set=daemon.image.repository=mirror/agent,daemon.image.tag=v9,daemon.log.level=2,daemon.socketFile=my.sock",
        "--set=daemon.socketLocation=/run/k3s,daemon.port=1234,daemon.credentialProvider.enable=true",
    ])
    .await;
    for line in [
        "mirror/agent:v9",
        "--v=2",
        "--socket-file=my.sock",
        "path: /run/k3s",
        "port: 1234",
        "--plugin-bin-dir=/credential-provider-plugin",
    ] {
        assert!(set.contains(line), "{line} is not in {set}");
    }
}

/// IN-7: with a repository and a pull secret of one's own, nothing is pulled from elsewhere.
#[tokio::test]
async fn in_7_every_image_comes_from_the_repository_that_is_given() {
    let repository = ["--set=manager.image.repository=mirror/kruise", "--set=imagePullSecrets[0].name=pull"];
    let pulled = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim);
        lines
            .filter_map(|line| line.strip_prefix("image: "))
            .map(|one| one.trim_matches('"').to_owned())
            .collect()
    };
    let text = render(&[&[WITHOUT_DEFINITIONS], &repository[..]].concat()).await;
    let images = pulled(&text);
    assert_eq!(images.len(), 3, "manager, agent and hook: {images:?}");
    assert!(images.iter().all(|image| image.starts_with("mirror/kruise:")), "{images:?}");
    assert_eq!(text.matches("      imagePullSecrets:\n        - name: pull\n").count(), 3);

    let hook = ["--set=helmHooks.image.repository=mirror/hook", "--set=helmHooks.image.tag=v1"];
    let both = pulled(&render(&[&[WITHOUT_DEFINITIONS], &repository[..], &hook[..]].concat()).await);
    assert!(both.contains(&"mirror/hook:v1".to_owned()) && both.len() == 3, "{both:?}");
}

/// What documents, dashboards and users of the original rely on, each as the text that makes it so.
#[tokio::test]
async fn claims_of_the_guides_hold_in_the_rendering() {
    let text = render(&[
        "--set=networkPolicy.enabled=true",
        "--set=manager.loggingFormat=json",
        "--set=imagePullSecrets[0].name=pull",
    ])
    .await;
    for (claim, needed) in [
        ("install/T1", "    control-plane: controller-manager\n"),
        ("install/T1 install/F30", "        - name: manager\n"),
        ("install/T13", "        name: kruise-webhook-service\n        namespace: kruise-system\n"),
        ("install/T13", "        port: 443\n"),
        ("install/T16 install/F37", "    timeoutSeconds: 30\n"),
        ("install/T23 install/F21 CH-B2", "    - ports:\n        - port: 9876\n"),
        ("install/F24", "      imagePullSecrets:\n        - name: pull\n"),
        ("install/F27", "            - --logging-format=json\n"),
        ("install/F4", "    shortNames:\n      - clone\n"),
        ("install/F4", "    shortNames:\n      - sts\n      - asts\n"),
        ("install/F4", "    shortNames:\n      - daemon\n      - ads\n"),
        ("IN-8 HA-1", "  replicas: 2\n"),
        ("IN-8", "      maxSurge: 100%\n"),
        (
            "IN-8",
            "            - weight: 100\n              podAffinityTerm:\n                topologyKey: kubernetes.io/hostname\n",
        ),
        (
            "IN-8",
            "          topologyKey: topology.kubernetes.io/zone\n          whenUnsatisfiable: ScheduleAnyway\n",
        ),
        ("CH-B6", "          livenessProbe:\n            httpGet:\n              path: /healthz\n"),
        (
            "UN-1 CH-B8",
            "    helm.sh/hook-weight: \"4\"\n    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded\n",
        ),
        ("UN-2", "    kruise: helm-finalizer\n"),
        ("UN-2", "  backoffLimit: 0\n"),
        ("UN-2", "      restartPolicy: Never\n"),
        ("UN-2", "        - name: pre-delete-job\n"),
    ] {
        assert!(text.contains(needed), "{claim}: {needed:?} is not in the rendering");
    }
    for line in
        ["helm.sh/hook: pre-delete\n", "helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded\n"]
    {
        assert_eq!(
            text.matches(line).count(),
            4,
            "CH-B8: nothing of a failed hook stands in the way: {line}"
        );
    }
    let objects = render(&[WITHOUT_DEFINITIONS]).await;
    for (claim, forbidden) in [("install/T8", "initContainers"), ("CH-B5", "imagePullPolicy: Always")] {
        assert!(!objects.contains(forbidden), "{claim}: {forbidden:?} is in the rendering");
    }
}
