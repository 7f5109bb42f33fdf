//! Words of the wire format stand in `kruise-api` and nowhere else: one spelling, one place that says who writes and
//! reads it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;

use crate::{literals::literals, root};

/// Where words are declared.
const DECLARED: &str = "crates/kruise-api/src";
/// Everything that ships. In the others only words of ours count: they also play Kubernetes itself.
const SHIPPED: [&str; 5] =
    ["kruise-core", "kruise-runtime", "kruise-manager", "kruise-daemon", "kubectl-kruise"];
const TEST_CRATES: [&str; 2] = ["kruise-sim", "kruise-testbed"];
/// What marks a word as ours.
const OURS: &str = "kruise.io/";

/// Prefix of labels and names that only the test cluster knows.
const TESTBED: &str = "testbed.kruise.io/";

/// Words that are also something else: operations and failure policies of webhooks, a protocol, names of gates.
const AMBIGUOUS: [&str; 6] = ["UPDATE", "DELETE", "Fail", "Ignore", "TCP", "SidecarTerminator"];

/// Fails with every word that stands in the wrong place.
pub fn check() -> anyhow::Result<()> {
    let words = words()?;
    let mut faults = Vec::new();
    for (crates, is_shipped) in [(SHIPPED.as_slice(), true), (TEST_CRATES.as_slice(), false)] {
        for package in crates {
            for file in sources(&root().join("crates").join(package).join("src"))? {
                let text = fs::read_to_string(&file)?;
                let found = literals(&text).with_context(|| file.display().to_string())?;
                for literal in found.iter().filter(|literal| !literal.is_test) {
                    let is_ours = literal.text.contains(OURS) && !literal.text.starts_with(TESTBED);
                    if is_ours || (is_shipped && words.contains(&literal.text)) {
                        let place = file.strip_prefix(root()).unwrap_or(&file).display();
                        faults.push(format!("{place}:{}: {:?}", literal.line, literal.text));
                    }
                }
            }
        }
    }
    anyhow::ensure!(
        faults.is_empty(),
        "wire words outside kruise-api (use or add a constant there):\n{}",
        faults.join("\n")
    );
    Ok(())
}

/// All constants and words of enumerations, but not those that any sentence might be made of.
fn words() -> anyhow::Result<BTreeSet<String>> {
    let mut words = BTreeSet::new();
    for file in sources(&root().join(DECLARED))? {
        let text = fs::read_to_string(&file)?;
        let found = literals(&text).with_context(|| file.display().to_string())?;
        let assigned = found.into_iter().filter(|literal| !literal.is_test && literal.is_assigned);
        words.extend(assigned.map(|literal| literal.text).filter(|word| is_telling(word)));
    }
    for word in AMBIGUOUS {
        words.remove(word);
    }
    anyhow::ensure!(words.len() > 200, "only {} words found in {DECLARED}", words.len());
    Ok(words)
}

fn is_telling(word: &str) -> bool {
    let is_name = word.starts_with(|first: char| first.is_ascii_uppercase());
    word.len() > 2 && !word.contains([' ', ':']) && (is_name || word.contains(['/', '-']))
}

/// All source files below a folder that are not tests.
fn sources(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut test_modules = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            test_modules.extend(test_modules_of(&path, &text));
            found.push(path);
        }
    }
    found.retain(|file| {
        !test_modules.iter().any(|module| file.starts_with(module) || file.with_extension("") == *module)
    });
    Ok(found)
}

/// Where the modules live that a file declares for tests only.
fn test_modules_of(file: &Path, text: &str) -> Vec<PathBuf> {
    let is_root = file.file_stem().is_some_and(|name| name == "mod" || name == "lib" || name == "main");
    let folder = if is_root { file.with_file_name("") } else { file.with_extension("") };
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let pairs = lines.iter().zip(lines.iter().skip(1));
    let modules = pairs.filter(|(first, _)| first.starts_with("#[cfg(") && first.contains("test"));
    let name = |line: &str| {
        let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
        line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')).map(str::to_owned)
    };
    modules.filter_map(|(_, second)| name(second)).map(|name| folder.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_wire_are_told_from_words_of_sentences() {
        for (word, telling) in [("Ready", true), ("apps.kruise.io/x", true), ("type", false), ("a b", false)]
        {
            assert_eq!(is_telling(word), telling, "{word}");
        }
    }

    #[test]
    fn every_word_stands_in_its_place() {
        check().unwrap();
    }
}
