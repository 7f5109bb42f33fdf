//! Rules of PodProbeMarker (sections 2.1 and 6 of its specification).

use schemars::Schema;
use serde_json::json;

use super::{keyed, keyed_by_name, limit, rule};
use crate::conditions::NATIVE;

/// Forbids the conditions that Kubernetes and we write ourselves.
fn not_native(schema: &mut Schema, message: &str) {
    let native = NATIVE.map(|name| format!("'{name}'")).join(", ");
    rule(schema, &format!("!(self in [{native}])"), message);
}

/// At least one probe, each name once.
pub(crate) fn probes(schema: &mut Schema) {
    limit(schema, "minItems", 1);
    keyed_by_name(schema);
}

/// A name that can be joined to that of the marker.
pub(crate) fn name(schema: &mut Schema) {
    limit(schema, "minLength", 1);
    limit(schema, "maxLength", 1024);
    limit(schema, "pattern", "^[^#]*$");
    not_native(schema, "must not be the name of a condition that Kubernetes or Kruise writes");
}

/// A condition of one's own, as a qualified name.
pub(crate) fn condition_type(schema: &mut Schema) {
    limit(schema, "maxLength", 316);
    limit(schema, "pattern", QUALIFIED_NAME);
    not_native(schema, "must not be a condition that Kubernetes or Kruise writes");
}

const QUALIFIED_NAME: &str = r"^$|^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

/// A result must show somewhere.
pub(crate) fn probe(schema: &mut Schema) {
    rule(
        schema,
        "(has(self.podConditionType) && self.podConditionType != '') || (has(self.markerPolicy) && size(self.markerPolicy) > 0)",
        "give podConditionType or markerPolicy: the result must show somewhere",
    );
}

/// One policy per result.
pub(crate) fn policies(schema: &mut Schema) {
    keyed(schema, &["state"]);
    limit(schema, "maxItems", 2);
}

/// A policy without marks says nothing.
pub(crate) fn policy(schema: &mut Schema) {
    rule(
        schema,
        "(has(self.labels) && size(self.labels) > 0) || (has(self.annotations) && size(self.annotations) > 0)",
        "give labels or annotations",
    );
}

/// Exactly one handler that we can run, given completely.
pub(crate) fn handler(schema: &mut Schema) {
    rule(
        schema,
        "[has(self.exec), has(self.httpGet), has(self.tcpSocket)].filter(given, given).size() == 1 && !has(self.grpc)",
        "give exactly one of exec, httpGet and tcpSocket; grpc is not supported",
    );
    rule(
        schema,
        "!has(self.exec) || (has(self.exec.command) && size(self.exec.command) > 0)",
        "exec.command must not be empty",
    );
    let no_host = |handler: &str| {
        format!("!has(self.{handler}) || !has(self.{handler}.host) || self.{handler}.host == ''")
    };
    rule(
        schema,
        &format!("({}) && ({})", no_host("httpGet"), no_host("tcpSocket")),
        "host must be left out: the pod itself is probed",
    );
    rule(
        schema,
        "!has(self.httpGet) || (has(self.httpGet.path) && self.httpGet.path != '' && has(self.httpGet.scheme) && self.httpGet.scheme in ['HTTP', 'HTTPS'])",
        "httpGet needs a path and a scheme, HTTP or HTTPS",
    );
    for text in [
        "/properties/httpGet/properties/host",
        "/properties/httpGet/properties/path",
        "/properties/tcpSocket/properties/host",
    ] {
        if let Some(field) = schema.pointer_mut(text).and_then(|field| field.as_object_mut()) {
            field.insert("maxLength".to_owned(), json!(4096));
        }
    }
}
