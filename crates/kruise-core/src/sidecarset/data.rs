//! What is stored of a SidecarSet: hashes of its containers (SS-6 … SS-9), revision data and the name of a revision (SS-14, SS-15).

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::ids::RevisionName;
use crate::revision::{Unreadable, canonical, gojson, hash};

/// Letters and digits that cannot form a word.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// SidecarSet names are cut to this length in a revision name (SS-15).
const NAME_BYTES_MAX: usize = 223;

/// The type of each recorded field, by its name in the spec.
const RECORDED: [(&str, &str); 5] = [
    ("containers", "SidecarContainer"),
    ("imagePullSecrets", "LocalObjectReference"),
    ("initContainers", "SidecarContainer"),
    ("patchPodMetadata", "PatchPodMetadata"),
    ("volumes", "Volume"),
];

/// Revision data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data {
    text: String,
}

/// Both hashes that admission writes on a SidecarSet, and injection on pods.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hashes {
    pub whole: String,
    pub without_image: String,
}

impl Data {
    /// Of the spec of a SidecarSet, or of what another revision recorded: only the recorded fields are looked at.
    pub fn of(spec: &Value) -> Result<Self, Unreadable> {
        let mut out = Map::new();
        out.insert("$patch".to_owned(), json!("replace"));
        for (field, of) in RECORDED {
            let list = canonical_list(spec, field, of)?;
            // Like an absent list, an empty one is left out of the typed spec and recorded as null.
            let recorded = list.filter(|list| !list.is_empty()).map_or(Value::Null, Value::Array);
            out.insert(field.to_owned(), recorded);
        }
        Ok(Self { text: gojson::sorted(&json!({ "spec": out })) })
    }

    /// The exact bytes to store.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// SS-15.
    pub fn name(&self, set: &str, collisions: i32) -> RevisionName {
        let mut end = set.len().min(NAME_BYTES_MAX);
        while !set.is_char_boundary(end) {
            end -= 1;
        }
        let cut = set.get(..end).unwrap_or(set);
        RevisionName::new(format!("{cut}-{}", hash::of_data(&self.text, collisions)))
    }
}

impl Hashes {
    /// SS-6, SS-9: of a spec with its defaults.
    pub fn of(spec: &Value) -> Result<Self, Unreadable> {
        let hashed = Hashed::of(spec)?;
        let bare = hashed.without_images();
        Ok(Self { whole: hashed.hash(), without_image: bare.hash() })
    }
}

/// The hashed part of a spec, as its Go types write it.
struct Hashed {
    containers: Option<Vec<Value>>,
    /// Only with a native sidecar among them.
    init: Option<Vec<Value>>,
}

impl Hashed {
    fn of(spec: &Value) -> Result<Self, Unreadable> {
        let init = canonical_list(spec, "initContainers", "SidecarContainer")?;
        let is_native = |one: &Value| {
            one.get("restartPolicy").and_then(Value::as_str) == Some(kruise_api::kubernetes::RESTART_ALWAYS)
        };
        let counts = init.as_ref().is_some_and(|all| all.iter().any(is_native));
        Ok(Self {
            containers: canonical_list(spec, "containers", "SidecarContainer")?,
            init: init.filter(|_| counts),
        })
    }

    fn without_images(&self) -> Self {
        let bare = |list: &Option<Vec<Value>>| {
            list.as_ref().map(|all| {
                let mut all = all.clone();
                for one in all.iter_mut().filter_map(Value::as_object_mut) {
                    one.shift_remove("image");
                }
                all
            })
        };
        Self { containers: bare(&self.containers), init: bare(&self.init) }
    }

    /// SS-6, SS-8.
    fn hash(&self) -> String {
        let mut object = Map::new();
        object.insert("containers".to_owned(), json!(self.containers));
        if let Some(init) = &self.init {
            object.insert("initContainers".to_owned(), json!(init));
        }
        let digest = Sha256::digest(gojson::in_order(&Value::Object(object)).as_bytes());
        let mut hex = String::new();
        for byte in digest {
            // Writing to a String cannot fail.
            let _infallible = write!(hex, "{byte:02x}");
        }
        let safe = |digit: u8| ALPHABET.get(usize::from(digit) % ALPHABET.len()).copied().unwrap_or(b'b');
        hex.bytes().map(|digit| char::from(safe(digit))).collect()
    }
}

/// Absent for a list that is not there.
fn canonical_list(spec: &Value, field: &str, of: &str) -> Result<Option<Vec<Value>>, Unreadable> {
    let Some(list) = spec.get(field).filter(|list| !list.is_null()) else { return Ok(None) };
    let problem = || Unreadable { path: field.to_owned(), problem: "must be a list".to_owned() };
    let items = list.as_array().ok_or_else(problem)?.iter().enumerate();
    let canonical_item = |(i, one): (usize, &Value)| {
        canonical(of, one)
            .map_err(|error| Unreadable { path: format!("{field}[{i}].{}", error.path), ..error })
    };
    items.map(canonical_item).collect::<Result<Vec<_>, _>>().map(Some)
}
