//! Programs as values: the operations that a random program performs on a pool.

use pool_core::{Compaction, PoolConfig};

use crate::element::Kind;
use crate::host::HostAcquire;
use crate::ledger::Refusal;

/// A program that uses one pool.
#[derive(Clone, Debug)]
pub struct LexicalProgram {
    /// The pool's configuration.
    pub setting: Setting,
    /// The rounds that run on the pool, one after another.
    pub rounds: Vec<Round>,
}

/// The configuration of a program's pool.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The byte limit, or `None` for no limit.
    pub byte_limit: Option<usize>,
    /// The growth factor.
    pub growth_factor: f64,
    /// `true` if handed-out memory is poisoned.
    pub poison: bool,
    /// `true` if every acquire receives a new block.
    pub fresh: bool,
    /// `true` if the pool measures the peak of its live bytes.
    pub measure_live_bytes: bool,
    /// The number of ways of the shape cache.
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

    /// Returns the byte limit, or `usize::MAX` if there is none.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.byte_limit.unwrap_or(usize::MAX)
    }
}

/// A round: one operation on a pool that has no open scope.
#[derive(Clone, Debug)]
pub enum Round {
    /// Opens a scope, as if it were nested in the pool itself.
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
    /// Acquires, and keeps the view until the scope is left.
    Acquire(Acquire),
    /// Acquires with a method that only host scopes provide, and keeps the slice until the scope is
    /// left.
    Host(HostAcquire),
    /// Keeps a slice that is acquired in an inner scope.
    Keep(Keep),
    /// Calls a helper function that receives `&Scope` and acquires in this scope.
    Helper(Vec<Acquire>),
    /// Makes many small acquires, in order to fill slot tables.
    Burst(Kind, usize),
    /// Writes new contents to a live view of this scope or of an outer scope.
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
    /// Creates another pool and opens a scope of it, while this scope is open.
    Beside(Setting, Vec<Step>),
    /// Panics. An enclosing [`Style::Caught`] scope, or the program, catches the panic.
    Panic,
    /// Leaves the scope, and this many of its enclosing scopes.
    Leave(usize),
}

/// An inner scope and its steps.
#[derive(Clone, Debug)]
pub struct Nested {
    /// The kind of owner that holds the scope.
    pub style: Style,
    /// The number of times that the scope is opened, one after another.
    pub times: usize,
    /// The allocations that fail while the scope is open.
    pub refusal: Option<Refusal>,
    /// The steps in the scope.
    pub steps: Vec<Step>,
}

/// An inner scope that keeps one slice.
#[derive(Clone, Debug)]
pub struct Keep {
    /// The steps before the slice is acquired. If these steps leave the scope, nothing is kept.
    pub steps: Vec<Step>,
    /// The slice, acquired with a method that initialises its elements.
    pub acquire: HostAcquire,
    /// The acquires after the slice.
    pub after: Vec<Acquire>,
    /// The range of the slice to keep. Both indices are taken modulo the length plus one. An array
    /// is kept whole.
    pub part: [usize; 2],
}

/// The kind of owner that holds an inner scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// In a block of the same function.
    Block,
    /// By a function that receives `&mut Scope` and opens the inner scope.
    Reference,
    /// By value, in a function that takes ownership of the scope.
    Value,
    /// By value, in a function that returns the scope's views. The views are used after the scope
    /// value has been dropped.
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
    /// The acquire method that is called, and the amount.
    pub form: Form,
    /// `true` to call the variant that panics, if there is a separate one.
    pub panics: bool,
}

/// An acquire method, and the amount.
#[derive(Clone, Debug)]
pub enum Form {
    /// A slice of a given length.
    Flat(Fill, usize),
    /// A slice with the same length as the newest live view of the scope.
    Like,
    /// Element by element, by code that acquires in the same scope before each index that is a
    /// multiple of `reenter_at`. The code panics before the element at `panic_at`.
    With {
        /// The length.
        length: usize,
        /// The code acquires before each index that is a multiple of this number; `None` means
        /// never.
        reenter_at: Option<usize>,
        /// The index before which the code panics; `None` means never.
        panic_at: Option<usize>,
    },
    /// With a shape of fixed rank, from 1 to 6.
    Shaped(Fill, Vec<usize>),
    /// With a shape of dynamic rank.
    Dynamic(Fill, Vec<usize>),
    /// Rows and columns, split at a row (modulo the number of rows) into two views.
    Split(usize, usize, usize),
    /// A copy that receives a shape with one element less. The shape must be refused, and the copy
    /// must stay unchanged.
    Misshapen,
    /// A request that no pool can fulfil.
    Impossible(Impossible),
}

/// The contents of the elements when they are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Bytes that an earlier use left behind.
    Recycled,
    /// Zero bytes.
    Zeroed,
    /// The same value in all elements.
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
    /// Two axes whose product overflows, next to an axis of length zero.
    ProductBesideZero,
    /// Two axes whose product overflows, next to an axis of length zero, in a shape of dynamic
    /// rank.
    DynamicProductBesideZero,
}

/// A program that uses one dynamic pool.
#[derive(Clone, Debug)]
pub struct DynamicProgram {
    /// The pool's configuration.
    pub setting: Setting,
    /// The steps that run on the pool.
    pub steps: Vec<DynamicStep>,
}

/// A step: one operation on a dynamic pool.
#[derive(Clone, Debug)]
pub enum DynamicStep {
    /// Acquires with a value, a length and an element type. A shape counts as the product of its
    /// lengths.
    Acquire(Acquire),
    /// Makes many small acquires.
    Burst(Kind, usize),
    /// `checkpoint`.
    Checkpoint,
    /// `rewind`.
    Rewind,
    /// `rewind_to`, with a depth modulo one more than the next depth. The depth is either valid or
    /// just above the top.
    RewindTo(usize),
    /// `reset`.
    Reset,
    /// Writes new contents through a handle, which may be live or stale.
    Rewrite(usize),
    /// Writes to two arrays that are borrowed at the same time. The second number selects among the
    /// arrays of the first one's type.
    RewritePair(usize, usize),
    /// Tries a handle that another pool created.
    Foreign(Kind),
    /// Opens a scope above the arrays, whose handles remain usable.
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
    /// Sets which future allocations fail.
    Refuse(Refusal),
}
