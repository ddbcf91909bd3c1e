//! The time steps, generic over the backend and the number type. The matrices and the boundary are
//! constants of a pool, and the temperatures are an array of its outermost scope. Everything else
//! is a temporary of the step's scope.

use pool_examples::algebra::{
    Algebra, Computation, Failure, MatrixHandles, Number, rounded, solve, widened,
};
use pool_facade::{
    DynamicPool, Handle, Handles, LendView, PoolBackend, PoolConfig, PoolView, Scope,
};

use crate::problem::Heat;

/// The result of all time steps.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The temperatures at some of the steps, each with the number of preceding steps.
    pub(crate) frames: Vec<(usize, Vec<f64>)>,
    /// The largest number of iterations that a step needed.
    pub(crate) most_iterations: usize,
    /// The largest final residual of a step, relative to the step's right-hand side.
    pub(crate) largest_residual: f64,
    /// The number of blocks allocated up to the end of the first step.
    pub(crate) growths_at_first: u64,
    /// The number of blocks allocated up to the end.
    pub(crate) growths: u64,
}

/// The constants that all steps share.
struct Constants<T> {
    implicit: MatrixHandles<T>,
    explicit: MatrixHandles<T>,
    boundary: Handle<T>,
}

impl<T: Number> Constants<T> {
    fn upload<B: PoolBackend>(pool: &mut DynamicPool<B>, heat: &Heat) -> Result<Self, Failure> {
        Ok(Self {
            implicit: MatrixHandles::upload(pool, &heat.implicit)?,
            explicit: MatrixHandles::upload(pool, &heat.explicit)?,
            boundary: pool.try_acquire_from(&rounded::<T>(&heat.boundary))?,
        })
    }

    /// Runs one time step, and returns the convergence of its system.
    fn step<B: PoolBackend, A: Algebra<B, T>>(
        &self,
        algebra: &A,
        constants: &Handles<'_, B>,
        mut scope: Scope<'_, B>,
        temperatures: &mut B::View<'_, T>,
        history: &mut History,
    ) -> Result<(), Failure> {
        let mut right = scope.try_acquire::<T, _>(temperatures.len())?;
        let mut difference = scope.try_acquire::<T, _>(temperatures.len())?;
        let explicit = self.explicit.views(constants)?;
        algebra.multiply(&scope, &explicit, temperatures.as_view(), &mut right)?;
        algebra.add(&scope, constants.get(self.boundary)?, &mut right)?;
        let implicit = self.implicit.views(constants)?;
        let convergence =
            solve(algebra, scope.scope(), &implicit, right.as_view(), &mut difference)?;
        algebra.add(&scope, difference.as_view(), temperatures)?;
        history.most_iterations = history.most_iterations.max(convergence.iterations);
        history.largest_residual = history.largest_residual.max(convergence.residual);
        Ok(())
    }
}

/// The equation, and the number of evenly spaced frames to keep in addition to the first.
#[derive(Debug)]
pub(crate) struct Stepper<'p> {
    pub(crate) heat: &'p Heat,
    pub(crate) frames: usize,
}

impl Computation for Stepper<'_> {
    type Answer = History;

    fn run<B: PoolBackend, T: Number, A: Algebra<B, T>>(
        &self,
        algebra: &A,
        context: B::Context,
    ) -> Result<History, Failure> {
        let Self { heat, frames } = self;
        let mut pool = DynamicPool::<B>::with_config(context, PoolConfig::new().name("heat"))?;
        let handles = Constants::<T>::upload(&mut pool, heat)?;
        let (constants, mut scope) = pool.split();
        let mut temperatures = scope.try_acquire_from(&rounded::<T>(&heat.start))?;
        let mut history = History::default();
        history.frames.push((0, widened(&temperatures.copy_to_vec()?)));
        for done in 1..=heat.steps {
            handles.step(algebra, &constants, scope.scope(), &mut temperatures, &mut history)?;
            if done == 1 {
                history.growths_at_first = scope.stats().growths;
            }
            let (before, after) = ((done - 1) * frames / heat.steps, done * frames / heat.steps);
            if before != after {
                history.frames.push((done, widened(&temperatures.copy_to_vec()?)));
            }
        }
        history.growths = scope.stats().growths;
        Ok(history)
    }
}
