//! Acquire methods for elements of any `Copy` type, if the host can write a block through a
//! pointer: elements with padding, pointers, references, tuples, and uninitialised memory. Writing
//! such elements marks their slot before the first write, and the slot is zeroed before it is
//! handed out for reading (`raw`, invariant 10). Values that implement `Drop` are stored in boxes,
//! or in collections that use the allocator of a scope.

#[cfg(feature = "allocator-api2")]
mod allocator;
mod collect;
mod fixed_vec;
mod keep;
mod plain;
mod pool_box;
#[cfg(feature = "allocator-api2")]
mod pool_string;
mod pool_vec;
mod scratch;
mod slices;
mod uninit;

use crate::backend::PoolBackend;
use crate::error::PoolError;
use crate::nd_view::NdView;
use crate::shape::Shape;
#[cfg(feature = "allocator-api2")]
pub use allocator::ScopeAllocator;
pub use fixed_vec::{CapacityError, FixedVec};
pub(crate) use plain::is_known_plain;
pub use pool_box::{Boxable, PoolBox};
#[cfg(feature = "allocator-api2")]
pub use pool_string::PoolString;
pub use pool_vec::PoolVec;

/// The result of a `try_` acquire of elements that the host writes: a slice by default, and
/// otherwise an array of the shape `S`.
pub type HostAcquireResult<'s, B, T, S = usize> =
    Result<<S as Shape>::Array<'s, &'s mut [T]>, PoolError<<B as PoolBackend>::Error>>;

/// An array of fixed rank whose elements the host writes, in row-major order.
pub type HostArray<'s, T, const N: usize> = NdView<&'s mut [T], [usize; N]>;
