//! The place of a module in its crate.

/// The path of a module in its crate; empty for the root.
pub(super) type ModulePath = Vec<String>;

/// A module as it is named in a source.
pub(super) fn shown(module: &[String]) -> String {
    if module.is_empty() { "lib".to_owned() } else { module.join("::") }
}
