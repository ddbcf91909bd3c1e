//! Programs as values: the operations of a random program on a pool.

use pool_core::{Compaction, PoolConfig};

use crate::element::Kind;
use crate::host::HostAcquire;
use crate::ledger::Refusal;

/// A program over one pool.
#[derive(Clone, Debug)]
pub struct LexicalProgram {
    /// The pool's configuration.
    pub setting: Setting,
    /// The consecutive rounds of the pool.
    pub rounds: Vec<Round>,
}

/// The configuration of a program's pool.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The byte limit; `None` for no limit.
    pub byte_limit: Option<usize>,
    /// The growth factor.
    pub growth_factor: f64,
    /// Handed-out memory is poisoned.
    pub poison: bool,
    /// Every acquire gets a new block.
    pub fresh: bool,
    /// The most bytes that are live at once are counted.
    pub measure_live_bytes: bool,
    /// The ways of the shape cache.
    pub ways: usize,
}

impl Setting {
    /// Returns the setting as a configuration.
    #[must_use]
    pub fn config(&self) -> PoolConfig {
        PoolConfig::new()
            .name("random program")
            .byte_limit(self.limit())
            .growth_factor(self.growth_factor)
            .poison(self.poison)
            .fresh(self.fresh)
            .measure_live_bytes(self.measure_live_bytes)
            .ways(self.ways)
    }

    /// Returns the byte limit, `usize::MAX` for none.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.byte_limit.unwrap_or(usize::MAX)
    }
}

/// A round: one operation on a pool without an open scope.
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

/// A step: one operation in an open scope.
#[derive(Clone, Debug)]
pub enum Step {
    /// Acquires and keeps the view until the scope is left.
    Acquire(Acquire),
    /// Acquires by a form that only scopes of the host have, and keeps the slice until the scope is left.
    Host(HostAcquire),
    /// Keeps a slice that is acquired in an inner scope.
    Keep(Keep),
    /// Calls a helper function that is given `&Scope` and acquires in it.
    Helper(Vec<Acquire>),
    /// Makes many small acquires, so that slot tables fill up.
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
    /// Leaves the scope, and this number of scopes around it.
    Leave(usize),
}

/// An inner scope and its steps.
#[derive(Clone, Debug)]
pub struct Nested {
    /// The way in which the scope is held.
    pub style: Style,
    /// The number of times that the scope is opened in turn.
    pub times: usize,
    /// The allocations that fail while the scope is open.
    pub refusal: Option<Refusal>,
    /// The steps in the scope.
    pub steps: Vec<Step>,
}

/// An inner scope that keeps one slice.
#[derive(Clone, Debug)]
pub struct Keep {
    /// The steps before the slice is acquired. If they leave the scope, nothing is kept.
    pub steps: Vec<Step>,
    /// The slice: of a form that initialises its elements.
    pub acquire: HostAcquire,
    /// The acquires after the slice.
    pub after: Vec<Acquire>,
    /// The places between which the slice is kept, modulo its length plus one; an array is kept
    /// whole.
    pub part: [usize; 2],
}

/// The way in which an inner scope is held.
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

/// One acquire of a program.
#[derive(Clone, Debug)]
pub struct Acquire {
    /// The element type.
    pub kind: Kind,
    /// The member of the family that is called, and the amount.
    pub form: Form,
    /// The twin that panics is called, if it is another function.
    pub panics: bool,
}

/// The member of the acquire family that is called, and the amount.
#[derive(Clone, Debug)]
pub enum Form {
    /// A slice of a given length.
    Flat(Fill, usize),
    /// A slice that is as long as the newest live view of the scope.
    Like,
    /// Element by element, by code that acquires in the same scope before the elements whose index
    /// is a multiple of `reenter_at`. The code panics before the element `panic_at`.
    With {
        /// The length.
        length: usize,
        /// The indices, by their common divisor, before which the code acquires; `None` for none.
        reenter_at: Option<usize>,
        /// The index before which the code panics; `None` for none.
        panic_at: Option<usize>,
    },
    /// With a shape of fixed rank, 1 to 6.
    Shaped(Fill, Vec<usize>),
    /// With a shape of dynamic rank.
    Dynamic(Fill, Vec<usize>),
    /// Rows and columns, split at a row (modulo their number) into two views.
    Split(usize, usize, usize),
    /// A copy that is given a shape of one element less, which must be refused and leave the copy as it is.
    Misshapen,
    /// A request that no pool can fulfil.
    Impossible(Impossible),
}

/// The content of the elements when they are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Bytes that a former use left behind.
    Recycled,
    /// Zero bytes.
    Zeroed,
    /// One value in all elements.
    Filled,
    /// A copy of host memory.
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
    /// An overflowing pair of axes beside an axis of zero, in a shape of dynamic rank.
    DynamicProductBesideZero,
}

/// A program over one dynamic pool.
#[derive(Clone, Debug)]
pub struct DynamicProgram {
    /// The pool's configuration.
    pub setting: Setting,
    /// The steps with the pool.
    pub steps: Vec<DynamicStep>,
}

/// A step: one operation on a dynamic pool.
#[derive(Clone, Debug)]
pub enum DynamicStep {
    /// Acquires by value, length and kind; a shape counts as its product.
    Acquire(Acquire),
    /// Makes many small acquires.
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
    /// Opens a scope above the arrays, beside their handles.
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
    /// Sets which of the coming allocations fail.
    Refuse(Refusal),
}
