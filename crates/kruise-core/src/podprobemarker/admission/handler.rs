//! The check of one probe.

use serde_json::Value;

use super::text;
use crate::admission::{FaultKind, Faults};

const HANDLERS: [&str; 3] = ["exec", "httpGet", "tcpSocket"];
const SCHEMES: [&str; 2] = ["HTTP", "HTTPS"];
const NUMBERS: [&str; 5] =
    ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];
/// Of a port's name.
const PORT_NAME_MAX: usize = 15;

pub fn validate(probe: &Value, at: &str, faults: &mut Faults) {
    let given = |name: &&str| probe.get(name).is_some_and(Value::is_object);
    if given(&"grpc") {
        faults.add(
            FaultKind::Forbidden,
            format!("{at}.grpc"),
            "grpc is not supported: use exec, httpGet or tcpSocket",
        );
    }
    let handlers: Vec<&str> = HANDLERS.into_iter().filter(given).collect();
    match handlers.as_slice() {
        [] => faults.add(FaultKind::Required, at, "must specify a handler type: exec, httpGet or tcpSocket"),
        [handler] => {
            one(probe.get(handler).unwrap_or(&Value::Null), handler, &format!("{at}.{handler}"), faults);
        }
        [_, more @ ..] => {
            for handler in more {
                faults.add(
                    FaultKind::Forbidden,
                    format!("{at}.{handler}"),
                    "may not specify more than 1 handler type",
                );
            }
        }
    }
    for field in NUMBERS {
        if probe.get(field).and_then(Value::as_i64).is_some_and(|number| number < 0) {
            faults.invalid(format!("{at}.{field}"), "must be a number >= 0");
        }
    }
}

fn one(handler: &Value, name: &str, at: &str, faults: &mut Faults) {
    if name == "exec" {
        if handler.get("command").and_then(Value::as_array).is_none_or(Vec::is_empty) {
            faults.add(
                FaultKind::Required,
                format!("{at}.command"),
                "give the command to run in the container",
            );
        }
        return;
    }
    if !text(handler, "host").is_empty() {
        faults.add(FaultKind::Forbidden, format!("{at}.host"), "must be left out: the pod itself is probed");
    }
    port(handler.get("port").unwrap_or(&Value::Null), &format!("{at}.port"), faults);
    if name == "httpGet" {
        http(handler, at, faults);
    }
}

fn port(port: &Value, at: &str, faults: &mut Faults) {
    let is_right = match port {
        Value::Number(number) => number.as_u64().is_some_and(|number| (1..=65_535).contains(&number)),
        Value::String(name) => is_port_name(name) || name.parse::<u16>().is_ok_and(|number| number > 0),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    };
    if !is_right {
        faults.invalid(
            at,
            format!("{port}: use a number from 1 to 65535 or the name of a port of the container"),
        );
    }
}

fn is_port_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=PORT_NAME_MAX).contains(&name.len())
        && name.bytes().all(|byte| is_plain(byte) || byte == b'-')
        && name.bytes().any(|byte| byte.is_ascii_lowercase())
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

fn http(handler: &Value, at: &str, faults: &mut Faults) {
    let path = text(handler, "path");
    if path.is_empty() {
        faults.add(FaultKind::Required, format!("{at}.path"), "give the path, such as /");
    } else if path.chars().any(|one| one.is_control() || one.is_whitespace()) || has_bad_escape(path) {
        faults.invalid(format!("{at}.path"), format!("{path:?} is not a path of a URL"));
    }
    let scheme = text(handler, "scheme");
    if !SCHEMES.contains(&scheme) {
        faults.add(
            FaultKind::NotSupported,
            format!("{at}.scheme"),
            format!("{scheme:?}: use {}", SCHEMES.join(" or ")),
        );
    }
    let headers = handler.get("httpHeaders").and_then(Value::as_array).into_iter().flatten();
    for (i, header) in headers.enumerate() {
        let name = text(header, "name");
        if name.is_empty() || !name.bytes().all(is_of_a_token) {
            faults.invalid(
                format!("{at}.httpHeaders[{i}].name"),
                format!("{name:?} is not the name of a header"),
            );
        }
    }
}

fn has_bad_escape(path: &str) -> bool {
    let mut parts = path.split('%');
    parts.next();
    parts.any(|rest| !rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit()) || rest.len() < 2)
}

/// As Kubernetes has it: letters, digits and dashes.
fn is_of_a_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}
