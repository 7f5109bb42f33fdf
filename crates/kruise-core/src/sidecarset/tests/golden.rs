//! What was recorded from OpenKruise: the same bytes come out.

use serde_json::{Value, json};

use super::{World, patched};
use crate::admission::Request;
use crate::admission::fixtures::Surroundings;
use crate::gates::{Gate, Gates};
use crate::golden;
use crate::revision::{canonical, gojson};
use crate::sidecarset::data::{Data, Hashes};
use crate::sidecarset::{SidecarSet, admission};

/// SS-12.
#[test]
fn ss_12_hashes_of_the_published_vectors() {
    let one = json!({"containers": [{"name": "container1", "image": "test-image"}]});
    assert_eq!(
        Hashes::of(&one).unwrap().whole,
        "w26c4x8fz245642fdv499b464248f974xddx4x55z5dw55bc6x66464fxz77dc78"
    );
    let native = json!({
        "containers": [{"name": "container1", "image": "test-image"}],
        "initContainers": [{"name": "container1", "image": "test-image", "restartPolicy": "Always"}],
    });
    assert_eq!(
        Hashes::of(&native).unwrap().whole,
        "4xwx4d4844vd4v9x79wb4xbxf4xb29475cc4446v8cz2c2f2f5c5bw448vd42z8w"
    );
    assert_eq!(
        Hashes::of(&one).unwrap().without_image,
        "8wzddb4dvv9c6x8zdc77z4z75987424f457dfv6724ddw6zbdx467wz5x24fc759"
    );
}

/// SS-6: plain init containers are not hashed, and with one native all of them are.
#[test]
fn ss_6_init_containers_are_hashed_only_with_a_native_one() {
    let with = |init: Value| {
        Hashes::of(&json!({"containers": [{"name": "a", "image": "i"}], "initContainers": init}))
            .unwrap()
            .whole
    };
    let plain = json!([{"name": "x", "image": "1"}]);
    assert_eq!(with(plain.clone()), with(json!([{"name": "x", "image": "2"}])));
    let native = |image: &str| json!([{"name": "x", "image": image}, {"name": "n", "image": "i", "restartPolicy": "Always"}]);
    assert_ne!(with(native("1")), with(native("2")));
    assert_ne!(with(json!(null)), with(native("1")));
}

/// SS-9: the same hash, of the same containers without any image, native ones included.
#[test]
fn ss_9_hash_without_image_is_the_hash_without_any_image() {
    let spec = |image: &str, command: &str| {
        json!({
            "containers": [{"name": "a", "image": image, "command": [command]}],
            "initContainers": [{"name": "n", "image": image, "restartPolicy": "Always"}],
        })
    };
    let mut bare = spec("i", "run");
    for list in ["containers", "initContainers"] {
        bare[list][0].as_object_mut().unwrap().remove("image");
    }
    let of = |one: &Value| Hashes::of(one).unwrap();

    assert_eq!(of(&spec("i", "run")).without_image, of(&bare).whole);
    assert_eq!(of(&spec("i", "run")).without_image, of(&spec("j", "run")).without_image);
    assert_ne!(of(&spec("i", "run")).whole, of(&spec("j", "run")).whole);
    assert_ne!(of(&spec("i", "run")).without_image, of(&spec("i", "stop")).without_image);
}

/// SS-10, SS-11: every field of a container in the order of the Go types.
const IN_ORDER: &str = concat!(
    r#"{"name":"a","image":"i","command":["c"],"args":["d"],"workingDir":"/w","#,
    r#""ports":[{"name":"p","hostPort":1,"containerPort":2,"protocol":"TCP","hostIP":"::1"}],"#,
    r#""envFrom":[{"prefix":"P","configMapRef":{"name":"m","optional":true},"secretRef":{"name":"s","optional":true}}],"#,
    r#""env":[{"name":"E","value":"v","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"},"#,
    r#""resourceFieldRef":{"containerName":"a","resource":"limits.cpu","divisor":"1"},"#,
    r#""configMapKeyRef":{"name":"m","key":"k","optional":true},"secretKeyRef":{"name":"s","key":"k","optional":true}}}],"#,
    r#""resources":{"limits":{"cpu":"1"},"requests":{"cpu":"1"},"claims":[{"name":"c","request":"r"}]},"#,
    r#""resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}],"restartPolicy":"Always","#,
    r#""volumeMounts":[{"name":"v","readOnly":true,"recursiveReadOnly":"Enabled","mountPath":"/v","subPath":"s","mountPropagation":"None","subPathExpr":"e"}],"#,
    r#""volumeDevices":[{"name":"v","devicePath":"/d"}],"#,
    r#""livenessProbe":{"exec":{"command":["c"]},"httpGet":{"path":"/","port":1,"host":"h","scheme":"HTTP","httpHeaders":[{"name":"n","value":"v"}]},"#,
    r#""tcpSocket":{"port":1,"host":"h"},"grpc":{"port":1,"service":"s"},"initialDelaySeconds":1,"timeoutSeconds":1,"periodSeconds":1,"successThreshold":1,"failureThreshold":1,"terminationGracePeriodSeconds":1},"#,
    r#""readinessProbe":{"tcpSocket":{"port":1}},"startupProbe":{"tcpSocket":{"port":1}},"#,
    r#""lifecycle":{"postStart":{"exec":{"command":["c"]},"httpGet":{"port":1},"tcpSocket":{"port":1},"sleep":{"seconds":1}},"preStop":{"exec":{"command":["c"]}}},"#,
    r#""terminationMessagePath":"/t","terminationMessagePolicy":"File","imagePullPolicy":"Always","#,
    r#""securityContext":{"capabilities":{"add":["A"],"drop":["D"]},"privileged":true,"seLinuxOptions":{"user":"u","role":"r","type":"t","level":"l"},"#,
    r#""windowsOptions":{"gmsaCredentialSpecName":"n","gmsaCredentialSpec":"s","runAsUserName":"u","hostProcess":true},"#,
    r#""runAsUser":1,"runAsGroup":1,"runAsNonRoot":true,"readOnlyRootFilesystem":true,"allowPrivilegeEscalation":true,"procMount":"Default","#,
    r#""seccompProfile":{"type":"Localhost","localhostProfile":"p"},"appArmorProfile":{"type":"Localhost","localhostProfile":"p"}},"#,
    r#""stdin":true,"stdinOnce":true,"tty":true,"podInjectPolicy":"AfterAppContainer","#,
    r#""upgradeStrategy":{"upgradeType":"HotUpgrade","hotUpgradeEmptyImage":"e"},"shareVolumePolicy":{"type":"enabled"},"shareVolumeDevicePolicy":{"type":"enabled"},"#,
    r#""transferEnv":[{"sourceContainerName":"m","sourceContainerNameFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"f"}},"envName":"E","envNames":["F"]}],"#,
    r#""resourcesPolicy":{"targetContainersMode":"sum","targetContainersNameRegex":".*","#,
    r#""resourcesExpr":{"limits":{"cpu":"1","memory":"2"},"requests":{"cpu":"1","memory":"2"}}}}"#,
);

fn backwards(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            Value::Object(map.into_iter().rev().map(|(key, one)| (key, backwards(one))).collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(backwards).collect()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other,
    }
}

/// SS-10, SS-11: whatever order a user writes, the hashed bytes have one.
#[test]
fn ss_10_ss_11_fields_are_hashed_in_the_order_of_their_types() {
    let written = backwards(serde_json::from_str(IN_ORDER).unwrap());
    assert_ne!(written.to_string(), IN_ORDER);

    assert_eq!(gojson::in_order(&canonical("SidecarContainer", &written).unwrap()), IN_ORDER);
    let ordered: Value = serde_json::from_str(IN_ORDER).unwrap();
    let hash = |container: &Value| Hashes::of(&json!({"containers": [container]})).unwrap();
    assert_eq!(hash(&written), hash(&ordered));
}

/// SS-7: spelling and fields of newer releases do not change a hash.
#[test]
fn ss_7_quantities_are_canonical_and_unknown_fields_do_not_count() {
    let hash = |more: Value| {
        let mut container = json!({"name": "a", "image": "i"});
        super::merge(&mut container, more);
        Hashes::of(&json!({"containers": [container]})).unwrap().whole
    };
    assert_eq!(
        hash(json!({"resources": {"limits": {"cpu": "1000m"}}})),
        hash(json!({"resources": {"limits": {"cpu": "1"}}, "newerField": {"a": 1}}))
    );
    assert_ne!(hash(json!({"command": ["<a&b>"]})), hash(json!({"command": ["<a>"]})));
}

fn around() -> Surroundings {
    let list = r#"{"rules":[{"allowedAnnotationKeyExprs":[".*"]}]}"#;
    let mut around = Surroundings {
        gates: Gates::default().with(Gate::SidecarSetPatchPodMetadataDefaultsAllowed),
        ..Surroundings::default()
    };
    around.live.configuration =
        Ok([("SidecarSet_PatchPodMetadata_WhiteList".to_owned(), list.to_owned())].into());
    around
}

/// Section 6, SS-13, SS-14, SS-15: stored objects, hashes and the name of the first revision.
#[test]
fn ss_15_stored_objects_and_revisions_are_as_recorded() {
    let mut seen = 0;
    for (file, recorded) in golden::folder("sidecarset") {
        let input = &recorded["input"];
        let version = input["apiVersion"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        if recorded.get("refused").is_some() {
            continue;
        }
        seen += 1;
        let answer = admission::mutate(&Request::create(input.clone()));
        let object = patched(input.clone(), &answer.patch);
        let wanted = &recorded[format!("stored_{version}")];
        assert_eq!(object["spec"], wanted["spec"], "{file}");
        assert_eq!(object["metadata"]["annotations"], wanted["metadata"]["annotations"], "{file}");
        let verdict = admission::admit(&Request::create(object.clone()), &around().known());
        assert_eq!(verdict.denial, None, "{file}");
        // SS-36 of 8.2: applied again, nothing changes.
        let again = admission::mutate(&Request::update(object.clone(), object.clone()));
        assert!(again.patch.is_empty(), "{file}: {:?}", again.patch);
        let name = object["metadata"]["name"].as_str().unwrap();
        let data = Data::of(&recorded["stored_v1beta1"]["spec"]).unwrap();
        assert_eq!(
            data.name(name, 0).as_str(),
            recorded["status"]["latestRevision"].as_str().unwrap(),
            "{file}"
        );
    }
    assert_eq!(seen, 4);
}

/// What the original refuses is refused here, with a code that says whose fault it is.
#[test]
fn sidecarset_b16_recorded_refusals_are_refused_with_422() {
    for (file, recorded) in golden::folder("sidecarset") {
        let input = &recorded["input"];
        if recorded.get("refused").is_none() {
            continue;
        }
        let rival = super::set("sc-conf-a", json!({"selector": {"matchLabels": {"side": "sc-conf-a"}}}));
        let around = around().with::<SidecarSet>(&rival);
        let answer = admission::admit(&Request::create(input.clone()), &around.known());
        assert_eq!(answer.code(), 422, "{file}: {answer:?}");
    }
}

/// SS-31 … SS-41: injected pods are as recorded, apart from what the API server adds itself.
#[test]
fn ss_31_injected_pods_are_as_recorded() {
    let mut seen = 0;
    let stamp = regex::Regex::new(r#"updateTimestamp\\":\\"[^\\]*\\""#).unwrap();
    for (file, recorded) in golden::folder("sidecarset") {
        let Some(wanted) = recorded.get("pod") else { continue };
        seen += 1;
        let mut set = recorded["stored_v1beta1"].clone();
        set["status"] = recorded["status"].clone();
        let pod = World::of(&[&set]).create(recorded["pod_input"].clone());
        let bare = |annotations: &Value| {
            let text = annotations.to_string();
            stamp.replace_all(&text, "").into_owned()
        };
        let empty = json!({});
        let annotations = |one: &Value| one["metadata"].get("annotations").unwrap_or(&empty).clone();
        let mut left: Vec<_> = annotations(&pod).as_object().unwrap().clone().into_iter().collect();
        let mut right: Vec<_> = annotations(wanted).as_object().unwrap().clone().into_iter().collect();
        left.sort_by(|a, b| a.0.cmp(&b.0));
        right.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(bare(&json!(left)), bare(&json!(right)), "{file}");
        for list in ["containers", "initContainers"] {
            let of = |one: &Value| one["spec"][list].as_array().cloned().unwrap_or_default();
            let clean = |mut one: Value| {
                let fields = one.as_object_mut().unwrap();
                if let Some(mounts) = fields.get_mut("volumeMounts").and_then(Value::as_array_mut) {
                    mounts.retain(|mount| !mount["name"].as_str().unwrap().starts_with("kube-api-access"));
                }
                fields.retain(|_, value| *value != json!([]));
                // The pod's own containers get these from the API server.
                if one["name"] == "main" {
                    let fields_again = one.as_object_mut().unwrap();
                    for field in
                        ["imagePullPolicy", "resources", "terminationMessagePath", "terminationMessagePolicy"]
                    {
                        fields_again.remove(field);
                    }
                }
                one
            };
            let ours: Vec<Value> = of(&pod).into_iter().map(clean).collect();
            let theirs: Vec<Value> = of(wanted).into_iter().map(clean).collect();
            assert_eq!(json!(ours), json!(theirs), "{file} {list}");
        }
        let secrets = |one: &Value| one["spec"]["imagePullSecrets"].clone();
        assert_eq!(secrets(&pod), secrets(wanted), "{file}");
    }
    assert_eq!(seen, 4);
}
