//! Selects the backend and the number type of a computation. No other file refers to all backends.

use std::fmt;

use clap::{Args, ValueEnum};
use pool_facade::PoolBackend;

use super::arithmetic::{Algebra, Failure};
use super::number::{Number, Precision};
#[cfg(feature = "wgpu")]
use super::wgpu;
use super::{cuda, host};

/// A computation that is written once for all backends and number types.
pub trait Computation {
    /// The result on the host, which does not depend on the types of the backend or the number.
    type Answer;

    /// Computes with a backend's algebra, in pools that are created from this context.
    ///
    /// # Errors
    ///
    /// Fails if memory runs out, or if the backend rejects an operation.
    fn run<B: PoolBackend, T: Number, A: Algebra<B, T>>(
        &self,
        algebra: &A,
        context: B::Context,
    ) -> Result<Self::Answer, Failure>;
}

/// A backend on which a computation can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// On the host.
    Host,
    /// On the first CUDA device.
    Device,
    /// On the simulated CUDA driver.
    Simulator,
    /// On the adapter that wgpu finds.
    #[cfg(feature = "wgpu")]
    Wgpu,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Device => "device",
            Self::Simulator => "simulator",
            #[cfg(feature = "wgpu")]
            Self::Wgpu => "wgpu",
        })
    }
}

/// Runs a computation on a target.
///
/// # Errors
///
/// Fails if the target is not available, or if [`Computation::run`] fails.
pub fn run<C: Computation>(
    computation: &C,
    target: Target,
    precision: Precision,
) -> Result<C::Answer, Failure> {
    match target {
        Target::Host => host::run(computation, precision),
        Target::Device => cuda::run(computation, precision, false),
        Target::Simulator => cuda::run(computation, precision, true),
        #[cfg(feature = "wgpu")]
        Target::Wgpu => wgpu::run(computation, precision),
    }
}

/// The arguments of a program that can compute on any target.
#[derive(Args, Clone, Copy, Debug)]
pub struct TargetArguments {
    /// The target of the computation. By default, the program runs on every available target, and
    /// uses the simulated driver if there is no device.
    #[arg(long, value_enum)]
    on: Option<Target>,
    /// The precision. By default, the program runs with both.
    #[arg(long, value_enum)]
    precision: Option<Precision>,
}

impl TargetArguments {
    /// Returns the requested targets, each with its precisions. If no target was requested, targets
    /// that do not support a precision are skipped, and the reason is printed.
    #[must_use]
    pub fn asked_for(self) -> Vec<(Target, Precision)> {
        let targets = self.on.map_or_else(all_targets, |target| vec![target]);
        let both = vec![Precision::F64, Precision::F32];
        let numbers = self.precision.map_or(both, |precision| vec![precision]);
        let with_numbers = |target| numbers.iter().map(move |precision| (target, *precision));
        let is_wanted = |&(target, precision): &(Target, Precision)| {
            let offered = if self.on.is_some() { Ok(()) } else { offers(target, precision) };
            offered.map_err(|why| println!("SKIPPED: {target}, {precision}: {why}")).is_ok()
        };
        targets.into_iter().flat_map(with_numbers).filter(is_wanted).collect()
    }
}

/// Returns one target for each backend.
pub(super) fn all_targets() -> Vec<Target> {
    vec![
        Target::Host,
        cuda::target(),
        #[cfg(feature = "wgpu")]
        Target::Wgpu,
    ]
}

/// Checks that a target is available, and that it supports this precision.
pub(super) fn offers(target: Target, precision: Precision) -> Result<(), Failure> {
    match (target, precision) {
        #[cfg(feature = "wgpu")]
        (Target::Wgpu, _) => wgpu::open(precision).map(drop),
        _ => Ok(()),
    }
}
