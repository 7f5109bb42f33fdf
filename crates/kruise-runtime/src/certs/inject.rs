//! Which bundle, address and selectors belong into a webhook configuration and into a CRD (WC-8, WC-10); pure.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

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

/// Entries, by name, whose selection is decided while we run.
#[derive(Debug, Clone, PartialEq)]
pub struct Selections {
    /// With `None` somebody else decides it: what is there stays.
    pub entries: BTreeMap<&'static str, Option<Selection>>,
    pub owned: Owned,
}

/// The parts of selectors that only we write. All other parts were added by others, such as the provider of the cluster,
/// and stay.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Owned {
    /// Of label selectors.
    pub keys: &'static [&'static str],
    /// Of match conditions.
    pub conditions: &'static [&'static str],
}

const SELECTORS: [&str; 3] = ["namespaceSelector", "objectSelector", "matchConditions"];

/// The configuration with its entries pointing at us; `None` if it says so already. No entry is dropped, and those that always
/// belong there are added, as wide as they are given: a chart need not name them.
pub fn configured(
    configuration: &Value,
    endpoint: &Endpoint,
    selections: &Selections,
    always: &[Value],
) -> Option<Value> {
    let mut wanted = configuration.clone();
    let current = configuration.get("webhooks").cloned().unwrap_or_else(|| json!([]));
    let noted = configuration.pointer("/metadata/annotations/template").and_then(Value::as_str);
    let template = noted.and_then(|text| serde_json::from_str::<Vec<Value>>(text).ok());
    let mut entries = template.unwrap_or_else(|| {
        note_template(&mut wanted, &current);
        current.as_array().cloned().unwrap_or_default()
    });
    add_missing(&mut entries, always);
    for entry in &mut entries {
        let same =
            current.as_array().into_iter().flatten().find(|other| other.get("name") == entry.get("name"));
        // Fields that the API server has filled in are no difference.
        fill(entry, same);
        select(entry, same, selections);
        let Some(path) = path_of(entry) else { continue };
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

/// The configuration with the entries that always belong there; `None` if it has them. Somebody else brings the certificates (WC-9),
/// but until then the API server could not reach us for these.
pub(super) fn completed(configuration: &Value, endpoint: &Endpoint, always: &[Value]) -> Option<Value> {
    let mut wanted = configuration.clone();
    let entries = wanted.get_mut("webhooks").and_then(Value::as_array_mut)?;
    let there = entries.len();
    add_missing(entries, always);
    for entry in entries.iter_mut().skip(there) {
        let path = path_of(entry)?;
        entry.as_object_mut()?.insert("clientConfig".to_owned(), endpoint.client_config(&path, &Value::Null));
    }
    (wanted != *configuration).then_some(wanted)
}

fn add_missing(entries: &mut Vec<Value>, always: &[Value]) {
    for own in always {
        if !entries.iter().any(|entry| entry.get("name") == own.get("name")) {
            entries.push(own.clone());
        }
    }
}

/// The configuration with nothing but its selections changed.
pub fn selected(configuration: &Value, selections: &Selections) -> Option<Value> {
    let mut wanted = configuration.clone();
    for entry in wanted.get_mut("webhooks").and_then(Value::as_array_mut)? {
        let same = entry.clone();
        select(entry, Some(&same), selections);
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

fn select(entry: &mut Value, live: Option<&Value>, selections: &Selections) {
    let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
    let Some(selection) = selections.entries.get(name) else { return };
    let there = |key: &str| live.and_then(|live| live.get(key)).cloned().unwrap_or(Value::Null);
    let values = match selection {
        Some(one) => {
            let [namespaces, objects, conditions] = SELECTORS.map(there);
            let owned = &selections.owned;
            [
                with_foreign_keys(&one.namespace_selector, &namespaces, owned),
                with_foreign_keys(&one.object_selector, &objects, owned),
                with_foreign("name", owned.conditions, &one.match_conditions, &conditions),
            ]
        }
        // Too wide until somebody selects, never too narrow: a chart may have noted an old selection.
        None if live.is_none() => {
            let namespaces = entry.get(SELECTORS[0]).cloned().unwrap_or(Value::Null);
            [namespaces, Value::Null, Value::Null]
        }
        None => SELECTORS.map(there),
    };
    let Some(fields) = entry.as_object_mut() else { return };
    for (key, value) in SELECTORS.into_iter().zip(values) {
        let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if is_empty {
            fields.shift_remove(key);
        } else {
            fields.insert(key.to_owned(), value);
        }
    }
}

/// A label selector of ours with what others require beside it.
fn with_foreign_keys(ours: &Value, live: &Value, owned: &Owned) -> Value {
    let part = |selector: &Value, key: &str| selector.get(key).cloned().unwrap_or(Value::Null);
    let [ours, theirs] = [ours, live].map(|selector| part(selector, "matchExpressions"));
    let mut wanted = Map::new();
    wanted.insert("matchExpressions".to_owned(), with_foreign("key", owned.keys, &ours, &theirs));
    if let Value::Object(mut labels) = part(live, "matchLabels") {
        labels.retain(|key, _| !owned.keys.contains(&key.as_str()));
        wanted.insert("matchLabels".to_owned(), Value::Object(labels));
    }
    wanted.retain(|_, value| *value != json!([]) && *value != json!({}));
    Value::Object(wanted)
}

/// Our items of a list, and those of the live one that are not ours to write. The same items in another order are no
/// difference, or two writers would correct each other for ever.
fn with_foreign(field: &str, owned: &[&str], ours: &Value, live: &Value) -> Value {
    let is_foreign =
        |item: &&Value| item.get(field).and_then(Value::as_str).is_none_or(|word| !owned.contains(&word));
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let there = list(live);
    let wanted: Vec<Value> = list(ours).into_iter().chain(there.iter().filter(is_foreign).cloned()).collect();
    let is_there = there.len() == wanted.len() && wanted.iter().all(|item| there.contains(item));
    Value::Array(if is_there { there } else { wanted })
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

    /// No entry is selected while we run.
    fn fixed() -> Selections {
        Selections { entries: BTreeMap::new(), owned: Owned { keys: &["k"], conditions: &["ours"] } }
    }

    fn configuration() -> Value {
        json!({"metadata": {"name": "c", "annotations": {"template": ""}}, "webhooks": [entry("/mutate")]})
    }

    #[test]
    fn wc_8_entries_point_at_us_and_the_list_is_noted() {
        let written = configured(&configuration(), &endpoint(""), &fixed(), &[]).unwrap();

        let config = &written["webhooks"][0]["clientConfig"];
        assert_eq!(config["caBundle"], "Y2E=");
        assert_eq!(
            config["service"],
            json!({"namespace": "ns", "name": "svc", "path": "/mutate", "port": 443})
        );
        assert!(written["metadata"]["annotations"]["template"].as_str().unwrap().contains("/mutate"));
        assert_eq!(
            configured(&written, &endpoint(""), &fixed(), &[]),
            None,
            "nothing to write the second time"
        );
    }

    #[test]
    fn wrong_ca_is_replaced_and_defaults_of_the_api_server_are_no_difference() {
        let mut stored = configured(&configuration(), &endpoint(""), &fixed(), &[]).unwrap();
        stored["webhooks"][0]["matchPolicy"] = json!("Equivalent");
        assert_eq!(configured(&stored, &endpoint(""), &fixed(), &[]), None);
        stored["webhooks"][0]["clientConfig"]["caBundle"] = json!("b3RoZXI=");

        let healed = configured(&stored, &endpoint(""), &fixed(), &[]).unwrap();

        assert_eq!(healed["webhooks"][0]["clientConfig"]["caBundle"], "Y2E=");
        assert_eq!(healed["webhooks"][0]["matchPolicy"], "Equivalent");
    }

    /// PL-B6, IN-3: a chart that overwrites the configuration leaves no entry without a CA for long, also none that we do not know.
    #[test]
    fn pl_b6_in_3_what_an_upgrade_cleared_is_restored_and_entries_of_others_stay() {
        let mut stored = configured(&configuration(), &endpoint(""), &fixed(), &[]).unwrap();
        stored["metadata"]["annotations"]["template"] = json!("");
        let mut unknown = entry("/of-another-release");
        unknown["name"] = json!("n.kb.io");
        stored["webhooks"] = json!([entry("/mutate"), unknown]);

        let healed = configured(&stored, &endpoint(""), &fixed(), &[]).unwrap();

        let entries = healed["webhooks"].as_array().unwrap();
        let paths: Vec<Option<String>> = entries.iter().map(path_of).collect();
        assert_eq!(paths, [Some("/mutate".to_owned()), Some("/of-another-release".to_owned())]);
        for entry in entries {
            assert_eq!(entry["clientConfig"]["caBundle"], "Y2E=", "{entry}");
        }
    }

    #[test]
    fn webhook_host_gives_urls_and_back() {
        let written = configured(&configuration(), &endpoint("127.0.0.1"), &fixed(), &[]).unwrap();
        assert_eq!(written["webhooks"][0]["clientConfig"]["url"], "https://127.0.0.1:9876/mutate");
        let six = configured(&configuration(), &endpoint("::1"), &fixed(), &[]).unwrap();
        assert_eq!(six["webhooks"][0]["clientConfig"]["url"], "https://[::1]:9876/mutate");
        let back = configured(&written, &endpoint(""), &fixed(), &[]).unwrap();
        assert_eq!(back["webhooks"][0]["clientConfig"]["service"]["path"], "/mutate");
    }

    #[test]
    fn wc_10_crd_with_webhook_conversion_gets_bundle_and_path() {
        let crd = json!({"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {}}}}});

        let written = converted(&crd, &endpoint(""), "/convert").unwrap();

        let service = json!({"namespace": "ns", "name": "svc", "path": "/convert", "port": 443});
        let webhook = json!({
            "clientConfig": {"service": service, "caBundle": "Y2E="},
            "conversionReviewVersions": ["v1", "v1beta1"],
        });
        assert_eq!(written["spec"]["conversion"], json!({"strategy": "Webhook", "webhook": webhook}));
        assert_eq!(converted(&written, &endpoint(""), "/convert"), None);
        assert_eq!(
            converted(&json!({"spec": {"conversion": {"strategy": "None"}}}), &endpoint(""), "/convert"),
            None
        );
    }

    fn one(values: &[&str]) -> Selection {
        Selection {
            namespace_selector: json!({"matchExpressions": [{"key": "k", "operator": "In", "values": values}]}),
            object_selector: json!({}),
            match_conditions: json!([]),
        }
    }

    fn selections(values: &[&str]) -> Selections {
        let selection = (!values.is_empty()).then(|| one(values));
        Selections { entries: BTreeMap::from([("m.kb.io", selection)]), ..fixed() }
    }

    /// Two entries of one path: evictions are selected apart from changes.
    #[test]
    fn entries_of_one_path_are_selected_one_by_one() {
        let mut stored = configuration();
        stored["webhooks"] = json!([entry("/validate"), entry("/validate")]);
        stored["webhooks"][1]["name"] = json!("other.kb.io");
        let both = BTreeMap::from([("m.kb.io", Some(one(&["a"]))), ("other.kb.io", Some(one(&["b"])))]);

        let written =
            configured(&stored, &endpoint(""), &Selections { entries: both, ..fixed() }, &[]).unwrap();

        let values =
            |at: usize| written["webhooks"][at]["namespaceSelector"]["matchExpressions"][0]["values"].clone();
        assert_eq!([values(0), values(1)], [json!(["a"]), json!(["b"])]);
    }

    /// 16.15: what the provider of the cluster adds to our entries stays, in the place where it put it, and ours is still kept.
    #[test]
    fn what_others_select_stays_beside_what_we_select() {
        let wide = configured(&configuration(), &endpoint(""), &selections(&["a"]), &[]).unwrap();
        let aks = json!({"key": "control-plane", "operator": "NotIn", "values": ["true"]});
        let theirs = json!({"name": "theirs", "expression": "true"});
        let mut stored = wide.clone();
        let selected = &mut stored["webhooks"][0];
        selected["namespaceSelector"]["matchExpressions"].as_array_mut().unwrap().insert(0, aks.clone());
        selected["objectSelector"] = json!({"matchLabels": {"team": "x"}});
        selected["matchConditions"] = json!([theirs]);
        assert_eq!(configured(&stored, &endpoint(""), &selections(&["a"]), &[]), None, "nothing to correct");
        let mut own_condition = one(&["b"]);
        own_condition.match_conditions = json!([{"name": "ours", "expression": "false"}]);
        let changed = BTreeMap::from([("m.kb.io", Some(own_condition))]);

        let written =
            configured(&stored, &endpoint(""), &Selections { entries: changed, ..fixed() }, &[]).unwrap();

        let now = &written["webhooks"][0];
        let ours = json!({"key": "k", "operator": "In", "values": ["b"]});
        assert_eq!(now["namespaceSelector"]["matchExpressions"], json!([ours, aks]));
        assert_eq!(now["objectSelector"], json!({"matchLabels": {"team": "x"}}));
        assert_eq!(now["matchConditions"][1], theirs);
        let narrowed = configured(&written, &endpoint(""), &selections(&["a"]), &[]).unwrap();
        assert_eq!(narrowed["webhooks"][0]["matchConditions"], json!([theirs]), "ours is gone");
    }

    #[test]
    fn leader_selects_and_others_keep_what_it_selected() {
        let wide = configured(&configuration(), &endpoint(""), &selections(&[]), &[]).unwrap();
        assert_eq!(wide["webhooks"][0].get("namespaceSelector"), None);

        let narrow = configured(&wide, &endpoint(""), &selections(&["a"]), &[]).unwrap();

        let values = narrow.pointer("/webhooks/0/namespaceSelector/matchExpressions/0/values").unwrap();
        assert_eq!(*values, json!(["a"]));
        assert_eq!(configured(&narrow, &endpoint(""), &selections(&["a"]), &[]), None);
        assert_eq!(configured(&narrow, &endpoint(""), &selections(&[]), &[]), None, "a standby keeps it");
        assert!(configured(&narrow, &endpoint(""), &selections(&["b"]), &[]).is_some());
        let mut widened = narrow.clone();
        widened["webhooks"][0].as_object_mut().unwrap().shift_remove("namespaceSelector");
        assert_eq!(configured(&widened, &endpoint(""), &selections(&["a"]), &[]).unwrap(), narrow, "healed");
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
