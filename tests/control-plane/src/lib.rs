//! Nothing: the tests are in `main.rs`. Cargo wants a target that is not a test.
