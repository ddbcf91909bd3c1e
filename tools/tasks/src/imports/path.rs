//! The place of a module in its crate.

/// Where a module is in its crate: no name at all for the root.
pub(super) type ModulePath = Vec<String>;

/// A module as it is named in a source.
pub(super) fn shown(module: &[String]) -> String {
    if module.is_empty() { "lib".to_owned() } else { module.join("::") }
}
