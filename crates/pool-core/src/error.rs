//! Defines the crate's error types. Each error message states the requested, used, and available
//! amounts, and suggests how to proceed. `Display` prints only the error's own message; `source`
//! returns the underlying error.

use core::error::Error;
use core::fmt;

/// The reason a pool operation failed. The pool remains usable after any `PoolError`.
///
/// The type parameter `E` is the type of the backend's own errors
/// ([`PoolBackend::Error`](crate::PoolBackend::Error)). `Display` prints only the pool's message;
/// [`source`](Error::source) returns the backend's error. [`error_chain`] prints the error's
/// message and the messages of its sources on one line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PoolError<E> {
    /// The requested size, rounded up to a block size, exceeds `isize::MAX` bytes.
    SizeOverflow {
        /// The number of requested elements.
        elements: usize,
        /// The size of one element in bytes.
        element_size: usize,
    },
    /// The requested alignment is not a power of two.
    Alignment {
        /// The requested alignment in bytes.
        asked: usize,
    },
    /// The shape is invalid or does not match its array.
    Shape(ShapeError),
    /// Allocating the block would exceed the pool's byte limit, even after every idle block has
    /// been freed.
    LimitExceeded {
        /// The size of the requested block in bytes.
        requested: usize,
        /// The total size, in bytes, of the pool's blocks that are in use.
        reserved: usize,
        /// The pool's byte limit.
        limit: usize,
    },
    /// The backend could not allocate the block, even after the pool freed all of its idle blocks.
    OutOfMemory {
        /// The size of the requested block in bytes.
        requested: usize,
        /// The total size, in bytes, of the pool's blocks that are in use.
        reserved: usize,
        /// The sizes, in bytes, of the three largest blocks in use, in descending order. Unused
        /// entries are 0.
        largest: [usize; 3],
        /// The backend's own error.
        source: E,
    },
    /// The host could not allocate memory for the pool's bookkeeping.
    Bookkeeping {
        /// The number of bytes that the pool requested for a table, a shape set, or a stack.
        requested: usize,
    },
    /// The backend failed to start, to fill or copy memory, or to wait for pending work.
    Backend {
        /// The operation that failed.
        operation: &'static str,
        /// The backend's own error.
        source: E,
    },
    /// A configuration value is out of range.
    Config(ConfigError),
    /// The handle belongs to another pool.
    ForeignHandle {
        /// The identity of the pool that received the handle.
        pool: u64,
        /// The identity of the pool that created the handle.
        made_by: u64,
    },
    /// The array that the handle refers to was freed, for example by a rewind, or its slot was
    /// handed out again.
    StaleHandle {
        /// The index of the slot that the handle refers to.
        slot: usize,
        /// The number of slots that are currently handed out.
        active: usize,
    },
    /// Two handles passed to the same call are equal.
    RepeatedHandle {
        /// The index of the slot that both handles refer to.
        slot: usize,
    },
    /// The caller was an allocator's hook, a `tracing` subscriber, a backend, or other code that
    /// another operation of the pool was running. Code that runs inside one of a pool's operations
    /// cannot acquire memory from that pool.
    ///
    /// Methods whose names do not start with `try_` panic with this error, just as they do with any
    /// other. An allocator must not unwind, so its hooks must use the `try_` methods.
    Reentered,
    /// The process has used up all pool identities, and each pool needs a unique one. A process on
    /// a 32-bit target can create about four billion pools. On all other targets, a process never
    /// runs out of identities in practice.
    IdentitiesExhausted {
        /// The maximum number of pools that a process can create.
        most: usize,
    },
    /// No checkpoint exists at the requested depth.
    NoSuchCheckpoint {
        /// The requested depth.
        asked: usize,
        /// The depth of the newest checkpoint, where 0 is the root.
        top: usize,
    },
}

impl<E> fmt::Display for PoolError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SizeOverflow { elements, element_size } => write!(
                f,
                "{elements} elements of {element_size} bytes exceed the address space: check how \
                 the length was computed"
            ),
            Self::Alignment { asked } => {
                write!(
                    f,
                    "the alignment {asked} is not a power of two: check how the alignment was \
                     computed"
                )
            }
            Self::Shape(error) => error.fmt(f),
            Self::LimitExceeded { requested, reserved, limit } => write!(
                f,
                "a block of {requested} bytes would exceed the pool's limit of {limit} bytes, \
                 {reserved} of which are in use: raise the limit, or end scopes earlier"
            ),
            Self::OutOfMemory { requested, reserved, largest, .. } => write!(
                f,
                "cannot allocate a block of {requested} bytes: {reserved} bytes of this pool are \
                 in use{}, and all idle blocks of the pool were already freed; request fewer bytes, \
                 end scopes earlier, or trim other pools",
                LargestBlocks(largest)
            ),
            Self::Bookkeeping { requested } => write!(
                f,
                "cannot allocate {requested} bytes of host memory for the pool's bookkeeping: free \
                 host memory"
            ),
            Self::Backend { operation, .. } => write!(f, "the backend failed to {operation}"),
            Self::Config(error) => error.fmt(f),
            Self::ForeignHandle { pool, made_by } => write!(
                f,
                "the handle was created by pool {made_by}, not by this pool ({pool}): use the \
                 handle with its own pool"
            ),
            Self::StaleHandle { slot, active } => write!(
                f,
                "the handle of slot {slot} is stale ({active} slots are in use), because its array \
                 was rewound or replaced: acquire another array"
            ),
            Self::RepeatedHandle { slot } => {
                write!(f, "two of the handles name slot {slot}: pass each handle only once")
            }
            Self::Reentered => f.write_str(
                "the pool was called by code that runs inside an acquire or a trim of the same \
                 pool: an allocator's hook, a tracing subscriber or a backend must use another \
                 pool",
            ),
            Self::IdentitiesExhausted { most } => write!(
                f,
                "the process has already created {most} pools, which is the maximum: keep pools \
                 and reuse them"
            ),
            Self::NoSuchCheckpoint { asked, top } => write!(
                f,
                "there is no checkpoint at depth {asked}: the newest checkpoint has depth {top} (0 \
                 is the root)"
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

/// The sizes of the largest blocks in use in a pool, if any.
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

/// The reason a shape is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeError {
    /// The product of the nonzero axis lengths exceeds `isize::MAX`, either in elements or in
    /// bytes.
    Overflow {
        /// The number of axes.
        rank: usize,
        /// The size of one element in bytes.
        element_size: usize,
    },
    /// The shape and the view have different numbers of elements.
    LengthMismatch {
        /// The number of elements in the shape.
        asked: usize,
        /// The number of elements in the view.
        length: usize,
    },
    /// The index of the split is greater than the length of the array or axis.
    SplitOutOfRange {
        /// The index of the split.
        asked: usize,
        /// The length of the array or axis.
        extent: usize,
    },
    /// The source and destination of a copy have different lengths.
    CopyMismatch {
        /// The number of elements in the source.
        from: usize,
        /// The number of elements in the destination.
        to: usize,
    },
    /// The requested range is not within the view.
    PartOutOfRange {
        /// The start of the requested range.
        start: usize,
        /// The exclusive end of the requested range.
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
                "the shape with {rank} axes is too large: the product of the nonzero axis lengths, \
                 times {element_size} bytes per element, exceeds isize::MAX"
            ),
            Self::LengthMismatch { asked, length } => write!(
                f,
                "a shape of {asked} elements does not match a view of {length} elements: the \
                 product of the axis lengths must be {length}"
            ),
            Self::SplitOutOfRange { asked, extent } => {
                write!(f, "cannot split at index {asked}: the length is only {extent}")
            }
            Self::CopyMismatch { from, to } => {
                write!(
                    f,
                    "cannot copy {from} elements to a destination of {to} elements: the lengths \
                     must be equal"
                )
            }
            Self::PartOutOfRange { start, end, extent } => {
                write!(
                    f,
                    "the range {start}..{end} is out of bounds: the view has {extent} elements"
                )
            }
        }
    }
}

impl Error for ShapeError {}

/// The reason a slice, used as a [`PoolView`](crate::PoolView), could not be read or written. A
/// `ViewError` can be converted into the [`PoolError`] variant of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewError {
    /// The source and destination of a copy have different lengths, or a range or split is out of
    /// bounds.
    Shape(ShapeError),
    /// The host could not allocate memory for the elements.
    Bookkeeping {
        /// The number of requested bytes.
        requested: usize,
    },
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(error) => error.fmt(f),
            Self::Bookkeeping { requested } => {
                write!(
                    f,
                    "cannot allocate {requested} bytes of host memory for the elements: free host \
                     memory"
                )
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

/// The reason a [`PoolConfig`](crate::PoolConfig) is invalid. Each variant describes a value that
/// is out of range.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The number of cached shapes is not between 1 and 16.
    Ways {
        /// The requested number of cached shapes.
        asked: usize,
    },
    /// The growth factor is not finite or is less than 1.
    GrowthFactor {
        /// The requested growth factor.
        asked: f64,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ways { asked } => {
                write!(f, "the shape cache cannot have {asked} ways: choose 1 to 16")
            }
            Self::GrowthFactor { asked } => {
                write!(
                    f,
                    "the growth factor {asked} is not valid: choose a finite factor of at least 1"
                )
            }
        }
    }
}

impl Error for ConfigError {}

/// Formats an error and all of its sources on one line, separated by colons.
///
/// [`Display`](fmt::Display) prints only the error's own message. Methods whose names do not start
/// with `try_` panic with the text from `error_chain`. Programs should show the text from
/// `error_chain` to their users.
///
/// ```
/// use pool_core::{PoolError, error_chain};
/// # use pool_conformance::RefusalError;
/// let error = PoolError::Backend { operation: "zero a block", source: RefusalError { bytes: 64 } };
/// assert_eq!(error.to_string(), "the backend failed to zero a block");
/// let whole = error_chain(&error).to_string();
/// assert_eq!(whole, "the backend failed to zero a block: the test refused to allocate 64 bytes");
/// ```
pub fn error_chain<'a>(error: &'a (dyn Error + 'static)) -> impl fmt::Display + use<'a> {
    ErrorChain(error)
}

/// A wrapper that displays an error together with its sources.
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

/// Panics with the messages of an error and its sources. Methods whose names do not start with
/// `try_` call this function.
#[cold]
#[inline(never)]
#[track_caller]
#[expect(clippy::panic, reason = "the documented behaviour of every twin without `try_`")]
pub(crate) fn panic_with(error: &(dyn Error + 'static)) -> ! {
    panic!("{}", error_chain(error))
}
