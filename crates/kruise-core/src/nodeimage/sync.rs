//! How a job puts its tag into the list of a node (PJ-10). Others write to the same list at the same time: jobs, the planner of NodeImages and the
//! agent. Each operation tests the entry that it depends on and nothing else, so that no write is lost and most do not disturb each
//! other (12, 13).

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::object::{Image, NodeImage, SecretRef, Tag};
use crate::chain::{Op, Part, Patch, Write};
use crate::image::Reference;
use crate::time;

/// What a job wants a node to pull.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    pub image: &'a Reference,
    /// Uid of the job.
    pub job: &'a str,
    /// The job as owner references name it.
    pub owner: Value,
    pub secrets: &'a [SecretRef],
    pub sandbox: Option<&'a Arc<Value>>,
    pub image_pull_policy: Option<&'a str>,
    pub pull_policy: Value,
    pub now: Timestamp,
}

/// How far a node is with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The job does not own the tag.
    NotAsked,
    Active,
    Succeeded,
    Failed,
}

/// PJ-8. A secret that is missing on the image is another matter: see [`lacks_secret`].
pub fn progress(object: &NodeImage, image: &Reference, job: &str) -> Progress {
    use super::object::Phase;
    let Some(tag) = object.tag(&image.name, &image.tag).filter(|tag| tag.has_owner(job)) else {
        return Progress::NotAsked;
    };
    match object.said(&image.name, tag).map(|said| said.phase) {
        Some(Phase::Succeeded) => Progress::Succeeded,
        Some(Phase::Failed) => Progress::Failed,
        Some(Phase::Waiting | Phase::Pulling) | None => Progress::Active,
    }
}

pub fn lacks_secret(object: &NodeImage, image: &Reference, secrets: &[SecretRef]) -> bool {
    let entry = object.image(&image.name);
    secrets.iter().any(|secret| !entry.is_some_and(|entry| entry.has_secret(secret)))
}

/// The write that asks the node; also the one that only adds secrets where the node has been asked.
pub fn write(object: &NodeImage, wanted: &Wanted<'_>) -> Write {
    let mut ops = vec![Op::test("/metadata/uid", object.identity().0.as_str())];
    let path = Op::path("/spec/images", &wanted.image.name);
    match object.image(&wanted.image.name) {
        None => {
            let image = new_image(object, wanted);
            if object.has_images() {
                ops.extend([absent(&path), Op::add(path, image)]);
            } else {
                ops.extend([
                    absent("/spec/images"),
                    Op::add("/spec/images", json!({&wanted.image.name: image})),
                ]);
            }
        }
        Some(image) => {
            let position = image.tags.iter().position(|tag| *tag.tag == *wanted.image.tag);
            let there = position.and_then(|at| Some((at, image.tags.get(at)?)));
            match there {
                Some((_, tag)) if tag.has_owner(wanted.job) => {}
                Some((at, tag)) => {
                    ops.extend(sandbox(image, wanted, &path));
                    ops.extend(join(object, (at, tag), wanted, &path));
                }
                None => {
                    ops.extend(sandbox(image, wanted, &path));
                    ops.extend(insert(object, image, wanted, &path));
                }
            }
            ops.extend(secrets(image, wanted, &path));
        }
    }
    Write::patch(object.object(), Part::Object, Patch::Json(ops))
}

/// Holds if nothing is there: servers compare with null then.
fn absent(path: &str) -> Op {
    Op::test(path, Value::Null)
}

fn new_image(object: &NodeImage, wanted: &Wanted<'_>) -> Value {
    let mut image = json!({"tags": [new_tag(object, wanted)]});
    let Some(fields) = image.as_object_mut() else { return image };
    if let Some(sandbox) = wanted.sandbox {
        fields.insert("sandboxConfig".to_owned(), sandbox.as_ref().clone());
    }
    if !wanted.secrets.is_empty() {
        fields.insert("pullSecrets".to_owned(), wanted.secrets.iter().map(SecretRef::wire).collect());
    }
    image
}

/// A version that the agent has not dealt with yet.
fn new_tag(object: &NodeImage, wanted: &Wanted<'_>) -> Value {
    let last = object.last_said(&wanted.image.name, &wanted.image.tag).map(|said| said.version);
    let mut tag = json!({
        "tag": wanted.image.tag, "createdAt": time::seconds(wanted.now), "pullPolicy": wanted.pull_policy,
        "ownerReferences": [wanted.owner],
    });
    let Some(fields) = tag.as_object_mut() else { return tag };
    if let Some(last) = last {
        fields.insert("version".to_owned(), last.saturating_add(1).into());
    }
    if let Some(policy) = wanted.image_pull_policy {
        fields.insert("imagePullPolicy".to_owned(), policy.into());
    }
    tag
}

/// At its place in the order of tags, which the neighbours tell. Where somebody else has put the same tag in the meantime, they are others
/// or the server refuses the second one.
fn insert(object: &NodeImage, image: &Image, wanted: &Wanted<'_>, path: &str) -> Vec<Op> {
    let at = image.tags.iter().take_while(|tag| *tag.tag < *wanted.image.tag).count();
    let neighbour =
        |place: usize| Some(Op::test(&format!("{path}/tags/{place}/tag"), &*image.tags.get(place)?.tag));
    let mut ops: Vec<Op> = at.checked_sub(1).and_then(neighbour).into_iter().chain(neighbour(at)).collect();
    ops.push(Op::add(format!("{path}/tags/{at}"), new_tag(object, wanted)));
    ops
}

/// The tag is there for others: it is pulled again, and this job is one of its owners.
fn join(object: &NodeImage, (at, tag): (usize, &Tag), wanted: &Wanted<'_>, path: &str) -> Vec<Op> {
    let path = format!("{path}/tags/{at}");
    let mut ops = vec![
        Op::test(&format!("{path}/tag"), &*tag.tag),
        Op::test(&format!("{path}/version"), tag.version.map_or(Value::Null, Value::from)),
    ];
    if tag.owner_references.is_empty() {
        // Absent or an empty list: only the version of the whole tells that it is still so.
        ops.push(Op::test("/metadata/resourceVersion", object.identity().1.as_str()));
        ops.push(Op::add(format!("{path}/ownerReferences"), json!([wanted.owner])));
    } else {
        ops.push(Op::add(format!("{path}/ownerReferences/-"), wanted.owner.clone()));
    }
    ops.push(Op::add(format!("{path}/version"), tag.number().saturating_add(1)));
    ops.push(Op::add(format!("{path}/createdAt"), time::seconds(wanted.now)));
    if let Some(policy) = wanted.image_pull_policy {
        ops.push(Op::add(format!("{path}/imagePullPolicy"), policy));
    }
    ops
}

/// The last writer wins, also one without any.
fn sandbox(image: &Image, wanted: &Wanted<'_>, path: &str) -> Vec<Op> {
    let path = format!("{path}/sandboxConfig");
    match (image.sandbox_config.as_ref(), wanted.sandbox) {
        (old, new) if old == new => Vec::new(),
        (_, Some(new)) => vec![Op::add(path, new.as_ref().clone())],
        (Some(old), None) => vec![Op::test(&path, old.as_ref().clone()), Op::Remove { path }],
        (None, None) => Vec::new(),
    }
}

fn secrets(image: &Image, wanted: &Wanted<'_>, path: &str) -> Vec<Op> {
    let missing: Vec<Value> =
        wanted.secrets.iter().filter(|one| !image.has_secret(one)).map(SecretRef::wire).collect();
    let path = format!("{path}/pullSecrets");
    match &image.pull_secrets {
        _ if missing.is_empty() => Vec::new(),
        Some(_) => missing.into_iter().map(|one| Op::add(format!("{path}/-"), one)).collect(),
        None => vec![absent(&path), Op::add(path, missing)],
    }
}
