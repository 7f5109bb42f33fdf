//! Prints all CRDs as one JSON list.

fn main() {
    println!("{}", serde_json::Value::Array(kruise_api::crd::all_crds()));
}
