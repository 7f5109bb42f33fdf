//! JSON written as YAML.

use serde_json::Value;

/// Block-style YAML in the order of keys. Texts that YAML might read as something else are quoted as in JSON.
pub fn yaml(value: &Value) -> String {
    let mut text = lines(value).join("\n");
    text.push('\n');
    text
}

/// The lines of a value, not indented. Scalars and empty collections have one.
fn lines(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(members) = value.as_object().filter(|members| !members.is_empty()) {
        for (key, member) in members {
            let key = scalar(&Value::from(key.as_str()));
            if is_flat(member) {
                found.push(format!("{key}: {}", scalar(member)));
            } else {
                found.push(format!("{key}:"));
                found.extend(lines(member).into_iter().map(|line| format!("  {line}")));
            }
        }
    } else if let Some(items) = value.as_array().filter(|items| !items.is_empty()) {
        for item in items {
            let marks = std::iter::once("- ").chain(std::iter::repeat("  "));
            found.extend(marks.zip(lines(item)).map(|(mark, line)| format!("{mark}{line}")));
        }
    } else {
        found.push(scalar(value));
    }
    found
}

/// Whether a value fits on the line of its key.
fn is_flat(value: &Value) -> bool {
    let members = value.as_object().map(serde_json::Map::len).or_else(|| value.as_array().map(Vec::len));
    members.unwrap_or_default() == 0
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
