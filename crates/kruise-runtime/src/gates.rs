//! Feature gates of the process: the table of the specification, `--feature-gates`, and what follows from what.

use std::collections::BTreeMap;

/// How sure a gate's feature is of staying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Alpha,
    Beta,
}

/// One gate of the table.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub name: &'static str,
    pub stage: Stage,
    pub default: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    On,
    Off,
}

const fn known(name: &'static str, stage: Stage, default: State) -> Known {
    Known { name, stage, default }
}

/// All gates with the original's names, stages and defaults.
const KNOWN: [Known; 36] = [
    known("PodWebhook", Stage::Beta, State::On),
    known("KruiseDaemon", Stage::Beta, State::On),
    known("DaemonWatchingPod", Stage::Beta, State::On),
    known("CloneSetShortHash", Stage::Alpha, State::Off),
    known("KruisePodReadinessGate", Stage::Alpha, State::Off),
    known("PreDownloadImageForInPlaceUpdate", Stage::Alpha, State::Off),
    known("CloneSetPartitionRollback", Stage::Alpha, State::Off),
    known("ResourcesDeletionProtection", Stage::Beta, State::Off),
    known("WorkloadSpread", Stage::Beta, State::On),
    known("PodUnavailableBudgetDeleteGate", Stage::Beta, State::On),
    known("PodUnavailableBudgetUpdateGate", Stage::Alpha, State::Off),
    known("TemplateNoDefaults", Stage::Alpha, State::Off),
    known("InPlaceUpdateEnvFromMetadata", Stage::Beta, State::On),
    known("StatefulSetAutoDeletePVC", Stage::Beta, State::On),
    known("SidecarSetPatchPodMetadataDefaultsAllowed", Stage::Alpha, State::Off),
    known("SidecarTerminator", Stage::Alpha, State::Off),
    known("PodProbeMarkerGate", Stage::Beta, State::On),
    known("PreDownloadImageForDaemonSetUpdate", Stage::Alpha, State::Off),
    known("CloneSetEventHandlerOptimization", Stage::Alpha, State::Off),
    known("PreparingUpdateAsUpdate", Stage::Alpha, State::Off),
    known("ImagePullJobGate", Stage::Alpha, State::Off),
    known("ResourceDistributionGate", Stage::Beta, State::Off),
    known("DeletionProtectionForCRDCascadingGate", Stage::Alpha, State::Off),
    known("EnhancedLivenessProbe", Stage::Alpha, State::Off),
    known("RecreatePodWhenChangeVCTInCloneSetGate", Stage::Alpha, State::Off),
    known("StatefulSetStartOrdinal", Stage::Alpha, State::Off),
    known("PodIndexLabel", Stage::Beta, State::On),
    known("EnableExternalCerts", Stage::Alpha, State::Off),
    known("StatefulSetAutoResizePVCGate", Stage::Alpha, State::Off),
    known("ForceDeleteTimeoutExpectationGate", Stage::Alpha, State::Off),
    known("InPlaceWorkloadVerticalScaling", Stage::Alpha, State::Off),
    known("EnablePodProbeMarkerOnServerless", Stage::Alpha, State::Off),
    known("EnableSortSidecarContainerByName", Stage::Alpha, State::Off),
    known("InPlacePodVerticalScaling", Stage::Alpha, State::Off),
    known("DefaultHostNetworkHostPortsInPodTemplates", Stage::Alpha, State::Off),
    known("DaemonSetPruneIneligibleNodes", Stage::Alpha, State::Off),
];

/// If the first is off, all the others are (G1, G2, G4).
const NEEDS: [(&str, &[&str]); 3] = [
    (
        "PodWebhook",
        &[
            "KruisePodReadinessGate",
            "PodUnavailableBudgetDeleteGate",
            "PodUnavailableBudgetUpdateGate",
            "WorkloadSpread",
            "SidecarSetPatchPodMetadataDefaultsAllowed",
            "EnhancedLivenessProbe",
            "EnablePodProbeMarkerOnServerless",
        ],
    ),
    (
        "KruiseDaemon",
        &[
            "PreDownloadImageForInPlaceUpdate",
            "DaemonWatchingPod",
            "InPlaceUpdateEnvFromMetadata",
            "PreDownloadImageForDaemonSetUpdate",
            "PodProbeMarkerGate",
            "SidecarTerminator",
            "ImagePullJobGate",
            "EnhancedLivenessProbe",
        ],
    ),
    ("ResourcesDeletionProtection", &["DeletionProtectionForCRDCascadingGate"]),
];

/// All gates, in the order of the specification.
pub fn table() -> impl Iterator<Item = &'static Known> {
    KNOWN.iter()
}

/// Gates that are off whenever another one is: that one, and those.
pub fn dependents() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    NEEDS.into_iter()
}

/// The gates of this process, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureGates(BTreeMap<&'static str, State>);

/// What is wrong with `--feature-gates`.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum GateError {
    #[error("unrecognized feature gate: {name}; known are {}, AllAlpha, AllBeta", names())]
    Unknown { name: String },
    #[error("feature gate {name}: {value} is neither true nor false")]
    NotBool { name: String, value: String },
    #[error("feature gate {text}: write it as Name=true or Name=false")]
    NoValue { text: String },
}

impl FeatureGates {
    /// Reads `A=true,B=false`; `AllAlpha` and `AllBeta` count before single gates, wherever they stand.
    pub fn read(text: &str) -> Result<Self, GateError> {
        let mut gates = Self::default();
        let mut single = Vec::new();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (name, value) =
                entry.split_once('=').ok_or_else(|| GateError::NoValue { text: entry.into() })?;
            let value = match value.trim().to_ascii_lowercase().as_str() {
                "true" | "t" | "1" => State::On,
                "false" | "f" | "0" => State::Off,
                _ => return Err(GateError::NotBool { name: name.into(), value: value.into() }),
            };
            match name.trim() {
                "AllAlpha" => gates.set_stage(Stage::Alpha, value),
                "AllBeta" => gates.set_stage(Stage::Beta, value),
                name => single.push((name.to_owned(), value)),
            }
        }
        for (name, value) in single {
            let found = gates.0.iter_mut().find(|(known, _)| **known == name);
            let Some((_, gate)) = found else { return Err(GateError::Unknown { name }) };
            *gate = value;
        }
        gates.derive();
        Ok(gates)
    }

    /// Unknown names are off; the table above is the list of names.
    pub fn on(&self, name: &str) -> bool {
        self.0.get(name) == Some(&State::On)
    }

    fn set_stage(&mut self, stage: Stage, value: State) {
        for gate in KNOWN.iter().filter(|gate| gate.stage == stage) {
            // G6: who wants every experiment does not want to bring certificates.
            if gate.name != "EnableExternalCerts" {
                self.0.insert(gate.name, value);
            }
        }
    }

    fn derive(&mut self) {
        for (needed, dependents) in NEEDS {
            if !self.on(needed) {
                for dependent in dependents {
                    self.0.insert(dependent, State::Off);
                }
            }
        }
        // G3
        if self.on("PreDownloadImageForInPlaceUpdate") || self.on("PreDownloadImageForDaemonSetUpdate") {
            self.0.insert("ImagePullJobGate", State::On);
        }
    }
}

impl Default for FeatureGates {
    fn default() -> Self {
        Self(KNOWN.iter().map(|gate| (gate.name, gate.default)).collect())
    }
}

fn names() -> String {
    KNOWN.map(|gate| gate.name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> FeatureGates {
        FeatureGates::read(text).unwrap()
    }

    #[test]
    fn defaults_are_the_originals() {
        let gates = read("");

        assert!(gates.on("PodWebhook") && gates.on("InPlaceUpdateEnvFromMetadata"));
        assert!(!gates.on("ResourcesDeletionProtection") && !gates.on("CloneSetShortHash"));
    }

    #[test]
    fn dependent_gates_follow_whatever_was_said() {
        let gates = read("PodWebhook=false,WorkloadSpread=true"); // G1
        assert!(!gates.on("WorkloadSpread"));
        let without_daemon = read("KruiseDaemon=false,PreDownloadImageForInPlaceUpdate=true"); // G2
        assert!(
            !without_daemon.on("PreDownloadImageForInPlaceUpdate") && !without_daemon.on("ImagePullJobGate")
        );
        assert!(read("PreDownloadImageForDaemonSetUpdate=true").on("ImagePullJobGate")); // G3
        assert!(
            !read("DeletionProtectionForCRDCascadingGate=true").on("DeletionProtectionForCRDCascadingGate")
        ); // G4
    }

    #[test]
    fn all_alpha_leaves_certificates_alone_and_single_gates_win() {
        let gates = read("CloneSetShortHash=false,AllAlpha=true"); // G6

        assert!(gates.on("CloneSetPartitionRollback") && !gates.on("EnableExternalCerts"));
        assert!(!gates.on("CloneSetShortHash"));
    }

    /// install/F14, platform acceptance 9: refused, not ignored, with everything that is known.
    #[test]
    fn install_f14_bad_input_is_named_with_what_is_allowed() {
        let error = FeatureGates::read("EnhancedLivenessProbeGate=true").unwrap_err().to_string();
        assert!(
            error.starts_with("unrecognized feature gate: EnhancedLivenessProbeGate; known are PodWebhook,"),
            "{error}"
        );
        assert!(FeatureGates::read("PodWebhook=maybe").unwrap_err().to_string().contains("maybe is neither"));
        assert!(FeatureGates::read("PodWebhook").unwrap_err().to_string().contains("Name=true"));
    }
}
