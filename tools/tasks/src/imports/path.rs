//! The position of a module in its crate.

/// The path of a module in its crate. The root's path is empty.
pub(super) type ModulePath = Vec<String>;

/// Formats a module's path as in source code.
pub(super) fn shown(module: &[String]) -> String {
    if module.is_empty() { "lib".to_owned() } else { module.join("::") }
}
