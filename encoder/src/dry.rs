//! A dry run: a forward pass with the sizes of all-MiniLM-L6-v2 that computes nothing. It measures the bytes of the
//! temporaries.

use pool_facade::{DynamicPool, Handle, Pool, PoolBackend, PoolConfig, PoolStats, PoolView, Scope};

use crate::algebra::{Algebra, Failure, NormOf, Product};
use crate::encode::{HeadsAtOnce, encode};
use crate::model::{Configuration, Model, ModelOf};
use crate::sentences::{Batch, BatchOf};

/// The sizes of all-MiniLM-L6-v2.
pub const MINILM: Configuration = Configuration {
    words: 30_522,
    positions: 512,
    kinds: 2,
    hidden: 384,
    heads: 12,
    inner: 1_536,
    layers: 6,
    epsilon: 1e-12,
};

/// A model and sentences of zeros, in the memory of a backend.
#[derive(Debug)]
pub struct Inputs<B: PoolBackend> {
    constants: DynamicPool<B>,
    /// The numbers of the largest tensor. Each other tensor is a part of this array.
    numbers: Handle<f32>,
    words: Handle<u32>,
    count: usize,
    tokens: usize,
}

/// Views of the inputs, and of the array for the results.
#[expect(missing_debug_implementations, reason = "views of a backend may have none")]
pub struct Views<'v, 't, B: PoolBackend> {
    model: ModelOf<'v, B>,
    batch: BatchOf<'v, B>,
    to: B::View<'t, f32>,
}

impl<B: PoolBackend> Inputs<B> {
    /// Creates inputs for `count` sentences of `tokens` tokens.
    ///
    /// # Errors
    ///
    /// Fails if the backend cannot allocate them.
    pub fn new(context: B::Context, count: usize, tokens: usize) -> Result<Self, Failure> {
        let mut constants = DynamicPool::<B>::with_config(context, PoolConfig::new())?;
        let numbers = constants.try_acquire_zeroed::<f32>(MINILM.words * MINILM.hidden)?;
        let words = constants.try_acquire_zeroed::<u32>(count * tokens)?;
        Ok(Self { constants, numbers, words, count, tokens })
    }

    /// Runs `body` with views of the inputs.
    ///
    /// # Errors
    ///
    /// Fails if `body` fails, or if the backend cannot allocate the results.
    pub fn with<R>(
        &mut self,
        body: impl FnOnce(&mut Views<'_, '_, B>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let Self { constants, numbers, words, count, tokens } = self;
        let (arrays, scope) = constants.split();
        let (numbers, words) = (arrays.get(*numbers)?, arrays.get(*words)?);
        let part = |length| numbers.into_part(..length);
        let model = Model::of(MINILM).try_map(|tensor| part(tensor.length))?;
        let lengths = words.into_part(..*count)?;
        let (count, tokens) = (*count, *tokens);
        let batch = Batch { count, tokens, words, positions: words, kinds: words, lengths };
        let to = scope.try_acquire::<f32, _>(count * MINILM.hidden)?;
        body(&mut Views { model, batch, to })
    }
}

/// Runs `times` forward passes in a pool. They compute nothing.
///
/// # Errors
///
/// Fails if the pool cannot supply a temporary.
pub fn forwards<B: PoolBackend>(
    pool: &mut Pool<B>,
    at_once: HeadsAtOnce,
    Views { model, batch, to }: &mut Views<'_, '_, B>,
    times: usize,
) -> Result<(), Failure> {
    (0..times).try_for_each(|_| encode(&Nothing, at_once, pool.scope(), model, batch, to))
}

/// Runs `times` forward passes in a new pool, for `count` sentences of `tokens` tokens. Returns the statistics of the
/// pool. The contexts are those of the pool and of the inputs.
///
/// # Errors
///
/// Fails if a pool cannot allocate.
pub fn stats_after<B: PoolBackend>(
    [temporaries, inputs]: [B::Context; 2],
    config: PoolConfig,
    at_once: HeadsAtOnce,
    (count, tokens): (usize, usize),
    times: usize,
) -> Result<PoolStats, Failure> {
    let mut pool = Pool::<B>::with_config(temporaries, config)?;
    let mut inputs = Inputs::<B>::new(inputs, count, tokens)?;
    inputs.with(|views| forwards(&mut pool, at_once, views, times))?;
    Ok(pool.stats())
}

/// Operations that do nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl<B: PoolBackend> Algebra<B> for Nothing {
    fn add_rows(
        &self,
        _: &Scope<'_, B>,
        _: usize,
        _: B::ViewRef<'_, f32>,
        _: B::ViewRef<'_, u32>,
        _: &mut B::View<'_, f32>,
    ) -> Result<(), Failure> {
        Ok(())
    }

    fn multiply(
        &self,
        _: &Scope<'_, B>,
        _: &Product,
        _: (B::ViewRef<'_, f32>, B::ViewRef<'_, f32>),
        _: Option<B::ViewRef<'_, f32>>,
        _: &mut B::View<'_, f32>,
    ) -> Result<(), Failure> {
        Ok(())
    }

    fn gelu(&self, _: &Scope<'_, B>, _: &mut B::View<'_, f32>) -> Result<(), Failure> {
        Ok(())
    }

    fn softmax(
        &self,
        _: &Scope<'_, B>,
        _: usize,
        _: B::ViewRef<'_, u32>,
        _: usize,
        _: &mut B::View<'_, f32>,
    ) -> Result<(), Failure> {
        Ok(())
    }

    fn add_and_normalize(
        &self,
        _: &Scope<'_, B>,
        _: B::ViewRef<'_, f32>,
        _: NormOf<'_, B>,
        _: &mut B::View<'_, f32>,
    ) -> Result<(), Failure> {
        Ok(())
    }

    fn unit_means(
        &self,
        _: &Scope<'_, B>,
        _: usize,
        _: B::ViewRef<'_, f32>,
        _: B::ViewRef<'_, u32>,
        _: &mut B::View<'_, f32>,
    ) -> Result<(), Failure> {
        Ok(())
    }
}
