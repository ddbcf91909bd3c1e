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

/// A place at which a computation can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Place {
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

impl fmt::Display for Place {
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

/// Runs a computation at a place.
///
/// # Errors
///
/// Fails if the place is not available, or if [`Computation::run`] fails.
pub fn run<C: Computation>(
    computation: &C,
    place: Place,
    precision: Precision,
) -> Result<C::Answer, Failure> {
    match place {
        Place::Host => host::run(computation, precision),
        Place::Device => cuda::run(computation, precision, false),
        Place::Simulator => cuda::run(computation, precision, true),
        #[cfg(feature = "wgpu")]
        Place::Wgpu => wgpu::run(computation, precision),
    }
}

/// The arguments of a program that can compute at any place.
#[derive(Args, Clone, Copy, Debug)]
pub struct Places {
    /// The place of the computation. By default, the program runs at every available place, and
    /// uses the simulated driver if there is no device.
    #[arg(long, value_enum)]
    on: Option<Place>,
    /// The precision. By default, the program runs with both.
    #[arg(long, value_enum)]
    precision: Option<Precision>,
}

impl Places {
    /// Returns the requested places, each with its precisions. If no place was requested, places
    /// that do not support a precision are skipped, and the reason is printed.
    #[must_use]
    pub fn asked_for(self) -> Vec<(Place, Precision)> {
        let places = self.on.map_or_else(all_places, |place| vec![place]);
        let both = vec![Precision::F64, Precision::F32];
        let numbers = self.precision.map_or(both, |precision| vec![precision]);
        let with_numbers = |place| numbers.iter().map(move |precision| (place, *precision));
        let is_wanted = |&(place, precision): &(Place, Precision)| {
            let offered = if self.on.is_some() { Ok(()) } else { offers(place, precision) };
            offered.map_err(|why| println!("SKIPPED: {place}, {precision}: {why}")).is_ok()
        };
        places.into_iter().flat_map(with_numbers).filter(is_wanted).collect()
    }
}

/// Returns one place for each backend.
pub(super) fn all_places() -> Vec<Place> {
    vec![
        Place::Host,
        cuda::place(),
        #[cfg(feature = "wgpu")]
        Place::Wgpu,
    ]
}

/// Checks that a place is available, and that it supports this precision.
pub(super) fn offers(place: Place, precision: Precision) -> Result<(), Failure> {
    match (place, precision) {
        #[cfg(feature = "wgpu")]
        (Place::Wgpu, _) => wgpu::open(precision).map(drop),
        _ => Ok(()),
    }
}
