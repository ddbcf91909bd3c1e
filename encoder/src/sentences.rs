//! Sentences as numbers: on the host, and as constants of a pool.

use pool_facade::{DynamicPool, Handle, Handles, PoolBackend, PoolError};

use crate::algebra::Failure;
use crate::model::Configuration;

/// Sentences of tokens, filled up to the same number of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentences {
    tokens: usize,
    words: Vec<u32>,
    lengths: Vec<u32>,
}

impl Sentences {
    /// Makes sentences that a model can encode, each filled up to `tokens` tokens with the word 0,
    /// which is never read.
    ///
    /// # Errors
    ///
    /// Fails for a sentence that is empty or has more tokens, for a word outside the vocabulary,
    /// and for more tokens than the model has positions.
    pub fn new(
        model: &Configuration,
        tokens: usize,
        sentences: &[Vec<u32>],
    ) -> Result<Self, Failure> {
        if tokens > model.positions {
            let positions = model.positions;
            return Err(format!("{tokens} tokens, but the model has {positions} positions").into());
        }
        let mut words = Vec::with_capacity(tokens * sentences.len());
        let mut lengths = Vec::with_capacity(sentences.len());
        for (at, sentence) in sentences.iter().enumerate() {
            if !(1..=tokens).contains(&sentence.len()) {
                let has = sentence.len();
                return Err(format!("sentence {at} has {has} tokens, not 1 to {tokens}").into());
            }
            if let Some(word) = sentence.iter().find(|word| **word as usize >= model.words) {
                let knows = model.words;
                return Err(format!("sentence {at} has the word {word} of {knows}").into());
            }
            words.extend_from_slice(sentence);
            words.resize((at + 1) * tokens, 0);
            lengths.push(u32::try_from(sentence.len())?);
        }
        Ok(Self { tokens, words, lengths })
    }

    /// Returns the number of sentences.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lengths.len()
    }

    /// Returns the tokens of each, including the padding.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Returns the words of all sentences, in their order.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Returns the tokens of each sentence, without the padding.
    #[must_use]
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }
}

/// Returns the position of each token of `count` sentences in its sentence.
pub(crate) fn positions_of(count: usize, tokens: usize) -> Vec<u32> {
    let of_one = 0..u32::try_from(tokens).unwrap_or(u32::MAX);
    (0..count).flat_map(|_| of_one.clone()).collect()
}

/// The sentences' parts that a model reads, each as a `T`: of a handle, or of a view.
#[derive(Clone, Copy, Debug)]
pub struct Batch<T> {
    /// The number of sentences.
    pub count: usize,
    /// Tokens of each.
    pub tokens: usize,
    /// The word of each token.
    pub words: T,
    /// The position of each token.
    pub positions: T,
    /// The kind of each token.
    pub kinds: T,
    /// The length of each sentence.
    pub lengths: T,
}

/// Sentences in the memory of a backend, for reading.
pub type BatchOf<'b, B> = Batch<<B as PoolBackend>::ViewRef<'b, u32>>;

impl Batch<Handle<u32>> {
    /// Copies sentences into the memory of a pool, all of the first kind.
    ///
    /// # Errors
    ///
    /// Same as [`DynamicPool::try_acquire_from`].
    pub fn upload<B: PoolBackend>(
        sentences: &Sentences,
        pool: &mut DynamicPool<B>,
    ) -> Result<Self, PoolError<B::Error>> {
        Ok(Self {
            count: sentences.count(),
            tokens: sentences.tokens,
            words: pool.try_acquire_from(&sentences.words)?,
            positions: pool.try_acquire_from(&positions_of(sentences.count(), sentences.tokens))?,
            kinds: pool.try_acquire_from(&vec![0; sentences.words.len()])?,
            lengths: pool.try_acquire_from(&sentences.lengths)?,
        })
    }

    /// Returns the sentences beside the scopes of their pool.
    ///
    /// # Errors
    ///
    /// Same as [`Handles::get`].
    pub fn views<'h, B: PoolBackend>(
        &self,
        constants: &'h Handles<'_, B>,
    ) -> Result<BatchOf<'h, B>, PoolError<B::Error>> {
        Ok(Batch {
            count: self.count,
            tokens: self.tokens,
            words: constants.get(self.words)?,
            positions: constants.get(self.positions)?,
            kinds: constants.get(self.kinds)?,
            lengths: constants.get(self.lengths)?,
        })
    }
}
