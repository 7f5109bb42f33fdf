//! `make demo`: a rollout in place and a refusal, with the commands that a user would type.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::TestbedError;
use crate::components::{self, Component};

/// The sample that is rolled out.
const SAMPLE: &str = "examples/cloneset-v1alpha1.yaml";
const REPLICAS: u32 = 5;

const PODS: &str = "custom-columns=POD:.metadata.name,UID:.metadata.uid,IMAGE:.status.containerStatuses[0].image,\
                    RESTARTS:.status.containerStatuses[0].restartCount";

/// The selector would not find the pods of this template, and what the manager says about it.
const WRONG: &str = r#"{"spec":{"template":{"metadata":{"labels":{"app":"other"}}}}}"#;
const WRONG_FIELD: &str = "spec.template.metadata.labels";

/// Applies the sample, changes its image, shows that the pods are the same, and then a change that is refused.
pub fn run(kubeconfig: &Path, root: &Path) -> Result<(), TestbedError> {
    let kubectl = Kubectl {
        program: components::ensure(Component::Kubernetes)?.path("kubectl"),
        kubeconfig: kubeconfig.to_owned(),
        root: root.to_owned(),
    };
    kubectl.run(&["apply", "-f", SAMPLE])?;
    // A second demo starts from the old image.
    kubectl.until_available("nginx:1.25")?;
    kubectl.run(&["get", "pods", "-l", "app=sample", "-o", PODS])?;
    let image = r#"[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"nginx:1.26"}]"#;
    kubectl.run(&["patch", "cloneset", "sample", "--type=json", "-p", image])?;
    kubectl.until_available("nginx:1.26")?;
    kubectl.run(&["get", "pods", "-l", "app=sample", "-o", PODS])?;
    kubectl.run(&["get", "cloneset", "sample"])?;
    println!("\nThe same pods, another image, one restart each. What is wrong does not get in:");
    kubectl.is_refused(&["patch", "cloneset", "sample", "--type=merge", "-p", WRONG])?;
    println!("\nClean up with: kubectl delete cloneset sample");
    Ok(())
}

struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    root: PathBuf,
}

impl Kubectl {
    /// Shows the command, then runs it.
    fn run(&self, args: &[&str]) -> Result<(), TestbedError> {
        let status = self.command(args).status().map_err(TestbedError::io("starting kubectl"))?;
        if status.success() {
            Ok(())
        } else {
            Err(TestbedError::Unfit(format!("kubectl failed ({status}); see above")))
        }
    }

    /// Shows the command and how it fails: the manager must have refused.
    fn is_refused(&self, args: &[&str]) -> Result<(), TestbedError> {
        let output = self.command(args).output().map_err(TestbedError::io("starting kubectl"))?;
        let words = String::from_utf8_lossy(&output.stderr);
        println!("{}", words.trim_end());
        if !output.status.success() && words.contains(WRONG_FIELD) {
            Ok(())
        } else {
            Err(TestbedError::Unfit("the manager did not refuse it".to_owned()))
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let words: Vec<String> = args.iter().map(|word| quoted(word)).collect();
        println!("\n$ kubectl {}", words.join(" "));
        let mut command = Command::new(&self.program);
        command.args(args).env("KUBECONFIG", &self.kubeconfig).current_dir(&self.root);
        command
    }

    fn until_available(&self, image: &str) -> Result<(), TestbedError> {
        let ready = format!("--for=jsonpath={{.status.updatedAvailableReplicas}}={REPLICAS}");
        self.run(&["wait", "cloneset", "sample", &ready, "--timeout=120s"])?;
        let image = format!("--for=jsonpath={{.status.containerStatuses[0].image}}={image}");
        self.run(&["wait", "pod", "-l", "app=sample", &image, "--timeout=120s"])
    }
}

/// As it can be pasted into a shell.
fn quoted(word: &str) -> String {
    if word.contains(['{', '[', '"']) { format!("'{word}'") } else { word.to_owned() }
}
