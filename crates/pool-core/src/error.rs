//! The error type of the crate, with the numbers asked, used and available, and advice. `Display`
//! prints an error's own part; `source` is the underlying error.

use core::error::Error;
use core::fmt;

/// The reason why a pool operation failed. The pool stays usable after each of them.
///
/// `E` is the backend's own error ([`PoolBackend::Error`](crate::PoolBackend::Error)). `Display`
/// prints the pool's part, and [`source`](Error::source) returns the backend's error.
/// [`error_chain`] prints both on one line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PoolError<E> {
    /// The request exceeds any address space: more than `isize::MAX` bytes, rounded up to a block
    /// size.
    SizeOverflow {
        /// Elements requested.
        elements: usize,
        /// Bytes of one element.
        element_size: usize,
    },
    /// The alignment is not a power of two.
    Alignment {
        /// The alignment requested, in bytes.
        asked: usize,
    },
    /// The shape is impossible, or does not fit its array.
    Shape(ShapeError),
    /// The pool's byte limit does not allow the block, even after every idle block was freed.
    LimitExceeded {
        /// Bytes of the requested block.
        requested: usize,
        /// Bytes that the pool holds in blocks that are in use.
        reserved: usize,
        /// The pool's limit in bytes.
        limit: usize,
    },
    /// The backend cannot allocate the block, even after every idle block of this pool was freed.
    OutOfMemory {
        /// Bytes of the requested block.
        requested: usize,
        /// Bytes that the pool holds in blocks that are in use.
        reserved: usize,
        /// Bytes of the three largest of those blocks, in descending order; 0 if there are fewer.
        largest: [usize; 3],
        /// The backend's own error.
        source: E,
    },
    /// The host has no memory for the pool's own bookkeeping.
    Bookkeeping {
        /// Bytes requested for a table, a shape set or a stack.
        requested: usize,
    },
    /// The backend could not start, or could not fill, copy or order memory.
    Backend {
        /// The operation that failed.
        operation: &'static str,
        /// The backend's own error.
        source: E,
    },
    /// A configuration value is out of its range.
    Config(ConfigError),
    /// The handle belongs to another pool.
    ForeignHandle {
        /// The pool that the handle was used with.
        pool: u64,
        /// The pool that made the handle.
        made_by: u64,
    },
    /// The array that the handle named was rewound or freed, or its slot was reused.
    StaleHandle {
        /// The slot that the handle names.
        slot: usize,
        /// The number of slots in use.
        active: usize,
    },
    /// Two of the handles to be borrowed together are the same.
    RepeatedHandle {
        /// The slot that both name.
        slot: usize,
    },
    /// The call came from code that the pool runs inside another operation: an allocator's hook, a
    /// `tracing` subscriber, a backend. Such code cannot acquire from this pool.
    ///
    /// The twins without `try_` panic with this error as with any other. An allocator must not
    /// unwind, so its hooks must use the `try_` forms.
    Reentered,
    /// The process has used up all pool identities, which handles carry. Targets of 32 bits have
    /// some four thousand million; other targets never run out in practice.
    IdentitiesExhausted {
        /// Pools that a process can make.
        most: usize,
    },
    /// There is no checkpoint of that depth.
    NoSuchCheckpoint {
        /// The depth requested.
        asked: usize,
        /// The depth of the newest checkpoint; 0 is the root.
        top: usize,
    },
}

impl<E> fmt::Display for PoolError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SizeOverflow { elements, element_size } => write!(
                f,
                "{elements} elements of {element_size} bytes exceed the address space: check how the length was \
                 computed"
            ),
            Self::Alignment { asked } => {
                write!(f, "an alignment is a power of two, not {asked}: check how it was computed")
            }
            Self::Shape(error) => error.fmt(f),
            Self::LimitExceeded { requested, reserved, limit } => write!(
                f,
                "a block of {requested} bytes does not fit the pool's limit of {limit} bytes, {reserved} of which \
                 are in use: raise the limit, or end scopes earlier"
            ),
            Self::OutOfMemory { requested, reserved, largest, .. } => write!(
                f,
                "cannot allocate a block of {requested} bytes: {reserved} bytes of this pool are in use{}, and its \
                 idle blocks were freed; request less, end scopes earlier, or trim other pools",
                LargestBlocks(largest)
            ),
            Self::Bookkeeping { requested } => write!(
                f,
                "cannot allocate {requested} bytes of host memory for the pool's bookkeeping: free host memory"
            ),
            Self::Backend { operation, .. } => write!(f, "the backend failed to {operation}"),
            Self::Config(error) => error.fmt(f),
            Self::ForeignHandle { pool, made_by } => write!(
                f,
                "the handle was made by pool {made_by}, not by this one ({pool}): use it with the pool that made it"
            ),
            Self::StaleHandle { slot, active } => write!(
                f,
                "the handle of slot {slot} is stale ({active} slots are handed out): it was rewound or replaced, so \
                 acquire again"
            ),
            Self::RepeatedHandle { slot } => write!(
                f,
                "slot {slot} is named twice: only distinct handles can be borrowed together"
            ),
            Self::Reentered => f.write_str(
                "the pool is in the middle of an acquire or a trim that called this code: an allocator's hook, a \
                 tracing subscriber or a backend must use another pool",
            ),
            Self::IdentitiesExhausted { most } => write!(
                f,
                "the process has used all {most} pool identities: keep pools and reuse them"
            ),
            Self::NoSuchCheckpoint { asked, top } => write!(
                f,
                "there is no checkpoint of depth {asked}: the newest has depth {top} (0 is the root)"
            ),
        }
    }
}

impl<E: Error + 'static> Error for PoolError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::OutOfMemory { source, .. } | Self::Backend { source, .. } => Some(source),
            Self::Shape(error) => error.source(),
            Self::Config(error) => error.source(),
            _ => None,
        }
    }
}

impl<E> From<ShapeError> for PoolError<E> {
    fn from(error: ShapeError) -> Self {
        Self::Shape(error)
    }
}

impl<E> From<ConfigError> for PoolError<E> {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

/// The largest blocks of a pool, if it has any.
struct LargestBlocks<'a>(&'a [usize; 3]);

impl fmt::Display for LargestBlocks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sizes = self.0.iter().filter(|bytes| **bytes > 0);
        let Some(largest) = sizes.next() else { return Ok(()) };
        write!(f, " (the largest blocks: {largest}")?;
        sizes.try_for_each(|bytes| write!(f, ", {bytes}"))?;
        f.write_str(")")
    }
}

/// The reason why a shape is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeError {
    /// The product of the axes that are not zero is above `isize::MAX`, in elements or in bytes.
    Overflow {
        /// The number of axes.
        rank: usize,
        /// Bytes of one element.
        element_size: usize,
    },
    /// A view was given a shape with another number of elements.
    LengthMismatch {
        /// Elements that the shape has.
        asked: usize,
        /// Elements that the view has.
        length: usize,
    },
    /// A split beyond the end.
    SplitOutOfRange {
        /// The index of the split.
        asked: usize,
        /// The length of the array or axis.
        extent: usize,
    },
    /// A copy between different lengths.
    CopyMismatch {
        /// Elements of the source.
        from: usize,
        /// Elements of the destination.
        to: usize,
    },
    /// A part that is not within its view.
    PartOutOfRange {
        /// The start of the requested part.
        start: usize,
        /// The end of the range, exclusive.
        end: usize,
        /// The length of the view.
        extent: usize,
    },
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overflow { rank, element_size } => write!(
                f,
                "the shape of rank {rank} overflows: the product of its axes that are not zero, times \
                 {element_size} bytes, is above isize::MAX"
            ),
            Self::LengthMismatch { asked, length } => write!(
                f,
                "a shape of {asked} elements does not fit a view of {length}: the products must agree"
            ),
            Self::SplitOutOfRange { asked, extent } => {
                write!(f, "cannot split at {asked}: the length is {extent}")
            }
            Self::CopyMismatch { from, to } => {
                write!(f, "cannot copy {from} elements to {to}: the lengths must agree")
            }
            Self::PartOutOfRange { start, end, extent } => {
                write!(f, "the part {start}..{end} is out of range: the view has {extent} elements")
            }
        }
    }
}

impl Error for ShapeError {}

/// The reason why a [`PoolView`](crate::PoolView) that is a slice could not be read or written.
/// Converts into the variant of the same name of [`PoolError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewError {
    /// A copy between different lengths, or a part or a split that is not within the view.
    Shape(ShapeError),
    /// The host has no memory for the elements.
    Bookkeeping {
        /// Bytes requested.
        requested: usize,
    },
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(error) => error.fmt(f),
            Self::Bookkeeping { requested } => {
                write!(f, "cannot allocate {requested} bytes of host memory for the elements")
            }
        }
    }
}

impl Error for ViewError {}

impl From<ShapeError> for ViewError {
    fn from(error: ShapeError) -> Self {
        Self::Shape(error)
    }
}

impl<E> From<ViewError> for PoolError<E> {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Shape(error) => Self::Shape(error),
            ViewError::Bookkeeping { requested } => Self::Bookkeeping { requested },
        }
    }
}

/// The value of a [`PoolConfig`](crate::PoolConfig) that is out of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The shape cache has 1 to 16 ways.
    Ways {
        /// Ways requested.
        asked: usize,
    },
    /// The growth factor is finite and at least 1.
    GrowthFactor {
        /// The factor requested.
        asked: f64,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ways { asked } => write!(f, "the shape cache has 1 to 16 ways, not {asked}"),
            Self::GrowthFactor { asked } => {
                write!(f, "the growth factor must be finite and at least 1, not {asked}")
            }
        }
    }
}

impl Error for ConfigError {}

/// Formats an error and its sources on one line: `error: source: source`.
///
/// [`Display`](fmt::Display) of an error prints its own part alone. The twins without `try_` panic
/// with this text, and programs should show it to users.
///
/// ```
/// use pool_core::{PoolError, error_chain};
/// # use pool_conformance::RefusalError;
/// let error = PoolError::Backend { operation: "zero a block", source: RefusalError { bytes: 64 } };
/// assert_eq!(error.to_string(), "the backend failed to zero a block");
/// let whole = error_chain(&error).to_string();
/// assert_eq!(whole, "the backend failed to zero a block: the test refused 64 bytes");
/// ```
pub fn error_chain<'a>(error: &'a (dyn Error + 'static)) -> impl fmt::Display + use<'a> {
    ErrorChain(error)
}

/// An error that is displayed with its sources.
struct ErrorChain<'a>(&'a (dyn Error + 'static));

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

/// Ends the twin without `try_` of a fallible call: panics with the text of the error and of its sources.
#[cold]
#[inline(never)]
#[track_caller]
#[expect(clippy::panic, reason = "the documented behaviour of every twin without `try_`")]
pub(crate) fn panic_with(error: &(dyn Error + 'static)) -> ! {
    panic!("{}", error_chain(error))
}
