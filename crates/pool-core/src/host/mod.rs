//! Implements acquire methods for elements of any `Copy` type on backends whose blocks host code
//! can write through a pointer. The elements may contain padding, and may also be pointers,
//! references, tuples, or `MaybeUninit` values.
//!
//! If the elements are not plain data, their slot is marked before the first write. A marked slot
//! is zeroed before it is handed out for reading (invariant 10 of the `raw` module). Values that
//! implement `Drop` are stored in boxes or in collections that use a scope's allocator.

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

/// The return type of the `try_` acquire methods for elements that the host writes. The result
/// contains a slice by default, or an array if `S` is a list of axis lengths.
pub type HostAcquireResult<'s, B, T, S = usize> =
    Result<<S as Shape>::Array<'s, &'s mut [T]>, PoolError<<B as PoolBackend>::Error>>;

/// A fixed-rank array whose elements the host writes. The elements are in row-major order.
pub type HostArray<'s, T, const N: usize> = NdView<&'s mut [T], [usize; N]>;
