//! The tensors of a model of the kind of BERT (Devlin et al., 2018): which there are, and where they lie.

use std::borrow::Cow;

use pool_facade::{DynamicPool, Handle, Handles, PoolBackend, PoolError};

use crate::algebra::{Algebra, Failure};

/// The sizes of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Configuration {
    /// Words, or pieces of words, that it knows.
    pub words: usize,
    /// The most tokens of a sentence.
    pub positions: usize,
    /// Kinds of tokens: first and second sentence.
    pub kinds: usize,
    /// Numbers that stand for a token between layers.
    pub hidden: usize,
    /// Heads of attention; they share the hidden numbers evenly.
    pub heads: usize,
    /// Numbers that stand for a token within a layer.
    pub inner: usize,
    /// Layers.
    pub layers: usize,
    /// What layer norms add to a variance.
    pub epsilon: f32,
}

/// A tensor of a model: its name in files, and its number of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// As `sentence-transformers` writes it.
    pub name: String,
    /// Rows times columns.
    pub length: usize,
    /// Where it is the weight of a dense step: the numbers that go in.
    pub inner: Option<usize>,
}

/// A model's tensors, each as a `T`: a name, a handle, or a view.
#[derive(Clone, Debug)]
pub struct Model<T> {
    /// The sizes.
    pub configuration: Configuration,
    /// A row for each word.
    pub words: T,
    /// A row for each position in a sentence.
    pub positions: T,
    /// A row for each kind of token.
    pub kinds: T,
    /// What the sum of the three goes through.
    pub norm: Norm<T>,
    /// What comes then, one after the other.
    pub layers: Vec<Layer<T>>,
}

/// A layer: attention, and two dense steps, each with what it began with added, and normalized.
#[derive(Clone, Debug)]
pub struct Layer<T> {
    /// What a token asks for.
    pub query: Dense<T>,
    /// What a token is found by.
    pub key: Dense<T>,
    /// What a token gives.
    pub value: Dense<T>,
    /// What all heads found, together.
    pub attended: Dense<T>,
    /// After the attention.
    pub attended_norm: Norm<T>,
    /// From the hidden numbers to the inner ones.
    pub widening: Dense<T>,
    /// And back.
    pub narrowing: Dense<T>,
    /// After the dense steps.
    pub norm: Norm<T>,
}

/// A dense step: a row of weights for each number that comes out, and what is added to it.
#[derive(Clone, Debug)]
pub struct Dense<T> {
    /// Rows of as many numbers as go in.
    pub weight: T,
    /// A number for each that comes out.
    pub bias: T,
}

/// A layer norm.
#[derive(Clone, Debug)]
pub struct Norm<T> {
    /// What the normal numbers are multiplied by.
    pub scale: T,
    /// What is added then.
    pub shift: T,
}

/// Where the numbers of tensors come from.
pub trait Tensors {
    /// All numbers of a tensor, row by row.
    ///
    /// # Errors
    ///
    /// Where there is no such tensor of this length.
    fn numbers(&self, tensor: &Tensor) -> Result<Cow<'_, [f32]>, Failure>;
}

impl Tensor {
    /// All numbers of the tensor, as an algebra wants them.
    pub(crate) fn numbers<'t, B: PoolBackend>(
        &self,
        tensors: &'t impl Tensors,
        algebra: &impl Algebra<B>,
    ) -> Result<Cow<'t, [f32]>, Failure> {
        let numbers = tensors.numbers(self)?;
        if numbers.len() == self.length {
            return Ok(match self.inner {
                Some(inner) => algebra.arranged(inner, numbers),
                None => numbers,
            });
        }
        let (name, wanted, has) = (&self.name, self.length, numbers.len());
        Err(format!("{name} has {has} numbers, and the model wants {wanted}").into())
    }
}

/// A model that lies in the memory of a backend, to be read.
pub type ModelOf<'m, B> = Model<<B as PoolBackend>::ViewRef<'m, f32>>;

impl Model<Tensor> {
    /// The tensors of a model of these sizes.
    #[must_use]
    pub fn of(configuration: Configuration) -> Self {
        let Configuration { words, positions, kinds, hidden, .. } = configuration;
        let table = |name: &str, rows: usize| Tensor {
            name: format!("embeddings.{name}_embeddings.weight"),
            length: rows * hidden,
            inner: None,
        };
        Self {
            configuration,
            words: table("word", words),
            positions: table("position", positions),
            kinds: table("token_type", kinds),
            norm: Norm::of("embeddings.LayerNorm", hidden),
            layers: (0..configuration.layers).map(|at| Layer::of(&configuration, at)).collect(),
        }
    }
}

impl Layer<Tensor> {
    fn of(&Configuration { hidden, inner, .. }: &Configuration, at: usize) -> Self {
        let dense = |name, from, to| Dense::of(&format!("encoder.layer.{at}.{name}"), from, to);
        let norm = |name| Norm::of(&format!("encoder.layer.{at}.{name}.LayerNorm"), hidden);
        Self {
            query: dense("attention.self.query", hidden, hidden),
            key: dense("attention.self.key", hidden, hidden),
            value: dense("attention.self.value", hidden, hidden),
            attended: dense("attention.output.dense", hidden, hidden),
            attended_norm: norm("attention.output"),
            widening: dense("intermediate.dense", hidden, inner),
            narrowing: dense("output.dense", inner, hidden),
            norm: norm("output"),
        }
    }
}

impl Dense<Tensor> {
    fn of(name: &str, from: usize, to: usize) -> Self {
        let tensor = |part, length, inner| Tensor { name: format!("{name}.{part}"), length, inner };
        Self { weight: tensor("weight", from * to, Some(from)), bias: tensor("bias", to, None) }
    }
}

impl Norm<Tensor> {
    fn of(name: &str, length: usize) -> Self {
        let tensor = |part| Tensor { name: format!("{name}.{part}"), length, inner: None };
        Self { scale: tensor("weight"), shift: tensor("bias") }
    }
}

impl<T> Model<T> {
    /// The same model with each tensor as something else.
    ///
    /// # Errors
    ///
    /// The first that `with` answers with.
    pub fn try_map<U, E>(&self, mut with: impl FnMut(&T) -> Result<U, E>) -> Result<Model<U>, E> {
        let with = &mut with;
        Ok(Model {
            configuration: self.configuration,
            words: with(&self.words)?,
            positions: with(&self.positions)?,
            kinds: with(&self.kinds)?,
            norm: self.norm.try_map(with)?,
            layers: self
                .layers
                .iter()
                .map(|layer| layer.try_map(with))
                .collect::<Result<_, E>>()?,
        })
    }
}

impl<T> Layer<T> {
    fn try_map<U, E>(&self, with: &mut impl FnMut(&T) -> Result<U, E>) -> Result<Layer<U>, E> {
        Ok(Layer {
            query: self.query.try_map(with)?,
            key: self.key.try_map(with)?,
            value: self.value.try_map(with)?,
            attended: self.attended.try_map(with)?,
            attended_norm: self.attended_norm.try_map(with)?,
            widening: self.widening.try_map(with)?,
            narrowing: self.narrowing.try_map(with)?,
            norm: self.norm.try_map(with)?,
        })
    }
}

impl<T> Dense<T> {
    fn try_map<U, E>(&self, with: &mut impl FnMut(&T) -> Result<U, E>) -> Result<Dense<U>, E> {
        Ok(Dense { weight: with(&self.weight)?, bias: with(&self.bias)? })
    }
}

impl<T> Norm<T> {
    fn try_map<U, E>(&self, with: &mut impl FnMut(&T) -> Result<U, E>) -> Result<Norm<U>, E> {
        Ok(Norm { scale: with(&self.scale)?, shift: with(&self.shift)? })
    }
}

impl Model<Handle<f32>> {
    /// Copies a model into the memory of a pool, as constants beside its scopes, for an algebra to compute with.
    ///
    /// # Errors
    ///
    /// Where a tensor is missing, and where there is no memory.
    pub fn upload<B: PoolBackend>(
        algebra: &impl Algebra<B>,
        configuration: Configuration,
        tensors: &impl Tensors,
        pool: &mut DynamicPool<B>,
    ) -> Result<Self, Failure> {
        let upload =
            |tensor: &Tensor| Ok(pool.try_acquire_from(&tensor.numbers(tensors, algebra)?)?);
        Model::of(configuration).try_map(upload)
    }

    /// The model beside the scopes of its pool.
    ///
    /// # Errors
    ///
    /// As [`Handles::get`].
    pub fn views<'h, B: PoolBackend>(
        &self,
        constants: &'h Handles<'_, B>,
    ) -> Result<ModelOf<'h, B>, PoolError<B::Error>> {
        self.try_map(|handle| constants.get(*handle))
    }
}
