//! Defaults and rules (section 6 of the specification). All but images and deadline are those of ImagePullJob.

use std::collections::BTreeSet;

use serde_json::Value;

use super::object::ImageListPullJob;
use crate::admission::versions::{self, Case, Rules, Version};
use crate::admission::{Answer, FaultKind, Faults, Known, Request};
use crate::gates::{Gate, Gates};
use crate::imagepulljob::admission::{gate_is_off, image_fault, template, template_defaults};
use crate::revision::Unreadable;

const IMAGES_MAX: usize = 255;

pub fn mutate(request: Request, known: &Known<'_>) -> Answer {
    match gate_is_off(&request, Gate::ImagePullJob, known) {
        Some(denied) => denied,
        None => versions::mutate::<ImageListPullJob>(request, known),
    }
}

pub fn validate(request: Request, known: &Known<'_>) -> Answer {
    match gate_is_off(&request, Gate::ImagePullJob, known) {
        Some(denied) => denied,
        None => versions::validate::<ImageListPullJob>(request, known),
    }
}

impl Rules for ImageListPullJob {
    type Facts = ();

    fn facts(_: &Request, _: &Known<'_>) {}

    fn default(_: Version, spec: &mut Value, _: Option<&Value>, _: &Gates) -> Result<(), Unreadable> {
        if let Some(fields) = spec.as_object_mut() {
            template_defaults(fields);
        }
        Ok(())
    }

    fn validate(case: &Case<'_, ()>) -> Faults {
        let mut faults = Faults::default();
        let images = case.spec.get("images").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if images.is_empty() {
            faults.add(FaultKind::Required, "spec.images", "image can not be empty: name at least one image");
        }
        if IMAGES_MAX < images.len() {
            let message = format!("the maximum number of images cannot > {IMAGES_MAX}: make several lists");
            faults.invalid("spec.images", message);
        }
        let mut seen = BTreeSet::new();
        for (at, image) in images.iter().enumerate() {
            let image = image.as_str().unwrap_or_default();
            if !seen.insert(image) {
                let message = format!("images cannot have duplicate values: {image} is listed twice");
                faults.add(FaultKind::Duplicate, format!("spec.images[{at}]"), message);
            }
            image_fault(image, &format!("spec.images[{at}]"), &mut faults);
        }
        template(case.spec, &mut faults);
        faults
    }

    fn warn(_: &Case<'_, ()>) -> Vec<String> {
        Vec::new()
    }
}
