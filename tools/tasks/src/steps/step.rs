//! A step: its name, the property that it checks, and the plan of its commands.

use super::invocation::Invocation;
use crate::workspace::Workspace;

/// A step. `S` contains what is known about a run: toolchains, directories, counts.
#[derive(Debug)]
pub struct Step<S> {
    /// The name that `--only` accepts.
    pub name: &'static str,
    /// The property that the step checks.
    pub about: &'static str,
    /// `true` if the step runs only with `--full`, or if it is selected by name.
    pub only_in_full: bool,
    /// `true` if the step runs at the same time as the others, and needs nothing that they build.
    pub side_by_side: bool,
    /// Plans the step's commands, or returns the reason why it cannot run.
    pub plan: Plan<S>,
}

/// Plans the commands of a step, or returns the reason why the step cannot run.
pub type Plan<S> = fn(&S) -> Result<Vec<Invocation>, String>;

impl<S> Clone for Step<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Step<S> {}

impl<S> Step<S> {
    /// Creates a step that shares the build directory with others, and runs in their order.
    pub const fn in_turn(name: &'static str, about: &'static str, plan: Plan<S>) -> Self {
        Self { name, about, only_in_full: false, side_by_side: false, plan }
    }

    /// Creates a step that runs at the same time as the others.
    pub const fn beside(name: &'static str, about: &'static str, plan: Plan<S>) -> Self {
        Self { side_by_side: true, ..Self::in_turn(name, about, plan) }
    }

    /// Returns the same step, which then only runs with `--full`.
    #[must_use]
    pub const fn in_full(self) -> Self {
        Self { only_in_full: true, ..self }
    }
}

/// The properties of a run. The steps of a workspace use it for their plans.
pub trait Setting: Sync {
    /// The workspace. Commands run at its root, and their logs are stored in `xtask` in its target
    /// directory.
    fn workspace(&self) -> &Workspace;
}
