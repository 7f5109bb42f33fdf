//! Properties over random objects of every kind and version.

use std::sync::LazyLock;

use kruise_api::{convert, crd::all_crds};
use proptest::prelude::*;
use serde_json::Value;

use crate::{
    generator::{self, Choices},
    support,
};

/// One version of one kind.
struct Served {
    api_version: String,
    /// The other version, if there is one.
    other: Option<String>,
    kind: String,
    schema: Value,
}

static VERSIONS: LazyLock<Vec<Served>> = LazyLock::new(|| {
    let mut found = Vec::new();
    for crd in all_crds() {
        let spec = &crd["spec"];
        let versions = spec["versions"].as_array().unwrap();
        let name = |version: &Value| {
            format!("{}/{}", spec["group"].as_str().unwrap(), version["name"].as_str().unwrap())
        };
        for version in versions {
            found.push(Served {
                api_version: name(version),
                other: versions.iter().find(|other| *other != version).map(name),
                kind: spec["names"]["kind"].as_str().unwrap().to_owned(),
                schema: version["schema"]["openAPIV3Schema"].clone(),
            });
        }
    }
    found
});

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..600)
}

/// The same bytes make one object of every kind and version.
fn each_version(
    bytes: &[u8],
    mut check: impl FnMut(&Served, Value) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    for version in VERSIONS.iter() {
        let object = generator::object(
            &version.schema,
            &version.api_version,
            &version.kind,
            &mut Choices::from(bytes),
        );
        check(version, object)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Old → new → old and new → old → new. Also where the original loses a field (StatefulSet B17, SidecarSet B19,
    /// DaemonSet B17, AdvancedCronJob B19, PUB-B1, UD-B1), and with fields that nobody knows.
    #[test]
    fn there_and_back_is_the_identity(bytes in bytes()) {
        each_version(&bytes, |version, object| {
            let Some(other) = &version.other else { return Ok(()) };
            let there = convert(object.clone(), other).unwrap();
            let back = convert(there.clone(), &version.api_version).unwrap();
            prop_assert_eq!(back, object, "by way of {}", there);
            Ok(())
        })?;
    }

    #[test]
    fn reading_and_writing_loses_nothing(bytes in bytes()) {
        each_version(&bytes, |_, object| {
            let again = support::read_and_write(&object);
            prop_assert_eq!(again.as_ref(), Ok(&object));
            Ok(())
        })?;
    }

    #[test]
    fn what_was_converted_can_be_read(bytes in bytes()) {
        each_version(&bytes, |version, object| {
            let Some(other) = &version.other else { return Ok(()) };
            let there = convert(object, other).unwrap();
            let again = support::read_and_write(&there);
            prop_assert_eq!(again.as_ref(), Ok(&there));
            Ok(())
        })?;
    }
}

/// install/F33: what an autoscaler can scale, and nothing else.
#[test]
fn install_f33_only_workloads_with_a_number_of_pods_can_be_scaled() {
    let scalable: Vec<String> = all_crds()
        .iter()
        .filter(|crd| {
            let versions = crd["spec"]["versions"].as_array().unwrap();
            versions.iter().all(|version| version["subresources"]["scale"].is_object())
        })
        .map(|crd| crd["spec"]["names"]["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(scalable, ["CloneSet", "StatefulSet", "UnitedDeployment"]);
}
