//! When and how pods are updated.

use crate::wire_enum::wire_enum;

wire_enum! {
    /// When pods are updated.
    closed or empty enum UpdateType {
        /// Step by step.
        RollingUpdate = "RollingUpdate",
        /// When somebody deletes them.
        OnDelete = "OnDelete",
    }
}

wire_enum! {
    /// How one pod is updated.
    closed or empty enum PodUpdatePolicy {
        /// Delete it and create a new one.
        ReCreate = "ReCreate",
        /// Change it where it runs if the change allows that, else recreate it.
        InPlaceIfPossible = "InPlaceIfPossible",
        /// Change it where it runs; other changes are refused.
        InPlaceOnly = "InPlaceOnly",
    }
}
