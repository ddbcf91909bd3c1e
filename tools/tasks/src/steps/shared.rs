//! Plans of the steps that every workspace has in the same form.

use super::invocation::Invocation;

/// Follows every link of the documents.
///
/// # Errors
///
/// None: a plan returns the reason why its step cannot run, and this step can.
pub fn links<S>(_: &S) -> Result<Vec<Invocation>, String> {
    Ok(vec![Invocation::counted_task("xtask links")])
}

/// Checks comments and documents against the rules of `docs/writing.md`.
///
/// # Errors
///
/// None, as for [`links`].
pub fn words<S>(_: &S) -> Result<Vec<Invocation>, String> {
    Ok(vec![Invocation::counted_task("xtask words")])
}

/// Checks imports against the layering.
///
/// # Errors
///
/// None, as for [`links`].
pub fn imports<S>(_: &S) -> Result<Vec<Invocation>, String> {
    Ok(vec![Invocation::counted_task("xtask imports")])
}
