//! Names that share a primitive but must not be mixed up. Strings are shared, because thousands of pods carry the same ones.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the text as it stands on the wire.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The same text, not copied.
            pub fn shared(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

text_id! {
    /// Name of a pod; the namespace is that of its workload.
    PodName
}
text_id! {
    /// Name of a PersistentVolumeClaim.
    ClaimName
}
text_id! {
    /// Server-chosen identity of one object.
    Uid
}
text_id! {
    /// Opaque; compared only for equality.
    ResourceVersion
}
text_id! {
    /// Suffix of a CloneSet pod and of its claims, `x7k2p`.
    InstanceId
}
text_id! {
    /// Name of a ControllerRevision, `web-5d6f7`.
    RevisionName
}
text_id! {
    /// Last segment of a revision name, `5d6f7`. Pods are matched by it (SM-8).
    RevisionHash
}

impl RevisionName {
    /// The part after the last `-`; a name without one is its own hash.
    pub fn hash(&self) -> RevisionHash {
        RevisionHash::last_segment(self.as_str())
    }
}

impl RevisionHash {
    /// Reads either form of the label `controller-revision-hash`: the full revision name or the bare hash (SM-8).
    pub fn last_segment(text: &str) -> Self {
        Self::new(text.rsplit('-').next().unwrap_or(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sm_8_both_forms_of_the_revision_label_mean_the_same_hash() {
        assert_eq!(RevisionHash::last_segment("web-a-5d6f7"), RevisionHash::last_segment("5d6f7"));
        assert_eq!(RevisionName::new("web-a-5d6f7").hash().as_str(), "5d6f7");
        assert_ne!(RevisionHash::last_segment("web-a-5d6f7"), RevisionHash::last_segment("web-5d6f8"));
    }
}
