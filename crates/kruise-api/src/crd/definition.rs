//! One CustomResourceDefinition: facts and schemas put together.

use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::schema;
use crate::{
    Scope,
    kind::Kind,
    names::{CONVERT_PATH, NAMESPACE, WEBHOOK_SERVICE},
};

/// How the API server gets from one version to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conversion {
    /// Both versions have one shape: only `apiVersion` changes, and no webhook is needed.
    None,
    /// Our webhook converts.
    Webhook,
}

/// A column that `kubectl get` prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    name: &'static str,
    kind: &'static str,
    path: &'static str,
    /// 0 prints always, 1 only with `-o wide`.
    priority: u8,
}

/// Everything about one kind that goes into its CRD.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    scope: &'static str,
    short_names: &'static [&'static str],
    columns: &'static [Column],
    older_column: Option<Column>,
    scaled: bool,
    spec_required: bool,
    conversion: Conversion,
    /// Oldest first; the last is stored.
    versions: Vec<(&'static str, Schema)>,
}

impl Definition {
    pub(crate) fn of<T: Kind + JsonSchema>() -> Self {
        Self {
            group: T::RESOURCE.group(),
            kind: T::RESOURCE.kind(),
            plural: T::RESOURCE.plural(),
            scope: match T::RESOURCE.scope() {
                Scope::Namespaced => "Namespaced",
                Scope::Cluster => "Cluster",
            },
            short_names: &[],
            columns: &[],
            older_column: None,
            scaled: false,
            spec_required: true,
            conversion: Conversion::None,
            versions: vec![(T::RESOURCE.version(), schema::of::<T>())],
        }
    }

    /// Serves an older version too.
    pub(crate) fn older<T: Kind + JsonSchema>(mut self, conversion: Conversion) -> Self {
        self.versions.insert(0, (T::RESOURCE.version(), schema::of::<T>()));
        self.conversion = conversion;
        self
    }

    pub(crate) fn short_names(mut self, names: &'static [&'static str]) -> Self {
        self.short_names = names;
        self
    }

    pub(crate) fn columns(mut self, columns: &'static [Column]) -> Self {
        self.columns = columns;
        self
    }

    /// A column that only the older version has, at the end.
    pub(crate) fn older_column(mut self, column: Column) -> Self {
        self.older_column = Some(column);
        self
    }

    /// Has a scale subresource at the usual places.
    pub(crate) fn scaled(mut self) -> Self {
        self.scaled = true;
        self
    }

    /// May exist without a spec.
    pub(crate) fn spec_optional(mut self) -> Self {
        self.spec_required = false;
        self
    }

    /// The manifest.
    pub(crate) fn manifest(&self) -> Value {
        let singular = self.kind.to_lowercase();
        let mut names = json!({
            "kind": self.kind,
            "listKind": format!("{}List", self.kind),
            "plural": self.plural,
            "singular": singular,
        });
        if !self.short_names.is_empty() {
            set(&mut names, "shortNames", json!(self.short_names));
        }
        let mut spec = json!({ "group": self.group, "names": names, "scope": self.scope });
        if self.versions.len() > 1 {
            set(&mut spec, "conversion", self.conversion());
        }
        let versions: Vec<_> = self.versions.iter().map(|version| self.version(version)).collect();
        set(&mut spec, "versions", json!(versions));
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{}.{}", self.plural, self.group) },
            "spec": spec,
        })
    }

    fn conversion(&self) -> Value {
        match self.conversion {
            Conversion::None => json!({ "strategy": "None" }),
            Conversion::Webhook => json!({
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {
                        "service": { "name": WEBHOOK_SERVICE, "namespace": NAMESPACE, "path": CONVERT_PATH, "port": 443 },
                    },
                    "conversionReviewVersions": ["v1", "v1beta1"],
                },
            }),
        }
    }

    fn version(&self, (name, schema): &(&'static str, Schema)) -> Value {
        let stored = self.versions.last().is_some_and(|(last, _)| last == name);
        let mut subresources = json!({ "status": {} });
        if self.scaled {
            let paths = json!({
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.labelSelector",
            });
            set(&mut subresources, "scale", paths);
        }
        let mut schema = schema.clone().to_value();
        // The API server fills in type and metadata; only the spec can be missing.
        let required = if self.spec_required { json!(["spec"]) } else { Value::Null };
        set(&mut schema, "required", required);
        let mut version = json!({
            "name": name,
            "served": true,
            "storage": stored,
            "subresources": subresources,
            "schema": { "openAPIV3Schema": schema },
        });
        let older = self.older_column.iter().filter(|_| !stored);
        let columns: Vec<_> = self.columns.iter().chain(older).map(Column::manifest).collect();
        if !columns.is_empty() {
            set(&mut version, "additionalPrinterColumns", json!(columns));
        }
        version
    }
}

impl Column {
    /// Prints the column only with `-o wide`.
    pub(crate) const fn wide(mut self) -> Self {
        self.priority = 1;
        self
    }

    fn manifest(&self) -> Value {
        let mut column = json!({ "name": self.name, "type": self.kind, "jsonPath": self.path });
        if self.priority > 0 {
            set(&mut column, "priority", json!(self.priority));
        }
        column
    }
}

pub(crate) const fn integer(name: &'static str, path: &'static str) -> Column {
    Column { name, kind: "integer", path, priority: 0 }
}

pub(crate) const fn text(name: &'static str, path: &'static str) -> Column {
    Column { name, kind: "string", path, priority: 0 }
}

pub(crate) const fn boolean(name: &'static str, path: &'static str) -> Column {
    Column { name, kind: "boolean", path, priority: 0 }
}

pub(crate) const fn date(name: &'static str, path: &'static str) -> Column {
    Column { name, kind: "date", path, priority: 0 }
}

pub(crate) const fn age(name: &'static str) -> Column {
    date(name, ".metadata.creationTimestamp")
}

/// Sets a member of an object; null removes it.
fn set(object: &mut Value, key: &str, value: Value) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    if value.is_null() {
        object.shift_remove(key);
    } else {
        object.insert(key.to_owned(), value);
    }
}
