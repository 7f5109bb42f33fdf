//! What `make run` says when all is ready: how to reach the cluster, and what to try.

use std::path::Path;

use crate::{Cluster, TestbedError, checkout, manager};

/// The first line of an example begins with this; the rest says in a few words what one will see.
const TRY: &str = "# Try: ";

/// Commands are as long as this in a line, so that what they do stands in a column.
const COLUMN: usize = 50;

/// What to try, whether there is a manager or not.
const ALWAYS: [(&str, &str); 2] = [
    ("kubectl get nodes", "the simulated nodes"),
    ("kubectl explain cloneset.spec", "what can be said about a CloneSet"),
];

/// An example, and what one will see.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Example {
    file: String,
    words: String,
}

/// The whole text; `manager` says where the manager serves, if there is one.
pub fn text(cluster: &Cluster, manager: Option<manager::Ports>) -> Result<String, TestbedError> {
    let kruise = if manager.is_some() { ", and Kruise with it" } else { "" };
    let mut lines = vec![
        format!("\nReady: a real Kubernetes is running{kruise}.\n"),
        format!("  export KUBECONFIG={}", cluster.kubeconfig().display()),
        format!("  alias kubectl={}\n", cluster.kubectl().display()),
        "Try, in another terminal".to_owned(),
    ];
    if manager.is_some() {
        lines.push(line("make demo", "a rollout in place, then a change that is refused"));
        let examples = examples(&checkout::root().join("examples"))?;
        lines.extend(examples.iter().map(|Example { file, words }| line(&apply(file), words)));
    }
    lines.extend(ALWAYS.map(|(command, words)| line(command, words)));
    lines.push(String::new());
    lines.extend(manager.map(|ports| format!("Metrics   http://127.0.0.1:{}/metrics", ports.metrics)));
    lines.push(format!("Logs      {}", cluster.log_dir().display()));
    lines.push("Stop      Ctrl-C; nothing is left behind\n".to_owned());
    Ok(lines.join("\n"))
}

fn apply(file: &str) -> String {
    format!("kubectl apply -f examples/{file}")
}

fn line(command: &str, words: &str) -> String {
    format!("  {command:COLUMN$} {words}")
}

/// All examples of a folder that say what to try, in the order of their names.
fn examples(folder: &Path) -> Result<Vec<Example>, TestbedError> {
    let reading = || TestbedError::io(format!("reading {}", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(reading())? {
        let path = entry.map_err(reading())?.path();
        let text = std::fs::read_to_string(&path).map_err(reading())?;
        let words = text.lines().next().and_then(|first| first.strip_prefix(TRY));
        if let (Some(file), Some(words)) = (path.file_name().and_then(|name| name.to_str()), words) {
            found.push(Example { file: file.to_owned(), words: words.to_owned() });
        }
    }
    found.sort_by(|one, other| one.file.cmp(&other.file));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_says_what_to_try_and_fits_the_column() {
        let folder = checkout::root().join("examples");
        let found = examples(&folder).unwrap();

        let mut all: Vec<String> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned())
            .collect();
        all.sort();
        assert_eq!(found.iter().map(|example| example.file.clone()).collect::<Vec<_>>(), all);
        for Example { file, words } in found {
            assert!(apply(&file).len() < COLUMN, "{file}");
            assert!(!words.trim().is_empty(), "{file}");
        }
    }

    #[test]
    fn new_example_is_found_and_other_files_are_not() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("b.yaml"), "# Try: two\nkind: B\n").unwrap();
        std::fs::write(folder.path().join("a.yaml"), "# Try: one\nkind: A\n").unwrap();
        std::fs::write(folder.path().join("c.yaml"), "kind: C\n# Try: too late\n").unwrap();

        let found = examples(folder.path()).unwrap();

        let expected = [("a.yaml", "one"), ("b.yaml", "two")]
            .map(|(file, words)| Example { file: file.to_owned(), words: words.to_owned() });
        assert_eq!(found, expected);
    }
}
