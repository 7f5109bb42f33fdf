//! Which bundle, address and selectors belong into a webhook configuration and into a CRD (WC-8, WC-10); pure.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Holds the list of entries as the chart wrote it, JSON; empty until a manager has read it.
const TEMPLATE: &str = "template";

/// Where the API server reaches us, and whom it trusts there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub address: Address,
    /// PEM.
    pub bundle: Vec<u8>,
}

/// How the API server reaches us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Service {
        namespace: String,
        name: String,
    },
    /// `https://host:port`, for a manager outside of the cluster (WEBHOOK_HOST).
    Url(String),
}

impl Address {
    /// WC-1: a host, if one is given, else the service.
    pub fn new(host: &str, port: u16, service: &str, namespace: &str) -> Self {
        if host.is_empty() {
            return Self::Service { namespace: namespace.to_owned(), name: service.to_owned() };
        }
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        Self::Url(format!("https://{host}:{port}"))
    }
}

impl Endpoint {
    fn client_config(&self, path: &str, port: &Value) -> Value {
        let bundle = STANDARD.encode(&self.bundle);
        match &self.address {
            Address::Service { namespace, name } => {
                let port = if port.is_null() { &json!(443) } else { port };
                let service = json!({"namespace": namespace, "name": name, "path": path, "port": port});
                json!({"service": service, "caBundle": bundle})
            }
            Address::Url(base) => json!({"url": format!("{base}{path}"), "caBundle": bundle}),
        }
    }
}

/// The fields of an entry that say which objects it is asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    pub namespace_selector: Value,
    pub object_selector: Value,
    /// A list; empty for none.
    pub match_conditions: Value,
}

/// Entries, by path, whose selection is decided while we run. With `None` somebody else, who leads, decides it: what is
/// there stays.
pub type Selections = BTreeMap<&'static str, Option<Selection>>;

const SELECTORS: [&str; 3] = ["namespaceSelector", "objectSelector", "matchConditions"];

/// The configuration with its entries pointing at us; `None` if it says so already. No entry is dropped.
pub fn configured(configuration: &Value, endpoint: &Endpoint, selections: &Selections) -> Option<Value> {
    let mut wanted = configuration.clone();
    let current = configuration.get("webhooks").cloned().unwrap_or_else(|| json!([]));
    let noted = configuration.pointer("/metadata/annotations/template").and_then(Value::as_str);
    let template = noted.and_then(|text| serde_json::from_str::<Vec<Value>>(text).ok());
    let mut entries = template.unwrap_or_else(|| {
        note_template(&mut wanted, &current);
        current.as_array().cloned().unwrap_or_default()
    });
    for entry in &mut entries {
        let same =
            current.as_array().into_iter().flatten().find(|other| other.get("name") == entry.get("name"));
        // Fields that the API server has filled in are no difference.
        fill(entry, same);
        let Some(path) = path_of(entry) else { continue };
        select(entry, same, selections.get(path.as_str()));
        let port = entry.pointer("/clientConfig/service/port").cloned().unwrap_or(Value::Null);
        if let Some(fields) = entry.as_object_mut() {
            fields.insert("clientConfig".to_owned(), endpoint.client_config(&path, &port));
        }
    }
    if let Some(fields) = wanted.as_object_mut() {
        fields.insert("webhooks".to_owned(), Value::Array(entries));
    }
    (wanted != *configuration).then_some(wanted)
}

/// The configuration with nothing but its selections changed: somebody else brings the certificates (WC-9).
pub fn selected(configuration: &Value, selections: &Selections) -> Option<Value> {
    let mut wanted = configuration.clone();
    for entry in wanted.get_mut("webhooks").and_then(Value::as_array_mut)? {
        let Some(path) = path_of(entry) else { continue };
        let same = entry.clone();
        select(entry, Some(&same), selections.get(path.as_str()));
    }
    (wanted != *configuration).then_some(wanted)
}

/// Whether every entry that has an address, or the conversion of a CRD, trusts this bundle.
pub fn trusts(object: &Value, bundle: &[u8]) -> bool {
    let entries = object.get("webhooks").and_then(Value::as_array).into_iter().flatten();
    let conversion = object.pointer("/spec/conversion/webhook");
    entries.chain(conversion).filter_map(|entry| entry.get("clientConfig")).all(|config| {
        let text = config.get("caBundle").and_then(Value::as_str).unwrap_or_default();
        // Whoever injects it may end it with another number of line ends.
        STANDARD.decode(text).is_ok_and(|found| found.trim_ascii() == bundle.trim_ascii())
    })
}

fn select(entry: &mut Value, same: Option<&Value>, selection: Option<&Option<Selection>>) {
    let (Some(fields), Some(selection)) = (entry.as_object_mut(), selection) else { return };
    let values = match selection {
        Some(one) => [&one.namespace_selector, &one.object_selector, &one.match_conditions].map(Clone::clone),
        // An entry that nobody has written yet is as narrow as the chart made it.
        None => match same {
            Some(live) => SELECTORS.map(|key| live.get(key).cloned().unwrap_or(Value::Null)),
            None => return,
        },
    };
    for (key, value) in SELECTORS.into_iter().zip(values) {
        let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if is_empty {
            fields.shift_remove(key);
        } else {
            fields.insert(key.to_owned(), value);
        }
    }
}

/// The CRD with its conversion pointing at us; `None` if it does, or if it converts without a webhook.
pub fn converted(crd: &Value, endpoint: &Endpoint, path: &str) -> Option<Value> {
    let conversion = crd.pointer("/spec/conversion")?;
    if conversion.get("strategy").is_none_or(|strategy| strategy != "Webhook") {
        return None;
    }
    let webhook = json!({
        "clientConfig": endpoint.client_config(path, &Value::Null),
        "conversionReviewVersions": ["v1", "v1beta1"],
    });
    if conversion.get("webhook") == Some(&webhook) {
        return None;
    }
    let mut wanted = crd.clone();
    *wanted.pointer_mut("/spec/conversion")? = json!({"strategy": "Webhook", "webhook": webhook});
    Some(wanted)
}

fn note_template(configuration: &mut Value, entries: &Value) {
    let Some(metadata) = configuration.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(TEMPLATE.to_owned(), json!(entries.to_string()));
    }
}

fn fill(entry: &mut Value, from: Option<&Value>) {
    let (Some(fields), Some(from)) = (entry.as_object_mut(), from.and_then(Value::as_object)) else { return };
    for (key, value) in from.iter().filter(|(key, _)| *key != "clientConfig") {
        match fields.get_mut(key) {
            None => {
                fields.insert(key.clone(), value.clone());
            }
            Some(Value::Array(items)) => {
                let others = value.as_array().map(Vec::as_slice).unwrap_or_default();
                for (position, item) in items.iter_mut().enumerate() {
                    fill(item, others.get(position));
                }
            }
            Some(below) => fill(below, Some(value)),
        }
    }
}

fn path_of(entry: &Value) -> Option<String> {
    let text = |path: &str| entry.pointer(path).and_then(Value::as_str);
    if let Some(path) = text("/clientConfig/service/path") {
        return Some(path.to_owned());
    }
    let (_, rest) = text("/clientConfig/url")?.split_once("://")?;
    rest.find('/').and_then(|start| rest.get(start..)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(host: &str) -> Endpoint {
        Endpoint { address: Address::new(host, 9876, "svc", "ns"), bundle: b"ca".to_vec() }
    }

    fn entry(path: &str) -> Value {
        json!({"name": "m.kb.io", "clientConfig": {"service": {"name": "old", "namespace": "old", "path": path}}})
    }

    fn configuration() -> Value {
        json!({"metadata": {"name": "c", "annotations": {"template": ""}}, "webhooks": [entry("/mutate")]})
    }

    #[test]
    fn wc_8_entries_point_at_us_and_the_list_is_noted() {
        let written = configured(&configuration(), &endpoint(""), &Selections::new()).unwrap();

        let config = &written["webhooks"][0]["clientConfig"];
        assert_eq!(config["caBundle"], "Y2E=");
        assert_eq!(
            config["service"],
            json!({"namespace": "ns", "name": "svc", "path": "/mutate", "port": 443})
        );
        assert!(written["metadata"]["annotations"]["template"].as_str().unwrap().contains("/mutate"));
        assert_eq!(
            configured(&written, &endpoint(""), &Selections::new()),
            None,
            "nothing to write the second time"
        );
    }

    #[test]
    fn wrong_ca_is_replaced_and_defaults_of_the_api_server_are_no_difference() {
        let mut stored = configured(&configuration(), &endpoint(""), &Selections::new()).unwrap();
        stored["webhooks"][0]["matchPolicy"] = json!("Equivalent");
        assert_eq!(configured(&stored, &endpoint(""), &Selections::new()), None);
        stored["webhooks"][0]["clientConfig"]["caBundle"] = json!("b3RoZXI=");

        let healed = configured(&stored, &endpoint(""), &Selections::new()).unwrap();

        assert_eq!(healed["webhooks"][0]["clientConfig"]["caBundle"], "Y2E=");
        assert_eq!(healed["webhooks"][0]["matchPolicy"], "Equivalent");
    }

    #[test]
    fn webhook_host_gives_urls_and_back() {
        let written = configured(&configuration(), &endpoint("127.0.0.1"), &Selections::new()).unwrap();
        assert_eq!(written["webhooks"][0]["clientConfig"]["url"], "https://127.0.0.1:9876/mutate");
        let six = configured(&configuration(), &endpoint("::1"), &Selections::new()).unwrap();
        assert_eq!(six["webhooks"][0]["clientConfig"]["url"], "https://[::1]:9876/mutate");
        let back = configured(&written, &endpoint(""), &Selections::new()).unwrap();
        assert_eq!(back["webhooks"][0]["clientConfig"]["service"]["path"], "/mutate");
    }

    #[test]
    fn wc_10_crd_with_webhook_conversion_gets_bundle_and_path() {
        let crd = json!({"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {}}}}});

        let written = converted(&crd, &endpoint(""), "/convert").unwrap();

        assert_eq!(written["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["path"], "/convert");
        assert_eq!(converted(&written, &endpoint(""), "/convert"), None);
        assert_eq!(
            converted(&json!({"spec": {"conversion": {"strategy": "None"}}}), &endpoint(""), "/convert"),
            None
        );
    }

    fn selections(values: &[&str]) -> Selections {
        let one = |names: &[&str]| Selection {
            namespace_selector: json!({"matchExpressions": [{"key": "k", "operator": "In", "values": names}]}),
            object_selector: json!({}),
            match_conditions: json!([]),
        };
        Selections::from([("/mutate", (!values.is_empty()).then(|| one(values)))])
    }

    #[test]
    fn leader_selects_and_others_keep_what_it_selected() {
        let wide = configured(&configuration(), &endpoint(""), &selections(&[])).unwrap();
        assert_eq!(wide["webhooks"][0].get("namespaceSelector"), None);

        let narrow = configured(&wide, &endpoint(""), &selections(&["a"])).unwrap();

        let values = narrow.pointer("/webhooks/0/namespaceSelector/matchExpressions/0/values").unwrap();
        assert_eq!(*values, json!(["a"]));
        assert_eq!(configured(&narrow, &endpoint(""), &selections(&["a"])), None);
        assert_eq!(configured(&narrow, &endpoint(""), &selections(&[])), None, "a standby keeps it");
        assert!(configured(&narrow, &endpoint(""), &selections(&["b"])).is_some());
        let mut widened = narrow.clone();
        widened["webhooks"][0].as_object_mut().unwrap().shift_remove("namespaceSelector");
        assert_eq!(configured(&widened, &endpoint(""), &selections(&["a"])).unwrap(), narrow, "healed");
    }

    #[test]
    fn wc_9_external_certificates_are_compared_and_only_selectors_written() {
        let mut stored = configuration();
        assert!(!trusts(&stored, b"ca"));
        stored["webhooks"][0]["clientConfig"]["caBundle"] = json!(STANDARD.encode("ca\n"));
        assert!(trusts(&stored, b"ca") && !trusts(&stored, b"other"));
        let crd = json!({"spec": {"conversion": {"strategy": "None"}}});
        assert!(trusts(&crd, b"ca"), "no conversion by webhook");

        let written = selected(&stored, &selections(&["a"])).unwrap();

        assert_eq!(written["webhooks"][0]["clientConfig"], stored["webhooks"][0]["clientConfig"]);
        assert_eq!(written["metadata"], stored["metadata"]);
        assert_eq!(selected(&written, &selections(&["a"])), None);
    }
}
