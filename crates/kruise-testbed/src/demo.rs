//! `make demo`: a rollout in place, with the commands that a user would type.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::TestbedError;
use crate::components::{self, Component};

/// The sample that is rolled out.
const SAMPLE: &str = "examples/cloneset.yaml";
const REPLICAS: u32 = 5;

const PODS: &str = "custom-columns=POD:.metadata.name,UID:.metadata.uid,IMAGE:.status.containerStatuses[0].image,\
                    RESTARTS:.status.containerStatuses[0].restartCount";

/// Applies the sample, changes its image, and shows that the pods are the same.
pub fn run(kubeconfig: &Path, root: &Path) -> Result<(), TestbedError> {
    let kubectl = Kubectl {
        program: components::ensure(Component::Kubernetes)?.path("kubectl"),
        kubeconfig: kubeconfig.to_owned(),
        root: root.to_owned(),
    };
    kubectl.run(&["apply", "-f", SAMPLE])?;
    // A second demo starts from the old image.
    kubectl.until_available("nginx:1.25")?;
    kubectl.run(&["get", "pods", "-l", "app=web", "-o", PODS])?;
    let image = r#"[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"nginx:1.26"}]"#;
    kubectl.run(&["patch", "cloneset", "web", "--type=json", "-p", image])?;
    kubectl.until_available("nginx:1.26")?;
    kubectl.run(&["get", "pods", "-l", "app=web", "-o", PODS])?;
    kubectl.run(&["get", "cloneset", "web"])?;
    println!("\nThe same pods, another image, one restart each. Clean up with: kubectl delete cloneset web");
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
        println!("\n$ kubectl {}", args.join(" "));
        let status = Command::new(&self.program)
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            .current_dir(&self.root)
            .status()
            .map_err(TestbedError::io("starting kubectl"))?;
        if status.success() {
            Ok(())
        } else {
            Err(TestbedError::Unfit(format!("kubectl failed ({status}); see above")))
        }
    }

    fn until_available(&self, image: &str) -> Result<(), TestbedError> {
        let ready = format!("--for=jsonpath={{.status.updatedAvailableReplicas}}={REPLICAS}");
        self.run(&["wait", "cloneset", "web", &ready, "--timeout=120s"])?;
        let image = format!("--for=jsonpath={{.status.containerStatuses[0].image}}={image}");
        self.run(&["wait", "pod", "-l", "app=web", &image, "--timeout=120s"])
    }
}
