//! Which jobs there are for the images of a list, which are missing and which have to go (LJ-4, LJ-5).

use std::collections::BTreeMap;
use std::sync::Arc;

use kruise_api::labels;
use kruise_api::reasons::event;
use serde_json::{Value, json};

use super::object::{ImageListPullJob, Spec};
use super::reason;
use super::view::View;
use crate::chain::{Chain, Purpose, Siblings, Write};
use crate::imagepulljob::ImagePullJob;
use crate::lookup::Slim;
use crate::object::ObjectRef;
use crate::plan::{Plan, Room};
use crate::random::Random;

/// The jobs of a list by image, and those that are not wanted.
#[derive(Debug)]
pub struct Sorted<'a> {
    pub current: BTreeMap<&'a str, &'a Arc<ImagePullJob>>,
    pub surplus: Vec<&'a Arc<ImagePullJob>>,
}

/// LJ-4. The oldest of several for one image is the one that counts.
pub fn sort<'a>(view: &'a View, spec: &Spec) -> Sorted<'a> {
    let mut sorted = Sorted { current: BTreeMap::new(), surplus: Vec::new() };
    for child in &view.children {
        let is_current = child.revision.as_ref().is_some_and(|hash| spec.is_current(hash));
        let is_listed = spec.images.contains(&child.image);
        if is_current && is_listed && !sorted.current.contains_key(&*child.image) {
            sorted.current.insert(&child.image, child);
        } else {
            sorted.surplus.push(child);
        }
    }
    sorted
}

/// LJ-5: both in one plan, as far as there is room for new jobs: a large template times 255 images is much. The rest follows in the
/// next plans.
pub fn settle(view: &View, spec: &Spec, sorted: &Sorted<'_>, plan: &mut Plan) {
    let (mut random, mut room) = (Random::from_seed(view.seed), Room::default());
    for image in spec.images.iter().filter(|image| !sorted.current.contains_key(&***image)) {
        if room.is_full() {
            break;
        }
        let name = format!("{}-{}", view.head.name, random.suffix());
        let object = ObjectRef::new(ImagePullJob::RESOURCE, Arc::clone(&view.head.namespace), name.as_str());
        let write = Write::create(object.clone(), &body(view, spec, &object, image));
        let chain = Chain::about(Purpose::Create, object, vec![write]).slowly(Siblings::Alike);
        room.take(&chain);
        let message = format!("created ImagePullJob {name} for {image}");
        plan.act(chain.telling(event::CREATED_CHILD_PULL_JOB, message, event::CHILD_PULL_JOB_FAILED));
    }
    for child in &sorted.surplus {
        let write = Write::delete(child.object(), &child.uid());
        let message = format!("deleted ImagePullJob {}", child.name());
        let chain = Chain::about(Purpose::Delete, child.object(), vec![write]);
        plan.act(chain.telling(event::DELETED_CHILD_PULL_JOB, message, event::CHILD_PULL_JOB_FAILED));
    }
    for child in sorted.current.values() {
        plan.hold(child.object(), if child.is_completed() { reason::finished() } else { reason::running() });
    }
}

fn body(view: &View, spec: &Spec, object: &ObjectRef, image: &str) -> Value {
    let mut child = spec.template.clone();
    if let Some(fields) = child.as_object_mut() {
        fields.insert("image".to_owned(), image.into());
    }
    let list = ImageListPullJob::RESOURCE;
    json!({
        "apiVersion": object.resource.api_version(), "kind": object.resource.kind(),
        "metadata": {
            "generateName": format!("{}-", view.head.name), "name": object.name(), "namespace": object.namespace(),
            "labels": {labels::REVISION: spec.hash},
            "ownerReferences": [{
                "apiVersion": list.api_version(), "kind": list.kind(), "name": view.head.name,
                "uid": view.head.uid.as_str(), "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": child,
    })
}
