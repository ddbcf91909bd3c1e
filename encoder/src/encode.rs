//! The encoder itself: one function for all backends, whose temporaries are in scopes.

use pool_facade::{LendView, PoolBackend, Scope};

use crate::algebra::{Algebra, Failure, Layout, Product};
use crate::model::{Configuration, Dense, Layer, ModelOf, Norm};
use crate::sentences::BatchOf;

/// The number of heads whose scores are in memory at once.
///
/// One at a time needs the least memory and is as fast on a processor; a device computes more in
/// one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadsAtOnce {
    /// One.
    One,
    /// All of a sentence.
    All,
}

/// Encodes each sentence into a row of `to`, of length 1, with the hidden numbers (Reimers and
/// Gurevych, 2019).
///
/// The largest array of a scope is acquired first. So arrays of different scopes in the same slot
/// have similar lengths, and the pool holds hardly more than its live bytes.
///
/// # Errors
///
/// Fails if there is no memory, if `to` has another length, or if the backend refuses an operation.
pub fn encode<B: PoolBackend, A: Algebra<B>>(
    algebra: &A,
    heads_at_once: HeadsAtOnce,
    mut scope: Scope<'_, B>,
    model: &ModelOf<'_, B>,
    batch: &BatchOf<'_, B>,
    to: &mut B::View<'_, f32>,
) -> Result<(), Failure> {
    let numbers = batch.count * batch.tokens * model.configuration.hidden;
    let mut states = scope.try_acquire_zeroed::<f32, _>(numbers)?;
    embed(algebra, &scope.scope(), model, batch, &mut states)?;
    for layer in &model.layers {
        let step = Step { algebra, configuration: &model.configuration, layer, batch };
        step.attend(scope.scope(), heads_at_once, states.reborrow())?;
        step.transform(&scope.scope(), &mut states)?;
    }
    algebra.unit_means(&scope, batch.tokens, states.as_view(), batch.lengths, to)
}

/// Computes each token as the sum of the rows for its word, its position and its kind, normalized;
/// `states` is 0 before.
fn embed<B: PoolBackend, A: Algebra<B>>(
    algebra: &A,
    scope: &Scope<'_, B>,
    model: &ModelOf<'_, B>,
    batch: &BatchOf<'_, B>,
    states: &mut B::View<'_, f32>,
) -> Result<(), Failure> {
    let Configuration { hidden, epsilon, .. } = model.configuration;
    let mut sum = scope.try_acquire_zeroed::<f32, _>(batch.count * batch.tokens * hidden)?;
    algebra.add_rows(scope, hidden, model.words, batch.words, &mut sum)?;
    algebra.add_rows(scope, hidden, model.positions, batch.positions, &mut sum)?;
    algebra.add_rows(scope, hidden, model.kinds, batch.kinds, &mut sum)?;
    let Norm { scale, shift } = model.norm;
    algebra.add_and_normalize(scope, sum.as_view(), (scale, shift, epsilon), states)
}

/// The inputs of the two halves of a layer.
struct Step<'s, 'm, 'b, B: PoolBackend, A> {
    algebra: &'s A,
    configuration: &'s Configuration,
    layer: &'s Layer<B::ViewRef<'m, f32>>,
    batch: &'s BatchOf<'b, B>,
}

impl<B: PoolBackend, A: Algebra<B>> Step<'_, '_, '_, B, A> {
    /// Computes the attention of each token to those of its sentence (Vaswani et al., 2017), added
    /// to the states and normalized.
    fn attend(
        &self,
        mut scope: Scope<'_, B>,
        heads_at_once: HeadsAtOnce,
        mut states: B::View<'_, f32>,
    ) -> Result<(), Failure> {
        let Configuration { hidden, heads, epsilon, .. } = *self.configuration;
        let numbers = self.rows() * hidden;
        let mut keys_and_values = scope.try_acquire::<f32, _>(2 * numbers)?;
        let mut queries = scope.try_acquire::<f32, _>(numbers)?;
        self.dense(&scope, &self.layer.query, states.as_view(), 0, &mut queries)?;
        self.dense(&scope, &self.layer.key, states.as_view(), 0, &mut keys_and_values)?;
        self.dense(&scope, &self.layer.value, states.as_view(), numbers, &mut keys_and_values)?;
        let at_once = match heads_at_once {
            HeadsAtOnce::One => 1,
            HeadsAtOnce::All => heads,
        };
        for sentence in 0..self.batch.count {
            for head in (0..heads).step_by(at_once) {
                let part = Part { sentence, head, heads: at_once };
                let keys_and_values = keys_and_values.as_view();
                self.attend_part(&scope.scope(), part, keys_and_values, &mut queries)?;
            }
        }
        // The keys are not needed any more.
        let found = queries.as_view();
        self.dense(&scope, &self.layer.attended, found, 0, &mut keys_and_values)?;
        let Norm { scale, shift } = self.layer.attended_norm;
        let update = keys_and_values.part(..numbers)?;
        self.algebra.add_and_normalize(&scope, update, (scale, shift, epsilon), &mut states)
    }

    /// Computes the same for some heads of one sentence, and replaces their queries by the results.
    fn attend_part(
        &self,
        scope: &Scope<'_, B>,
        part: Part,
        keys_and_values: B::ViewRef<'_, f32>,
        queries: &mut B::View<'_, f32>,
    ) -> Result<(), Failure> {
        let Configuration { hidden, heads, .. } = *self.configuration;
        let (tokens, width) = (self.batch.tokens, hidden / heads);
        let start = part.sentence * tokens * hidden + part.head * width;
        let tokens_of_heads = Layout { start, row: hidden, matrix: width };
        let values = Layout { start: start + self.rows() * hidden, ..tokens_of_heads };
        let square = Layout { start: 0, row: tokens, matrix: tokens * tokens };
        let mut scores = scope.try_acquire::<f32, _>(part.heads * tokens * tokens)?;
        let asked = Product {
            count: part.heads,
            rows: tokens,
            columns: tokens,
            inner: width,
            left: tokens_of_heads,
            right: tokens_of_heads,
            right_is_turned: true,
            to: square,
            factor: inverse_root(width),
        };
        let factors = (queries.as_view(), keys_and_values);
        self.algebra.multiply(scope, &asked, factors, None, &mut scores)?;
        let lengths = self.batch.lengths;
        self.algebra.softmax(scope, tokens, lengths, part.sentence, &mut scores)?;
        let found = Product {
            columns: width,
            inner: tokens,
            left: square,
            right: values,
            right_is_turned: false,
            to: tokens_of_heads,
            factor: 1.0,
            ..asked
        };
        let factors = (scores.as_view(), keys_and_values);
        self.algebra.multiply(scope, &found, factors, None, queries)
    }

    /// Passes each token through a wider layer and back, added to the states and normalized.
    fn transform(
        &self,
        scope: &Scope<'_, B>,
        states: &mut B::View<'_, f32>,
    ) -> Result<(), Failure> {
        let Configuration { hidden, inner, epsilon, .. } = *self.configuration;
        let mut wide = scope.try_acquire::<f32, _>(self.rows() * inner)?;
        let mut update = scope.try_acquire::<f32, _>(self.rows() * hidden)?;
        self.dense(scope, &self.layer.widening, states.as_view(), 0, &mut wide)?;
        self.algebra.gelu(scope, &mut wide)?;
        self.dense(scope, &self.layer.narrowing, wide.as_view(), 0, &mut update)?;
        let Norm { scale, shift } = self.layer.norm;
        self.algebra.add_and_normalize(scope, update.as_view(), (scale, shift, epsilon), states)
    }

    /// Computes a dense step for each row of `x`, into `to` from `start` on.
    fn dense(
        &self,
        scope: &Scope<'_, B>,
        dense: &Dense<B::ViewRef<'_, f32>>,
        x: B::ViewRef<'_, f32>,
        start: usize,
        to: &mut B::View<'_, f32>,
    ) -> Result<(), Failure> {
        self.algebra.dense(scope, x, (dense.weight, dense.bias), start, to)
    }

    /// Returns the number of tokens of all sentences.
    fn rows(&self) -> usize {
        self.batch.count * self.batch.tokens
    }
}

/// Some heads of a sentence.
#[derive(Clone, Copy)]
struct Part {
    sentence: usize,
    /// The first head.
    head: usize,
    /// The number of heads.
    heads: usize,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a head has fewer numbers than an f32 can count exactly"
)]
fn inverse_root(width: usize) -> f32 {
    1.0 / (width as f32).sqrt()
}
