//! What `make run` starts, used as a newcomer does: with kubectl, `make demo` and the files in `examples/`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd;
use kruise_testbed::{Cluster, Options, checkout, cluster, manager};
use kube::Api;

use crate::testbed::processes_of;

/// `kruise-testbed up`, as `make run` becomes it.
struct Running {
    child: Child,
    kubeconfig: PathBuf,
    kubectl: PathBuf,
    /// All that it said until it was ready.
    said: Vec<String>,
}

impl Running {
    fn start() -> Self {
        let mut child = Command::new(cluster::program().unwrap())
            .args(["up", "--nodes", "5", "--manager"])
            .arg(manager::program().unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = lines_until(child.stdout.take().unwrap(), "Stop ");
        let value = |key: &str| {
            let found = said.iter().find_map(|line| line.trim().strip_prefix(key));
            PathBuf::from(found.unwrap_or_else(|| panic!("{key} is not in {said:#?}")))
        };
        Self { kubeconfig: value("export KUBECONFIG="), kubectl: value("alias kubectl="), child, said }
    }

    /// As it would be typed in the root of the checkout.
    fn kubectl(&self, line: &str) -> Output {
        let mut command = Command::new(&self.kubectl);
        command.args(line.split_whitespace()).current_dir(checkout::root());
        command.env("KUBECONFIG", &self.kubeconfig).output().unwrap()
    }

    fn must(&self, line: &str) {
        let output = self.kubectl(line);
        assert!(output.status.success(), "kubectl {line}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn until(&self, object: &str, path: &str, value: &str) {
        self.must(&format!("wait {object} --for=jsonpath={{{path}}}={value} --timeout=60s"));
    }

    /// Ctrl-C; returns when it is gone.
    fn interrupt(mut self) {
        interrupt(&mut self.child);
    }
}

fn interrupt(child: &mut Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert!(child.wait().unwrap().success());
}

/// What comes later is read, too, until the program ends: it would die of a pipe that is closed.
fn lines_until(stream: impl std::io::Read + Send + 'static, last: &str) -> Vec<String> {
    let mut seen = Vec::new();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    for line in lines.by_ref() {
        let is_last = line.contains(last);
        seen.push(line);
        if is_last {
            std::thread::spawn(move || lines.for_each(drop));
            return seen;
        }
    }
    panic!("it ended before it said {last:?}: {seen:#?}");
}

#[test]
fn everything_in_the_examples_works_as_soon_as_make_run_is_ready() {
    let running = Running::start();
    for example in std::fs::read_dir(checkout::root().join("examples")).unwrap() {
        let command = format!("apply -f examples/{}", example.unwrap().file_name().to_str().unwrap());
        assert!(running.said.iter().any(|line| line.contains(&command)), "{command}: {:#?}", running.said);
        running.must(&command);
    }

    rolls_out_in_place_and_refuses(&running);
    running.until("hpa/scaled", ".status.conditions[?(@.type==\"AbleToScale\")].status", "True");
    running.until("clonesets.v1alpha1.apps.kruise.io/scaled", ".status.availableReplicas", "3");
    running.until("clonesets.v1beta1.apps.kruise.io/web", ".status.availableReplicas", "5");
    running.until("broadcastjobs.v1beta1.apps.kruise.io/warm-cache", ".status.phase", "completed");
    running.until("ephemeraljobs.v1alpha1.apps.kruise.io/look-into", ".status.phase", "Succeeded");
    running.until("podprobemarkers.v1alpha1.apps.kruise.io/idle", ".status.matchedPods", "2");
    running.until("imagepulljobs.v1beta1.apps.kruise.io/nginx", ".status.active", "2");
    running.until("resourcedistributions.v1beta1.apps.kruise.io/registry", ".status.observedGeneration", "1");
    running.until("statefulsets.v1beta1.apps.kruise.io/store", ".status.availableReplicas", "3");

    let dir = running.kubeconfig.parent().unwrap().to_owned();
    running.interrupt();
    assert!(!dir.exists(), "{} was left", dir.display());
    assert_eq!(processes_of(&dir), Vec::<String>::new());
}

/// `make demo`: it fails by itself where pods are not kept or the wrong change is let in.
fn rolls_out_in_place_and_refuses(running: &Running) {
    let output = Command::new(cluster::program().unwrap())
        .arg("demo")
        .arg("--kubeconfig")
        .arg(&running.kubeconfig)
        .arg("--root")
        .arg(checkout::root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let pods = |image: &str| {
        let mut found: Vec<Vec<&str>> = said
            .lines()
            .map(|line| line.split_whitespace().collect())
            .filter(|words: &Vec<&str>| words.get(2) == Some(&image))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|words| (words[0], words[1], words[3])).collect::<Vec<_>>()
    };
    let (before, after) = (pods("nginx:1.25"), pods("nginx:1.26"));
    assert_eq!(before.len(), 5, "{said}");
    let restarted: Vec<_> = before.iter().map(|(pod, uid, _)| (*pod, *uid, "1")).collect();
    assert_eq!(after, restarted, "{said}");
    let refusal = said.split_once("What is wrong does not get in").unwrap().1;
    assert!(refusal.contains("spec.template.metadata.labels: must be matched"), "{refusal}");
}

#[tokio::test]
async fn manager_beside_an_existing_cluster_is_called_and_takes_its_webhooks_away() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let mut child = Command::new(cluster::program().unwrap())
        .args(["up", "--existing"])
        .arg(cluster.kubeconfig())
        .arg("--manager")
        .arg(manager::program().unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = child.stderr.take().unwrap();
    let said = tokio::task::spawn_blocking(|| lines_until(stderr, "] ready")).await.unwrap();
    assert!(said.iter().any(|line| line.contains("serving webhooks on 127.0.0.1")), "{said:#?}");
    let create = |file: &Path| {
        let mut command = Command::new(cluster.kubectl());
        command.args(["create", "--dry-run=server", "-f"]).arg(file).env("KUBECONFIG", cluster.kubeconfig());
        command.output().unwrap()
    };
    let sample = checkout::root().join("examples/cloneset-v1alpha1.yaml");
    let created = create(&sample);
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
    let wrong = cluster.dir().join("wrong.yaml");
    std::fs::write(
        &wrong,
        std::fs::read_to_string(sample).unwrap().replacen(
            "app: sample\n  template",
            "app: other\n  template",
            1,
        ),
    )
    .unwrap();
    let refused = String::from_utf8_lossy(&create(&wrong).stderr).into_owned();
    assert!(refused.contains("spec.template.metadata.labels: must be matched"), "{refused}");

    tokio::task::spawn_blocking(move || interrupt(&mut child)).await.unwrap();

    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client());
    assert_eq!(configurations.get_opt("kruise-validating-webhook-configuration").await.unwrap(), None);
    let crds: Api<Crd> = Api::all(cluster.client());
    let conversion = crds.get("clonesets.apps.kruise.io").await.unwrap().spec.conversion.unwrap();
    let config = conversion.webhook.unwrap().client_config.unwrap();
    assert_eq!((config.url, config.service.is_some()), (None, true));
}
