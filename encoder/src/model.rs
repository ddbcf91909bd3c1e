//! The tensors of a model of the kind of BERT (Devlin et al., 2018), and their positions.

use std::borrow::Cow;

use pool_facade::{DynamicPool, Handle, Handles, PoolBackend, PoolError};

use crate::algebra::{Algebra, Failure};

/// The sizes of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Configuration {
    /// Words, or pieces of words, in its vocabulary.
    pub words: usize,
    /// The maximum tokens of a sentence.
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
    /// The constant that layer norms add to a variance.
    pub epsilon: f32,
}

/// A tensor of a model: its name in files, and its number of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// The name by `sentence-transformers`.
    pub name: String,
    /// Rows times columns.
    pub length: usize,
    /// For the weight of a dense step: the number of inputs.
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
    /// The norm of the sum of the three.
    pub norm: Norm<T>,
    /// The layers, in their order.
    pub layers: Vec<Layer<T>>,
}

/// A layer: attention, and two dense steps, each with its input added, and normalized.
#[derive(Clone, Debug)]
pub struct Layer<T> {
    /// The query of a token.
    pub query: Dense<T>,
    /// The key of a token.
    pub key: Dense<T>,
    /// The value of a token.
    pub value: Dense<T>,
    /// The combined results of all heads.
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

/// A dense step: a row of weights for each output number, and the bias.
#[derive(Clone, Debug)]
pub struct Dense<T> {
    /// Rows with the input numbers.
    pub weight: T,
    /// A number for each output.
    pub bias: T,
}

/// A layer norm.
#[derive(Clone, Debug)]
pub struct Norm<T> {
    /// The factors of the normalized numbers.
    pub scale: T,
    /// The numbers that are added then.
    pub shift: T,
}

/// The source of the numbers of tensors.
pub trait Tensors {
    /// Returns all numbers of a tensor, row by row.
    ///
    /// # Errors
    ///
    /// Fails if there is no such tensor of this length.
    fn numbers(&self, tensor: &Tensor) -> Result<Cow<'_, [f32]>, Failure>;
}

impl Tensor {
    /// Returns all numbers of the tensor, in the order of an algebra.
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
        Err(format!("{name} has {has} numbers, but the model needs {wanted}").into())
    }
}

/// A model in the memory of a backend, for reading.
pub type ModelOf<'m, B> = Model<<B as PoolBackend>::ViewRef<'m, f32>>;

impl Model<Tensor> {
    /// Returns the tensors of a model of these sizes.
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
    /// Returns the same model with each tensor converted.
    ///
    /// # Errors
    ///
    /// The first error of `with`.
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
    /// Fails if a tensor is missing, or if there is no memory.
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

    /// Returns the model beside the scopes of its pool.
    ///
    /// # Errors
    ///
    /// Same as [`Handles::get`].
    pub fn views<'h, B: PoolBackend>(
        &self,
        constants: &'h Handles<'_, B>,
    ) -> Result<ModelOf<'h, B>, PoolError<B::Error>> {
        self.try_map(|handle| constants.get(*handle))
    }
}
