//! A step: its name, its property and the plan of its commands.

use super::invocation::Invocation;
use crate::workspace::Workspace;

/// One step. `S` holds the facts that a run knows: toolchains, directories, counts.
#[derive(Debug)]
pub struct Step<S> {
    /// The name that `--only` takes.
    pub name: &'static str,
    /// The property that the step checks.
    pub about: &'static str,
    /// True if it runs only with `--full`, or by name.
    pub only_in_full: bool,
    /// True if it runs beside all others, and needs nothing that they build.
    pub side_by_side: bool,
    /// Its commands, or why there are none here.
    pub plan: Plan<S>,
}

/// Plans the commands of a step, or returns why there are none here.
pub type Plan<S> = fn(&S) -> Result<Vec<Invocation>, String>;

impl<S> Clone for Step<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Step<S> {}

impl<S> Step<S> {
    /// A step that shares the build directory with the others, and runs in their order.
    pub const fn in_turn(name: &'static str, about: &'static str, plan: Plan<S>) -> Self {
        Self { name, about, only_in_full: false, side_by_side: false, plan }
    }

    /// A step that runs beside the others.
    pub const fn beside(name: &'static str, about: &'static str, plan: Plan<S>) -> Self {
        Self { side_by_side: true, ..Self::in_turn(name, about, plan) }
    }

    /// The same, only with `--full`.
    #[must_use]
    pub const fn in_full(self) -> Self {
        Self { only_in_full: true, ..self }
    }
}

/// The facts of a run that the steps of a workspace plan with.
pub trait Setting: Sync {
    /// The workspace: commands run at its root, and their logs are in `xtask` under its target directory.
    fn workspace(&self) -> &Workspace;
}
