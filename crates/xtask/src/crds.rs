//! Writes the custom resource definitions as YAML, or checks that the written ones are those of the types.

use std::fs;

use anyhow::Context;
use kruise_api::crd::all_crds;
use serde_json::Value;

use crate::root;

const FOLDER: &str = "charts/kruise/crds";

#[derive(Debug, clap::Args)]
pub struct Crds {
    /// Write nothing; fail if a file differs from what would be written
    #[arg(long)]
    check: bool,
}

pub fn run(arguments: &Crds) -> anyhow::Result<()> {
    let folder = root().join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    for crd in all_crds() {
        let name = crd.pointer("/metadata/name").and_then(Value::as_str).context("a CRD without name")?;
        let path = folder.join(format!("{name}.yaml"));
        let text = format!(
            "# Written by `make crds` from the types in crates/kruise-api. Do not edit.\n{}",
            yaml(&crd)
        );
        if arguments.check {
            let written = fs::read_to_string(&path).unwrap_or_default();
            anyhow::ensure!(written == text, "{FOLDER}/{name}.yaml is out of date: run `make crds`");
        } else {
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
    }
    Ok(())
}

/// Block-style YAML in the order of keys. Texts that YAML might read as something else are quoted as in JSON.
fn yaml(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

fn block(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                out.push_str(&format!("{indent}{}:", scalar(&Value::from(key.as_str()))));
                nested(member, depth + 1, out);
            }
        }
        Value::Array(items) => {
            for item in items {
                out.push_str(&format!("{indent}-"));
                inline_first(item, depth + 1, out);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&format!("{indent}{}\n", scalar(value)));
        }
    }
}

/// After `key:`: a scalar or an empty collection on the same line, else a block below.
fn nested(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            out.push('\n');
            block(value, depth, out);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            block(value, depth, out);
        }
        flat => out.push_str(&format!(" {}\n", scalar(flat))),
    }
}

/// After `-`: the first member of an object stands on the same line.
fn inline_first(value: &Value, depth: usize, out: &mut String) {
    let mut text = String::new();
    match value {
        Value::Object(members) if !members.is_empty() => block(value, depth, &mut text),
        flat => {
            out.push_str(&format!(" {}\n", scalar(flat)));
            return;
        }
    }
    out.push(' ');
    out.push_str(text.trim_start());
}

fn scalar(value: &Value) -> String {
    match value.as_str() {
        Some(text) if is_plain(text) => text.to_owned(),
        _ => value.to_string(),
    }
}

/// Words, paths and sentences that no YAML reader takes for a number, a boolean, a null, a comment or a mapping.
fn is_plain(text: &str) -> bool {
    const OTHER_MEANING: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || " .,;/_-()%=".contains(c))
        && !text.ends_with(' ')
        && !OTHER_MEANING.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_that_yaml_would_misread_are_quoted() {
        let value =
            json!({"a": "no", "b": "plain words, and more", "c": [{"x": 1, "y": []}, "0%"], "on": {}});

        let text = yaml(&value);

        assert_eq!(
            text,
            "a: \"no\"\nb: plain words, and more\nc:\n  - x: 1\n    \"y\": []\n  - \"0%\"\n\"on\": {}\n"
        );
    }
}
