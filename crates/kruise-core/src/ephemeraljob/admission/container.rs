//! One container of the template (EJ-27).

use kruise_api::kubernetes::{PULL_ALWAYS, PULL_IF_NOT_PRESENT, PULL_NEVER, termination_message};
use serde_json::Value;

use crate::admission::{FaultKind, Faults};
use crate::revision::canonical;

/// What an ephemeral container may have; Kubernetes refuses everything else.
const ALLOWED: [&str; 17] = [
    "name",
    "image",
    "command",
    "args",
    "workingDir",
    "envFrom",
    "env",
    "volumeMounts",
    "volumeDevices",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "imagePullPolicy",
    "securityContext",
    "stdin",
    "stdinOnce",
    "tty",
    "targetContainerName",
];

/// Of a DNS label.
const NAME_MAX: usize = 63;

pub fn validate(container: &Value, at: &str, faults: &mut Faults) {
    let text = |field: &str| container.get(field).and_then(Value::as_str).unwrap_or_default();
    name(text("name"), at, faults);
    let image = text("image");
    if image.is_empty() {
        faults.add(FaultKind::Required, format!("{at}.image"), "say which image");
    } else if image.trim() != image {
        faults.invalid(format!("{at}.image"), "must not begin or end with blanks");
    }
    let messages = [termination_message::FILE, termination_message::FALLBACK_TO_LOGS];
    word(text("terminationMessagePolicy"), &format!("{at}.terminationMessagePolicy"), &messages, faults);
    let pulls = [PULL_ALWAYS, PULL_IF_NOT_PRESENT, PULL_NEVER];
    word(text("imagePullPolicy"), &format!("{at}.imagePullPolicy"), &pulls, faults);
    for (field, value) in container.as_object().into_iter().flatten() {
        if !ALLOWED.contains(&field.as_str()) && !is_unset(value) {
            let message = "ephemeral containers cannot have it";
            faults.add(FaultKind::Forbidden, format!("{at}.{field}"), message);
        }
    }
    environment(container, at, faults);
    mounts(container, at, faults);
    shape(container, at, faults);
}

fn name(name: &str, at: &str, faults: &mut Faults) {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = name.len() <= NAME_MAX
        && name.bytes().all(|byte| is_plain(byte) || byte == b'-')
        && name.bytes().next().is_some_and(is_plain)
        && name.bytes().last().is_some_and(is_plain);
    if name.is_empty() {
        faults.add(FaultKind::Required, format!("{at}.name"), "give the container a name");
    } else if !is_label {
        let message = format!(
            "{name:?}: use at most {NAME_MAX} lower-case letters, digits and dashes, with a letter or digit at both ends"
        );
        faults.invalid(format!("{at}.name"), message);
    }
}

/// EJ-26: there is no default.
fn word(text: &str, field: &str, words: &[&str], faults: &mut Faults) {
    if text.is_empty() {
        faults.add(FaultKind::Required, field, format!("use {}", words.join(", ")));
    } else if !words.contains(&text) {
        faults.add(FaultKind::NotSupported, field, format!("{text:?}: use {}", words.join(", ")));
    }
}

/// Absent, null, or what a client writes for a field that it does not set.
fn is_unset(value: &Value) -> bool {
    value.is_null()
        || value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn items<'a>(container: &'a Value, field: &str) -> impl Iterator<Item = (usize, &'a Value)> {
    container.get(field).and_then(Value::as_array).into_iter().flatten().enumerate()
}

fn environment(container: &Value, at: &str, faults: &mut Faults) {
    for (i, one) in items(container, "env") {
        let at = format!("{at}.env[{i}]");
        let name = one.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() || name.contains('=') {
            faults.invalid(format!("{at}.name"), "give the variable a name without =");
        }
        let Some(from) = one.get("valueFrom").and_then(Value::as_object) else { continue };
        let has_value = one.get("value").and_then(Value::as_str).is_some_and(|value| !value.is_empty());
        if has_value || from.values().filter(|source| !source.is_null()).count() != 1 {
            faults.invalid(format!("{at}.valueFrom"), "give either a value or exactly one source");
        }
    }
    for (i, one) in items(container, "envFrom") {
        let sources = ["configMapRef", "secretRef"].map(|field| one.get(field).is_some_and(Value::is_object));
        if sources.iter().filter(|is_there| **is_there).count() != 1 {
            faults.invalid(format!("{at}.envFrom[{i}]"), "give exactly one of configMapRef and secretRef");
        }
    }
}

fn mounts(container: &Value, at: &str, faults: &mut Faults) {
    for (i, one) in items(container, "volumeMounts") {
        for field in ["subPath", "subPathExpr"] {
            if one.get(field).and_then(Value::as_str).is_some_and(|path| !path.is_empty()) {
                let message = "ephemeral containers cannot mount a part of a volume";
                faults.add(FaultKind::Forbidden, format!("{at}.volumeMounts[{i}].{field}"), message);
            }
        }
    }
}

/// Types of all fields, and what no security context can have.
fn shape(container: &Value, at: &str, faults: &mut Faults) {
    if let Err(error) = canonical("Container", container) {
        faults.invalid(format!("{at}.{}", error.path), error.problem);
    }
    let security = container.get("securityContext").unwrap_or(&Value::Null);
    for field in ["runAsUser", "runAsGroup"] {
        if security.get(field).and_then(Value::as_i64).is_some_and(|id| id < 0) {
            faults.invalid(format!("{at}.securityContext.{field}"), "must be a number >= 0");
        }
    }
    let flag = |field: &str| security.get(field).and_then(Value::as_bool);
    if flag("privileged") == Some(true) && flag("allowPrivilegeEscalation") == Some(false) {
        let field = format!("{at}.securityContext.allowPrivilegeEscalation");
        faults.invalid(field, "cannot be false in a privileged container");
    }
}
