//! Plans of steps that are the same in every workspace.

use super::invocation::Invocation;

/// Plans the check of all links in documents.
///
/// # Errors
///
/// Never fails. A plan returns an error if its step cannot run, but this step always can.
pub fn links<S>(_: &S) -> Result<Vec<Invocation>, String> {
    Ok(vec![Invocation::counted_task("xtask links")])
}

/// Plans the check of comments and documents against the rules of `docs/writing.md`.
///
/// # Errors
///
/// Never fails, like [`links`].
pub fn words<S>(_: &S) -> Result<Vec<Invocation>, String> {
    Ok(vec![Invocation::counted_task("xtask words")])
}

/// Plans the check of imports against the layering.
///
/// # Errors
///
/// Never fails, like [`links`].
pub fn imports<S>(_: &S) -> Result<Vec<Invocation>, String> {
    Ok(vec![Invocation::counted_task("xtask imports")])
}
