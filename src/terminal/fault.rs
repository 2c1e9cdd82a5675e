//! Faults to order, so that a test can see the terminal come back: `HARN_FAULT` names the place. Builds for users have none.

/// Whether the fault of this name was ordered.
pub fn is_ordered(name: &str) -> bool {
    cfg!(debug_assertions) && std::env::var_os("HARN_FAULT").is_some_and(|fault| fault == name)
}

/// Panics if the fault of this name was ordered.
pub fn strike(name: &str) {
    assert!(!is_ordered(name), "a fault was ordered");
}
