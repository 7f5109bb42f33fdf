//! How `--feature-gates` is read: an entry that cannot be used is named and left out, and the others count.

use super::{Gate, Gates, Stage, Switch};

const ALL_ALPHA: &str = "AllAlpha";
const ALL_BETA: &str = "AllBeta";

/// Names that are less alike than this are not worth a guess; 1 is equal.
const ALIKE_MIN: f64 = 0.6;

/// What `--feature-gates` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    pub gates: Gates,
    /// Entries that have no effect.
    pub faults: Vec<GateFault>,
}

/// What is wrong with an entry.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum GateFault {
    #[error("unrecognized feature gate: {name}{}", guess(*.closest))]
    Unknown { name: String, closest: Option<&'static str> },
    #[error("feature gate {name}: {value} is neither true nor false")]
    NotBool { name: &'static str, value: String },
    #[error("feature gate {text}: write it as Name=true or Name=false")]
    NoValue { text: String },
}

/// One name in `--feature-gates`.
#[derive(Debug, Clone, Copy)]
enum Target {
    Stage(Stage),
    Gate(Gate),
}

/// All names that `--feature-gates` knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    Gate::ALL.iter().map(|gate| gate.about().name).chain([ALL_ALPHA, ALL_BETA])
}

impl Gates {
    /// Reads `A=true,B=false`; `AllAlpha` and `AllBeta` count before single gates, wherever they stand.
    pub fn read(text: &str) -> Said {
        let (mut gates, mut single, mut faults) = (Self::default(), Vec::new(), Vec::new());
        for one in text.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            match entry(one) {
                Ok((Target::Stage(stage), state)) => gates.set_stage(stage, state),
                Ok((Target::Gate(gate), state)) => single.push((gate, state)),
                Err(fault) => faults.push(fault),
            }
        }
        for (gate, state) in single {
            gates.set(gate, state);
        }
        gates.derive();
        Said { gates, faults }
    }
}

fn entry(text: &str) -> Result<(Target, Switch), GateFault> {
    let (name, value) = text.split_once('=').ok_or_else(|| GateFault::NoValue { text: text.to_owned() })?;
    let (name, target) = target(name.trim())?;
    match value.trim().to_ascii_lowercase().as_str() {
        "true" | "t" | "1" => Ok((target, Switch::On)),
        "false" | "f" | "0" => Ok((target, Switch::Off)),
        _ => Err(GateFault::NotBool { name, value: value.trim().to_owned() }),
    }
}

fn target(name: &str) -> Result<(&'static str, Target), GateFault> {
    let gates = Gate::ALL.iter().map(|gate| (gate.about().name, Target::Gate(*gate)));
    let stages = [(ALL_ALPHA, Target::Stage(Stage::Alpha)), (ALL_BETA, Target::Stage(Stage::Beta))];
    let found = gates.chain(stages).find(|(known, _)| *known == name);
    found.ok_or_else(|| GateFault::Unknown { name: name.to_owned(), closest: closest(name) })
}

/// The known name that was probably meant. Names differ in case more often than in letters.
fn closest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let alike = |known: &str| strsim::normalized_damerau_levenshtein(&name, &known.to_ascii_lowercase());
    let scored = names().map(|known| (alike(known), known)).filter(|(score, _)| *score >= ALIKE_MIN);
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

fn guess(closest: Option<&str>) -> String {
    closest.map_or_else(String::new, |known| format!(" (did you mean {known}?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Gates {
        let said = Gates::read(text);
        assert_eq!(said.faults, [], "{text}");
        said.gates
    }

    #[test]
    fn defaults_are_the_originals() {
        let on: Vec<&str> = read("").0.into_iter().map(|gate| gate.about().name).collect();

        let expected = [
            "PodWebhook",
            "KruiseDaemon",
            "DaemonWatchingPod",
            "WorkloadSpread",
            "PodUnavailableBudgetDeleteGate",
            "InPlaceUpdateEnvFromMetadata",
            "StatefulSetAutoDeletePVC",
            "PodProbeMarkerGate",
            "PodIndexLabel",
        ];
        assert_eq!((on, Gate::ALL.len()), (expected.to_vec(), 36));
        assert_eq!(read(""), Gates::default(), "defaults need nothing that is off");
    }

    /// Platform acceptance 10.
    #[test]
    fn g1_g2_g3_g4_dependent_gates_follow_whatever_was_said() {
        let everything = "AllAlpha=true,AllBeta=true";
        for (said, needed, dependents) in [
            ("PodWebhook=false", Gate::PodWebhook, 7),     // G1
            ("KruiseDaemon=false", Gate::KruiseDaemon, 8), // G2
            ("ResourcesDeletionProtection=false", Gate::ResourcesDeletionProtection, 1), // G4
        ] {
            let gates = read(&format!("{everything},{said}"));
            let depends = |gate: &&Gate| gate.about().needs.contains(&needed);
            let off: Vec<&Gate> = Gate::ALL.iter().filter(depends).filter(|gate| !gates.on(**gate)).collect();
            assert_eq!(off.len(), dependents, "{said}: {off:?}");
        }
        assert!(!read("PodWebhook=false,WorkloadSpread=true").on(Gate::WorkloadSpread));
        let without_daemon = read("KruiseDaemon=false,PreDownloadImageForInPlaceUpdate=true");
        assert!(!without_daemon.on(Gate::ImagePullJob));
        for said in ["PreDownloadImageForDaemonSetUpdate=true", "PreDownloadImageForInPlaceUpdate=true"] {
            assert!(read(&format!("ImagePullJobGate=false,{said}")).on(Gate::ImagePullJob), "G3: {said}");
        }
    }

    #[test]
    fn g6_all_alpha_leaves_certificates_alone_and_single_gates_win() {
        let gates = read("CloneSetShortHash=false,AllAlpha=true");

        assert!(gates.on(Gate::CloneSetPartitionRollback) && !gates.on(Gate::EnableExternalCerts));
        assert!(!gates.on(Gate::CloneSetShortHash));
        assert!(read("AllAlpha=true,EnableExternalCerts=true").on(Gate::EnableExternalCerts));
    }

    /// install/F14, platform acceptance 9: what is wrong is named, and what is right still counts.
    #[test]
    fn install_f14_bad_entries_are_named_and_the_others_count() {
        let text = "EnhancedLivenessProbeGate=true,UnusedFeature=false,PodWebhook=maybe,KruiseDaemon,CloneSetShortHash=T";

        let said = Gates::read(text);

        assert_eq!(said.gates, Gates::default().with(Gate::CloneSetShortHash));
        let faults: Vec<String> = said.faults.iter().map(ToString::to_string).collect();
        let expected = [
            "unrecognized feature gate: EnhancedLivenessProbeGate (did you mean EnhancedLivenessProbe?)",
            "unrecognized feature gate: UnusedFeature",
            "feature gate PodWebhook: maybe is neither true nor false",
            "feature gate KruiseDaemon: write it as Name=true or Name=false",
        ];
        assert_eq!(faults, expected);
    }

    #[test]
    fn name_that_was_probably_meant_is_found() {
        for (name, meant) in [
            ("ForceDeleteTimeoutExpectationFeatureGate", Some("ForceDeleteTimeoutExpectationGate")),
            ("podwebhook", Some("PodWebhook")),
            ("AllAlfa", Some("AllAlpha")),
            ("ImagePullJob", Some("ImagePullJobGate")),
            ("", None),
            ("Nonsense", None),
        ] {
            assert_eq!(closest(name), meant, "{name}");
        }
    }
}
