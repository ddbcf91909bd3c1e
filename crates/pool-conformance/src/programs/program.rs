//! Programs, represented as values. A program lists the operations that an interpreter performs on
//! a pool.

use pool_core::{Compaction, PoolConfig};

use crate::element::Kind;
use crate::host::HostAcquire;
use crate::ledger::Refusal;

/// A program that uses one pool.
#[derive(Clone, Debug)]
pub struct LexicalProgram {
    /// The pool's configuration.
    pub setting: Setting,
    /// The rounds, which run on the pool one after another.
    pub rounds: Vec<Round>,
}

/// The configuration of the pool that a program uses.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The byte limit, or `None` if there is no limit.
    pub byte_limit: Option<usize>,
    /// The factor by which blocks grow.
    pub growth_factor: f64,
    /// `true` if the pool poisons memory before handing it out.
    pub poison: bool,
    /// `true` if every acquire receives a new block.
    pub fresh: bool,
    /// `true` if the pool measures its peak live bytes.
    pub measure_live_bytes: bool,
    /// The number of ways (entries) in each slot's shape cache.
    pub ways: usize,
}

impl Setting {
    /// Converts the setting to a pool configuration.
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

    /// Returns the byte limit, or `usize::MAX` if there is no limit.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.byte_limit.unwrap_or(usize::MAX)
    }
}

/// A round, which is one operation on a pool that has no open scopes.
#[derive(Clone, Debug)]
pub enum Round {
    /// Opens a scope of the pool and runs the scope's steps.
    Scope(Nested),
    /// Calls `Pool::trim`.
    Trim,
    /// Calls `Pool::clear`.
    Clear,
    /// Calls `Pool::compact`.
    Compact(Compaction),
    /// Calls `Pool::sample_lengths`.
    Sample,
    /// Calls `Pool::configure`.
    Configure(Setting),
}

/// A step, which is one operation in an open scope.
#[derive(Clone, Debug)]
pub enum Step {
    /// Acquires an array and holds its view until the scope ends.
    Acquire(Acquire),
    /// Acquires a slice with a method that is available only in host backends' scopes, and holds
    /// the slice until the scope ends.
    Host(HostAcquire),
    /// Runs an inner scope and retains a slice that outlives it.
    Keep(Keep),
    /// Calls a helper function that receives `&Scope` and acquires an array in that scope.
    Helper(Vec<Acquire>),
    /// Acquires enough small arrays to fill one slot table and require another.
    Burst(Kind, usize),
    /// Writes new contents to a live view of this scope or of an outer scope.
    Rewrite(usize),
    /// Compares every live view with the model.
    Verify,
    /// Calls `Scope::trim`.
    Trim,
    /// Calls `Scope::compact`.
    Compact(Compaction),
    /// Calls `Scope::sample_lengths`.
    Sample,
    /// Opens an inner scope.
    Nested(Nested),
    /// Creates another pool and opens a scope in it while this scope is open.
    Beside(Setting, Vec<Step>),
    /// Panics. The panic is caught by an enclosing [`Style::Caught`] scope, or by the interpreter.
    Panic,
    /// Leaves the scope and this number of its enclosing scopes.
    Leave(usize),
}

/// An inner scope, and the steps that run in it.
#[derive(Clone, Debug)]
pub struct Nested {
    /// The way the scope is opened and owned.
    pub style: Style,
    /// The number of times that the scope is opened in a row.
    pub times: usize,
    /// The rule that selects which allocations the backend refuses while the scope is open.
    pub refusal: Option<Refusal>,
    /// The steps that run in the scope.
    pub steps: Vec<Step>,
}

/// An inner scope, and one slice that outlives the scope.
#[derive(Clone, Debug)]
pub struct Keep {
    /// The steps that run before the slice is acquired. If a step leaves the scope before the slice
    /// is acquired, no slice outlives the scope.
    pub steps: Vec<Step>,
    /// The call that acquires the slice and initializes its elements.
    pub acquire: HostAcquire,
    /// The acquires that run after the slice has been acquired.
    pub after: Vec<Acquire>,
    /// The part of the slice that outlives the scope. The start and end of this range are taken
    /// modulo the slice's length plus one. For an array, this part is always the entire array.
    pub part: [usize; 2],
}

/// The way an inner scope is opened and owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The scope is opened in a block of the same function.
    Block,
    /// A function receives `&mut Scope` and opens the inner scope.
    Reference,
    /// A function takes ownership of the scope.
    Value,
    /// A function takes ownership of the scope and returns its views. The views are used after the
    /// scope value has been dropped.
    Kept,
    /// The scope and its views are passed to `mem::forget`.
    Forgotten,
    /// The scope is opened inside `catch_unwind`.
    Caught,
}

/// One acquire of a program.
#[derive(Clone, Debug)]
pub struct Acquire {
    /// The element type.
    pub kind: Kind,
    /// The acquire method to call, and the number of elements to acquire.
    pub form: Form,
    /// `true` to call the panicking variant of the method, if there is one.
    pub panics: bool,
}

/// An acquire method, and the number of elements to acquire.
#[derive(Clone, Debug)]
pub enum Form {
    /// A slice that has a given length.
    Flat(Fill, usize),
    /// A slice with the same length as the newest live view in the scope.
    Like,
    /// A slice whose elements are created one at a time. The code that creates the elements
    /// acquires memory in the same scope whenever the next element's index is a multiple of
    /// `reenter_at`. The code panics before it creates the element at index `panic_at`.
    With {
        /// The number of elements.
        length: usize,
        /// The code that creates the elements acquires memory whenever the next element's index is
        /// a multiple of `reenter_at`. If `reenter_at` is `None`, the code acquires nothing.
        reenter_at: Option<usize>,
        /// The code panics before it creates the element at index `panic_at`. If `panic_at` is
        /// `None`, the code does not panic.
        panic_at: Option<usize>,
    },
    /// An array whose shape has a fixed rank from 1 to 6.
    Shaped(Fill, Vec<usize>),
    /// An array with a shape of dynamic rank.
    Dynamic(Fill, Vec<usize>),
    /// A matrix with the given numbers of rows and columns, split into two views at a row. The row
    /// at which the matrix is split is taken modulo the number of rows.
    Split(usize, usize, usize),
    /// A copy for which the requested shape has one element too few. The library must refuse the
    /// shape, and must leave the copy unchanged.
    Misshapen,
    /// A request that no pool can fulfill.
    Impossible(Impossible),
}

/// The contents of the elements when they are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// The bytes that an earlier use of the memory left behind.
    Recycled,
    /// Zero bytes.
    Zeroed,
    /// Every element has the same given value.
    Filled,
    /// The elements are copied from host memory.
    Copied,
}

/// A request that must fail with a typed error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impossible {
    /// A slice of more than `isize::MAX` bytes.
    Length(usize),
    /// A shape for which the product of the dimensions overflows.
    Product,
    /// A shape with two axes whose lengths overflow when multiplied, and with a third axis of
    /// length zero.
    ProductBesideZero,
    /// A shape of dynamic rank with two axes whose lengths overflow when multiplied, and with a
    /// third axis of length zero.
    DynamicProductBesideZero,
}

/// A program that uses one dynamic pool.
#[derive(Clone, Debug)]
pub struct DynamicProgram {
    /// The configuration of the pool.
    pub setting: Setting,
    /// The steps that run on the pool.
    pub steps: Vec<DynamicStep>,
}

/// A step, which is one operation on a dynamic pool.
#[derive(Clone, Debug)]
pub enum DynamicStep {
    /// Acquires an array. An array with a shape is acquired as a slice whose length is the product
    /// of the shape's dimensions.
    Acquire(Acquire),
    /// Acquires many small arrays.
    Burst(Kind, usize),
    /// Calls `checkpoint`.
    Checkpoint,
    /// Calls `rewind`.
    Rewind,
    /// Calls `rewind_to`. The number selects either a valid depth or the depth just above the top.
    RewindTo(usize),
    /// Calls `reset`.
    Reset,
    /// Writes new contents through a handle, which may be either live or stale.
    Rewrite(usize),
    /// Writes to two arrays that are mutably borrowed at the same time. The second number selects
    /// one of the arrays that have the same element type as the first array.
    RewritePair(usize, usize),
    /// Looks up a handle that another pool created.
    Foreign(Kind),
    /// Opens a scope above the arrays. The arrays' handles can be used while the scope is open.
    Split(Vec<Step>),
    /// Calls `trim`.
    Trim,
    /// Calls `clear`.
    Clear,
    /// Calls `compact`.
    Compact(Compaction),
    /// Calls `sample_lengths`.
    Sample,
    /// Calls `configure`.
    Configure(Setting),
    /// Sets the rule that selects which future allocations the backend refuses.
    Refuse(Refusal),
}
