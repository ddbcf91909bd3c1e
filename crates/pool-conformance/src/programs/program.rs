//! Programs as values: what a random program may do with a pool.

use pool_core::{Compaction, PoolConfig};

use crate::element::Kind;
use crate::ledger::Refusal;

/// A program over one pool.
#[derive(Clone, Debug)]
pub struct LexicalProgram {
    /// How the pool is made.
    pub setting: Setting,
    /// What is done with it, one after the other.
    pub rounds: Vec<Round>,
}

/// What a pool is configured with.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The byte limit; `None` is none.
    pub byte_limit: Option<usize>,
    /// The growth factor.
    pub growth_factor: f64,
    /// Whether what is handed out is poisoned.
    pub poison: bool,
    /// Whether every acquire gets a new block.
    pub fresh: bool,
    /// The ways of the shape cache.
    pub ways: usize,
}

impl Setting {
    /// The setting as a configuration.
    #[must_use]
    pub fn config(&self) -> PoolConfig {
        PoolConfig::new()
            .name("random program")
            .byte_limit(self.limit())
            .growth_factor(self.growth_factor)
            .poison(self.poison)
            .fresh(self.fresh)
            .ways(self.ways)
    }

    /// The byte limit, `usize::MAX` for none.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.byte_limit.unwrap_or(usize::MAX)
    }
}

/// What is done with a pool of which no scope is open.
#[derive(Clone, Debug)]
pub enum Round {
    /// Opens a scope, as if nested in the pool itself.
    Scope(Nested),
    /// `Pool::trim`.
    Trim,
    /// `Pool::clear`.
    Clear,
    /// `Pool::compact`.
    Compact(Compaction),
    /// `Pool::sample_lengths`.
    Sample,
    /// `Pool::configure`.
    Configure(Setting),
}

/// What is done with an open scope.
#[derive(Clone, Debug)]
pub enum Step {
    /// Acquires and keeps the view until the scope is left.
    Acquire(Acquire),
    /// A helper function that is given `&Scope` and acquires in it.
    Helper(Vec<Acquire>),
    /// Many small acquires, so that slot tables fill up.
    Burst(Kind, usize),
    /// Writes new contents into some live view, of this or of an outer scope.
    Rewrite(usize),
    /// Compares every live view with the model.
    Verify,
    /// `Scope::trim`.
    Trim,
    /// `Scope::compact`.
    Compact(Compaction),
    /// `Scope::sample_lengths`.
    Sample,
    /// Opens an inner scope.
    Nested(Nested),
    /// Makes another pool and opens a scope of it, while this one is open.
    Beside(Setting, Vec<Step>),
    /// Panics; caught by a [`Style::Caught`] scope around, or by the program.
    Panic,
    /// Leaves the scope, and as many more around it.
    Leave(usize),
}

/// A scope and what is done in it.
#[derive(Clone, Debug)]
pub struct Nested {
    /// How the scope is held.
    pub style: Style,
    /// How often it is opened, one after the other.
    pub times: usize,
    /// Which allocations fail while it is open.
    pub refusal: Option<Refusal>,
    /// What is done in it.
    pub steps: Vec<Step>,
}

/// How an inner scope is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// In a block of the same function.
    Block,
    /// In a function that is given `&mut Scope` and opens it.
    Reference,
    /// By value, in a function that it is moved into.
    Value,
    /// By value, in a function that returns its views: they are used after the scope value is gone.
    Kept,
    /// The scope and its views are forgotten.
    Forgotten,
    /// Inside `catch_unwind`.
    Caught,
}

/// One acquire.
#[derive(Clone, Debug)]
pub struct Acquire {
    /// The element type.
    pub kind: Kind,
    /// Which member of the family, and how much.
    pub form: Form,
    /// Whether the twin is called that panics; only where it is another function.
    pub panics: bool,
}

/// Which member of the acquire family is called, and for how much.
#[derive(Clone, Debug)]
pub enum Form {
    /// One-dimensional.
    Flat(Fill, usize),
    /// As long as the newest live view of the scope.
    Like,
    /// Element by element, by code that acquires in the same scope before the elements whose index
    /// is a multiple of `reenter_at`, and panics before the element `panic_at`.
    With {
        /// The length.
        length: usize,
        /// Where it acquires.
        reenter_at: Option<usize>,
        /// Where it panics.
        panic_at: Option<usize>,
    },
    /// With a shape of fixed rank, 1 to 6.
    Shaped(Fill, Vec<usize>),
    /// With a shape of dynamic rank.
    Dynamic(Fill, Vec<usize>),
    /// Rows and columns, split at a row (modulo their number) into two views.
    Split(usize, usize, usize),
    /// What no pool can give.
    Impossible(Impossible),
}

/// What the elements are when they are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Whatever was there.
    Recycled,
    /// Zero bytes.
    Zeroed,
    /// One value.
    Filled,
    /// A copy.
    Copied,
}

/// A request that must be refused with a typed error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impossible {
    /// More bytes than `isize::MAX`, in one dimension.
    Length(usize),
    /// A shape whose product overflows.
    Product,
    /// An overflowing pair of axes beside an axis of zero.
    ProductBesideZero,
    /// The same in a shape of dynamic rank.
    DynamicProductBesideZero,
    /// A source that does not have as many elements as the shape.
    SourceOfOtherLength,
}

/// A program over one dynamic pool.
#[derive(Clone, Debug)]
pub struct DynamicProgram {
    /// How the pool is made.
    pub setting: Setting,
    /// What is done with it.
    pub steps: Vec<DynamicStep>,
}

/// What is done with a dynamic pool.
#[derive(Clone, Debug)]
pub enum DynamicStep {
    /// Acquires by value, length and kind; a shape counts as its product.
    Acquire(Acquire),
    /// Many small acquires.
    Burst(Kind, usize),
    /// `checkpoint`.
    Checkpoint,
    /// `rewind`.
    Rewind,
    /// `rewind_to` a depth modulo one more than the next depth: valid, or just above the top.
    RewindTo(usize),
    /// `reset`.
    Reset,
    /// Writes new contents through a handle, live or stale.
    Rewrite(usize),
    /// Writes two arrays borrowed together; the second number is counted among those of one kind.
    RewritePair(usize, usize),
    /// Tries a handle that another pool made.
    Foreign(Kind),
    /// A scope above the arrays, beside their handles.
    Split(Vec<Step>),
    /// `trim`.
    Trim,
    /// `clear`.
    Clear,
    /// `compact`.
    Compact(Compaction),
    /// `sample_lengths`.
    Sample,
    /// `configure`.
    Configure(Setting),
    /// Which of the coming allocations fail.
    Refuse(Refusal),
}
