//! Conversion between versions: pure, total, lossless both ways.
//!
//! Each kind with two versions has two translations, `up` (v1alpha1 to the hub v1beta1) and `down`, beside its
//! v1alpha1 types. They work on JSON, so that unknown fields and odd values pass. Around them [`convert`] keeps what a
//! version cannot express in an annotation ([`V1BETA1_FIELDS`] on the v1alpha1 form, [`V1ALPHA1_FIELDS`] on the
//! v1beta1 form; see `keep`), so that there and back is the identity.

pub(crate) mod json;
mod keep;

use serde_json::{Value, json};

use crate::{
    annotations::{V1ALPHA1_FIELDS, V1BETA1_FIELDS},
    apps::{
        advancedcronjob::v1alpha1 as advancedcronjob, cloneset::v1alpha1 as cloneset,
        containerrecreaterequest::v1alpha1 as containerrecreaterequest, daemonset::v1alpha1 as daemonset,
        nodeimage::v1alpha1 as nodeimage, persistentpodstate::v1alpha1 as persistentpodstate,
        resourcedistribution::v1alpha1 as resourcedistribution, sidecarset::v1alpha1 as sidecarset,
        statefulset::v1alpha1 as statefulset, uniteddeployment::v1alpha1 as uniteddeployment,
        workloadspread::v1alpha1 as workloadspread,
    },
    kind::Kind,
    names::{APPS_GROUP, POLICY_GROUP},
    policy::podunavailablebudget::v1alpha1 as podunavailablebudget,
    read::{ReadError, read_value},
};
use json::{Object, child, set_annotation, take_annotation};

/// Why an object was not converted. It is never changed in part.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// Not an object of ours.
    #[error("{api_version} {kind} is no kind of this project")]
    UnknownKind {
        /// What it claims to be.
        api_version: String,
        /// What it claims to be.
        kind: String,
    },
    /// The kind is not served in that version.
    #[error("{kind} is not served as {version}")]
    UnknownVersion {
        /// The kind.
        kind: String,
        /// The wanted version.
        version: String,
    },
    /// Not a JSON object.
    #[error("only a JSON object can be converted")]
    NotAnObject,
    /// The converted object does not fit the Rust type (typed conversion only).
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Converts an object to another version of its kind. Wants the wanted version, `v1beta1` or `apps.kruise.io/v1beta1`.
pub fn convert(object: Value, to_version: &str) -> Result<Value, ConvertError> {
    let Value::Object(mut object) = object else {
        return Err(ConvertError::NotAnObject);
    };
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let unknown_kind = || ConvertError::UnknownKind { api_version: api_version.clone(), kind: kind.clone() };
    let (group, from) = api_version.split_once('/').ok_or_else(unknown_kind)?;
    let translation = Translation::of(group, &kind).ok_or_else(unknown_kind)?;
    let to =
        to_version.strip_prefix(group).and_then(|version| version.strip_prefix('/')).unwrap_or(to_version);
    match (from, to) {
        _ if from == to && translation.serves(to) => return Ok(Value::Object(object)),
        ("v1alpha1", "v1beta1") if translation.hub => translation.up(&mut object),
        ("v1beta1", "v1alpha1") if translation.hub => translation.down(&mut object),
        _ => {
            return Err(ConvertError::UnknownVersion { kind, version: to.to_owned() });
        }
    }
    object.insert("apiVersion".to_owned(), json!(format!("{group}/{to}")));
    Ok(Value::Object(object))
}

/// Converts a typed object to the type of another version.
pub fn convert_to<T: Kind>(object: &impl Kind) -> Result<T, ConvertError> {
    let value = serde_json::to_value(object).map_err(|error| ReadError::whole(&error))?;
    Ok(read_value(convert(value, T::RESOURCE.version())?)?)
}

/// The two translations of a kind.
#[derive(Clone, Copy)]
struct Translation {
    up: fn(&mut Object),
    down: fn(&mut Object),
    /// Whether there is a v1beta1 at all.
    hub: bool,
    /// Places under `spec` that both versions have alike and no translation looks at: they are most of an object, and need
    /// not be compared and copied.
    alike: &'static [&'static str],
}

/// What workloads have under `spec` in all versions.
const TEMPLATES: [&str; 2] = ["template", "volumeClaimTemplates"];

impl Translation {
    fn of(group: &str, kind: &str) -> Option<Self> {
        let translate = |up, down| Some(Self { up, down, hub: true, alike: &[] });
        let translate_workload = |up, down| Some(Self { up, down, hub: true, alike: &TEMPLATES });
        match (group, kind) {
            (APPS_GROUP, "CloneSet") => translate_workload(cloneset::up, cloneset::down),
            (APPS_GROUP, "StatefulSet") => translate_workload(statefulset::up, statefulset::down),
            (APPS_GROUP, "DaemonSet") => translate_workload(daemonset::up, daemonset::down),
            (APPS_GROUP, "SidecarSet") => translate(sidecarset::up, sidecarset::down),
            (APPS_GROUP, "AdvancedCronJob") => translate(advancedcronjob::up, advancedcronjob::down),
            (APPS_GROUP, "ContainerRecreateRequest") => {
                translate(containerrecreaterequest::up, containerrecreaterequest::down)
            }
            (APPS_GROUP, "NodeImage") => translate(nodeimage::up, nodeimage::down),
            (APPS_GROUP, "PersistentPodState") => translate(persistentpodstate::up, persistentpodstate::down),
            (APPS_GROUP, "ResourceDistribution") => {
                translate(resourcedistribution::up, resourcedistribution::down)
            }
            (APPS_GROUP, "UnitedDeployment") => translate(uniteddeployment::up, uniteddeployment::down),
            (APPS_GROUP, "WorkloadSpread") => translate(workloadspread::up, workloadspread::down),
            (POLICY_GROUP, "PodUnavailableBudget") => {
                translate(podunavailablebudget::up, podunavailablebudget::down)
            }
            (APPS_GROUP, "BroadcastJob" | "ImagePullJob" | "ImageListPullJob") => translate(same, same),
            (APPS_GROUP, "EphemeralJob" | "PodProbeMarker" | "NodePodProbe") => {
                Some(Self { up: same, down: same, hub: false, alike: &[] })
            }
            _ => None,
        }
    }

    fn serves(self, version: &str) -> bool {
        version == "v1alpha1" || (self.hub && version == "v1beta1")
    }

    fn up(self, object: &mut Object) {
        let direction =
            Direction { there: self.up, back: self.down, restore: V1BETA1_FIELDS, keep: V1ALPHA1_FIELDS };
        without(self.alike, object, |rest| carry(rest, &direction));
    }

    fn down(self, object: &mut Object) {
        let direction =
            Direction { there: self.down, back: self.up, restore: V1ALPHA1_FIELDS, keep: V1BETA1_FIELDS };
        without(self.alike, object, |rest| carry(rest, &direction));
    }
}

/// One direction of a translation and the annotations that go with it.
struct Direction {
    there: fn(&mut Object),
    back: fn(&mut Object),
    /// Holds what an earlier conversion kept for us.
    restore: &'static str,
    /// Will hold what cannot be expressed.
    keep: &'static str,
}

/// Both versions have one shape.
fn same(_: &mut Object) {}

/// Works on the object while these places under `spec` are laid aside; a null stands there meanwhile.
fn without(places: &[&str], object: &mut Object, work: impl FnOnce(&mut Object)) {
    let mut aside = Vec::new();
    if let Some(spec) = child(object, "spec") {
        aside.extend(places.iter().filter_map(|place| Some((*place, spec.get_mut(*place)?.take()))));
    }
    work(object);
    for (place, value) in aside {
        if let Some(found) = child(object, "spec").and_then(|spec| spec.get_mut(place)) {
            *found = value;
        }
    }
}

fn carry(object: &mut Object, direction: &Direction) {
    let kept = take_annotation(object, direction.restore);
    let original = object.clone();
    (direction.there)(object);
    // A text that is no list of changes is not ours: it is dropped, and nothing else is lost by that.
    let kept = kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    keep::apply(object, kept);
    let mut returned = object.clone();
    (direction.back)(&mut returned);
    let lost = keep::changes(&returned, &original);
    if !lost.is_empty()
        && let Ok(text) = serde_json::to_string(&lost)
    {
        set_annotation(object, direction.keep, &text);
    }
}
