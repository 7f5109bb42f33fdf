//! The environment that a container really has, and its hash (EH-1 … EH-5), byte for byte as the manager expects it.

use std::collections::BTreeMap;

use kruise_core::revision::{gojson, hash};
use serde::Deserialize;
use serde_json::json;

use crate::pod::{Container, Pod};

/// Variables of a running container.
pub type Environment = BTreeMap<String, String>;

/// The hash that the container should have with the pod's present metadata.
pub fn expected_hash(pod: &Pod, container: &Container) -> u64 {
    let values = container.env.iter().map(|one| (one.name.as_str(), pod.value_of(&one.source)));
    hash_of(values.collect())
}

/// The hash of what the container has.
pub fn current_hash(container: &Container, environment: &Environment) -> u64 {
    let value = |name: &str| environment.get(name).map_or("", String::as_str);
    hash_of(container.env.iter().map(|one| (one.name.as_str(), value(&one.name))).collect())
}

/// EH-3, EH-4.
fn hash_of(mut variables: Vec<(&str, &str)>) -> u64 {
    if variables.is_empty() {
        return u64::from(hash::deep(b"null"));
    }
    variables.sort_by_key(|(name, _)| *name);
    let list: Vec<_> = variables
        .into_iter()
        .map(|(name, value)| match value {
            "" => json!({"name": name}),
            value => json!({"name": name, "value": value}),
        })
        .collect();
    u64::from(hash::deep(gojson::in_order(&json!(list)).as_bytes()))
}

/// FNV over image and name, as kubelets since 1.31 print them (EH-6).
pub fn plain_hash(image: &str, name: &str) -> u64 {
    u64::from(hash::deep(gojson::in_order(&json!({"image": image, "name": name})).as_bytes()))
}

/// What verbose status says under `info`; runtimes agree on the runtime specification inside.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Verbose {
    runtime_spec: RuntimeSpec,
}

#[derive(Deserialize)]
struct RuntimeSpec {
    process: Process,
}

#[derive(Deserialize)]
struct Process {
    #[serde(default)]
    env: Vec<String>,
}

/// The environment out of a runtime's verbose answer, if it tells.
pub fn of_verbose(info: &str) -> Option<Environment> {
    let verbose: Verbose = serde_json::from_str(info).ok()?;
    Some(pairs(verbose.runtime_spec.process.env.iter().map(String::as_str)))
}

/// The environment as the kernel prints it, each variable ended by a NUL: line breaks and blanks in values survive.
pub fn of_kernel(bytes: &[u8]) -> Environment {
    let text = String::from_utf8_lossy(bytes);
    pairs(text.split('\0').filter(|one| !one.is_empty()))
}

/// The output of `env`, the last resort: a value with a line break is read only to its end of line.
pub fn of_lines(bytes: &[u8]) -> Environment {
    let text = String::from_utf8_lossy(bytes);
    pairs(text.lines().filter(|one| one.contains('=')))
}

/// The last of equal names counts, as for the process.
fn pairs<'a>(all: impl Iterator<Item = &'a str>) -> Environment {
    let pair = |one: &str| {
        let (name, value) = one.split_once('=').unwrap_or((one, ""));
        (name.to_owned(), value.to_owned())
    };
    all.map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::{Source, Variable};

    fn container(names: &[&str]) -> Container {
        let variable =
            |name: &&str| Variable { name: (*name).to_owned(), source: Source::Label((*name).to_owned()) };
        Container { env: names.iter().map(variable).collect(), ..Container::default() }
    }

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn eh_5_vectors_of_the_specification() {
        for (names, values, hash) in [
            (&[][..], &[][..], 86_995_377),
            (&["e2"], &[("e2", "foo")], 2_053_173_458),
            (&["e2"], &[], 1_885_397_378),
            (&["B", "A"], &[("A", "a&b"), ("B", "x"), ("PATH", "/bin")], 3_831_121_535),
        ] {
            assert_eq!(current_hash(&container(names), &environment(values)), hash, "{values:?}");
        }
        assert_eq!(plain_hash("nginx:1.25", "main"), 436_018_172, "EH-6");
    }

    /// daemon, acceptance 11: what the pod says and what the runtime tells hash alike, whatever the value.
    #[test]
    fn eh_2_value_of_the_pod_and_of_the_process_hash_alike() {
        for value in ["", "a=b", "two\nlines", "a&b<c>", "grüße ✓", " blank at the end ", "\u{2028}"] {
            let mut pod = Pod::default();
            pod.metadata.labels.insert("A".to_owned(), value.to_owned());
            let expected = expected_hash(&pod, &container(&["A"]));
            let kernel = of_kernel(format!("PATH=/bin\0A={value}\0").as_bytes());
            assert_eq!(current_hash(&container(&["A"]), &kernel), expected, "{value:?}");
            let verbose = json!({"pid": 7, "runtimeSpec": {"process": {"env": [format!("A={value}")]}}});
            let verbose = of_verbose(&verbose.to_string()).unwrap();
            assert_eq!(current_hash(&container(&["A"]), &verbose), expected, "{value:?}");
        }
        assert_eq!(of_verbose("{}"), None);
        assert_eq!(of_verbose("not JSON"), None);
        assert_eq!(of_lines(b"A=1\nB=x=y\nnoise\n"), environment(&[("A", "1"), ("B", "x=y")]));
    }
}
