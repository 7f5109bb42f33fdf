//! Tests of the whole crate: against recorded facts, and over random objects of every kind.

#[cfg(test)]
mod cel_cases;
#[cfg(test)]
mod constants;
#[cfg(test)]
mod conversions;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod generator;
#[cfg(test)]
mod golden_crds;
#[cfg(test)]
mod golden_objects;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod support;
