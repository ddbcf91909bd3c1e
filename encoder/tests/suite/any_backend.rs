//! The encoder on any backend: the common part of the tests.

use pool_encoder::{
    Algebra, Batch, Configuration, Failure, HeadsAtOnce, Model, Sentences, encode, tiny,
};
use pool_facade::{DynamicPool, LendView, Pool, PoolBackend, PoolView};

/// The results of the sentences, and the memory used.
pub(crate) struct Encoded {
    pub(crate) numbers: Vec<f32>,
    /// Bytes that the pool of the temporaries holds.
    pub(crate) bytes: usize,
}

/// Encodes sentences with the tiny model in the memory of a backend, `times` times with the same
/// pool.
pub(crate) fn encoded<B: PoolBackend, A: Algebra<B>>(
    algebra: &A,
    context: impl Fn() -> B::Context,
    sentences: &Sentences,
    at_once: HeadsAtOnce,
    times: usize,
) -> Result<Encoded, Failure> {
    encoded_by(tiny::CONFIGURATION, algebra, context, sentences, at_once, times)
}

/// Does the same with a tiny model of other sizes.
pub(crate) fn encoded_by<B: PoolBackend, A: Algebra<B>>(
    sizes: Configuration,
    algebra: &A,
    context: impl Fn() -> B::Context,
    sentences: &Sentences,
    at_once: HeadsAtOnce,
    times: usize,
) -> Result<Encoded, Failure> {
    let mut constants = DynamicPool::<B>::with_config(context(), Default::default())?;
    let model = Model::upload(algebra, sizes, &tiny::Tiny, &mut constants)?;
    let batch = Batch::upload(sentences, &mut constants)?;
    let (constants, scope) = constants.split();
    let (model, batch) = (model.views(&constants)?, batch.views(&constants)?);
    let numbers = sentences.count() * sizes.hidden;
    let mut to = scope.try_acquire::<f32, _>(numbers)?;
    let mut pool = Pool::<B>::with_config(context(), Default::default())?;
    for _ in 0..times {
        encode(algebra, at_once, pool.scope(), &model, &batch, &mut to.reborrow())?;
    }
    Ok(Encoded { numbers: to.copy_to_vec()?, bytes: pool.stats().reserved_bytes })
}
