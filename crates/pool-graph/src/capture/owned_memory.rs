//! Memory that was allocated outside a session and is now owned by the session. The memory is a
//! cudarc slice or an owned array from a device pool.
//!
//! This ownership is sound for three reasons:
//!
//! 1. When a session takes ownership of memory, it waits until all work in the memory's context has
//!    completed. Every earlier write on any stream therefore ends before a capture begins, whether
//!    or not cudarc tracks events.
//! 2. Memory that a session only reads may have other readers. Each of these readers owns a clone
//!    of the slice's `Arc`. These clones cannot provide a `&mut` reference to the slice. Only the
//!    session owns memory that graphs write to.
//! 3. The owning value is dropped only when no session is capturing and none of the session's
//!    graphs can run again. The destructor can therefore safely enqueue a free on a stream.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pool_core::{Element, Owned};
use pool_cuda::Cuda;
use pool_driver::calls::synchronize_context;
use pool_driver::capture::is_capturing;
use pool_driver::context::bind;
use pool_driver::cudarc::driver::{CudaContext, CudaSlice, DevicePtr};
use pool_driver::error::CudaError;

use super::error::CaptureError;
use crate::base::range::LeasedRange;
use crate::driver::KeptValues;

/// Device memory that a session can own: a `CudaSlice`, a `CudaSlice` in an `Arc`, or an [`Owned`]
/// array from a device pool.
#[diagnostic::on_unimplemented(
    message = "a session cannot own `{Self}`",
    label = "not device memory that a session can own",
    note = "a session owns a `CudaSlice<T>`, an `Arc<CudaSlice<T>>`, or an `Owned<Cuda, T>` of a `SharedPool`"
)]
pub trait OwnedSource: sealed::OwnedSource {
    /// The memory's element type.
    type Element: Element;
}

/// Device memory that a session can own and that its graphs can write to. A value of an
/// implementing type is the only owner of its memory.
#[diagnostic::on_unimplemented(
    message = "a session cannot own `{Self}` for writing",
    label = "this memory may have other owners",
    note = "pass memory that graphs write by value: a `CudaSlice<T>`, or an `Owned<Cuda, T>` of a `SharedPool`"
)]
pub trait OwnedSourceMut: OwnedSource {}

mod sealed {
    use std::sync::Arc;

    use super::{CaptureError, CudaContext};

    pub trait OwnedSource: Send + 'static {
        /// Returns the memory's address and number of elements.
        fn place(&self) -> Result<(u64, usize), CaptureError>;

        fn context(&self) -> Arc<CudaContext>;
    }
}

impl<T: Element> OwnedSource for CudaSlice<T> {
    type Element = T;
}

impl<T: Element> OwnedSourceMut for CudaSlice<T> {}

impl<T: Element> sealed::OwnedSource for CudaSlice<T> {
    fn place(&self) -> Result<(u64, usize), CaptureError> {
        Ok((address_of(self)?, self.len()))
    }

    fn context(&self) -> Arc<CudaContext> {
        Arc::clone(self.context())
    }
}

impl<T: Element> OwnedSource for Arc<CudaSlice<T>> {
    type Element = T;
}

impl<T: Element> sealed::OwnedSource for Arc<CudaSlice<T>> {
    fn place(&self) -> Result<(u64, usize), CaptureError> {
        sealed::OwnedSource::place(&**self)
    }

    fn context(&self) -> Arc<CudaContext> {
        Arc::clone(CudaSlice::context(self))
    }
}

impl<T: Element + Send> OwnedSource for Owned<Cuda, T> {
    type Element = T;
}

impl<T: Element + Send> OwnedSourceMut for Owned<Cuda, T> {}

impl<T: Element + Send> sealed::OwnedSource for Owned<Cuda, T> {
    fn place(&self) -> Result<(u64, usize), CaptureError> {
        Ok((self.view().address(), self.len()))
    }

    fn context(&self) -> Arc<CudaContext> {
        Arc::clone(self.view().pool_stream().context())
    }
}

/// Returns a slice's address. Before cudarc returns the address, it makes the given stream wait for
/// the slice's last write. The stream passed here is the slice's own stream, and it must not be
/// capturing during this call.
fn address_of<T>(slice: &CudaSlice<T>) -> Result<u64, CaptureError> {
    let stream = slice.stream();
    bind(stream.context())?;
    if is_capturing(stream)? {
        return Err(CaptureError::AlreadyCapturing { stream: stream.cu_stream().addr() as u64 });
    }
    // If earlier calls left an error in the context, that error is put back into the context,
    // because this call did not cause it.
    let earlier = stream.context().check_err();
    let (address, guard) = slice.device_ptr(stream);
    // If this guard were dropped, cudarc would record an event that replaces the last reader's
    // event. This call does not read the slice, so it must not record an event.
    std::mem::forget(guard);
    // An error from cudarc's wait for the last write is ignored, because the caller waits for all
    // the work in the context anyway.
    let _order = stream.context().check_err();
    stream.context().record_err(earlier);
    Ok(address)
}

/// An identifier for a slice that a session [owns](crate::CaptureSession::own) and that its graphs
/// can read.
pub struct OwnedSlice<T> {
    pub(crate) name: OwnedName,
    elements: PhantomData<fn() -> T>,
}

/// An identifier for a slice that a session [owns](crate::CaptureSession::own_mut) and that its
/// graphs can read and write.
pub struct OwnedSliceMut<T> {
    pub(crate) name: OwnedName,
    elements: PhantomData<fn() -> T>,
}

/// An identifier for owned memory: a unique number, the number of elements, and the address range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedName {
    number: u64,
    pub(crate) elements: usize,
    pub(crate) range: LeasedRange,
}

macro_rules! name_of_a_slice {
    ($name:ident) => {
        impl<T> $name<T> {
            pub(crate) fn new(memory: &OwnedMemory) -> Self {
                Self { name: memory.name, elements: PhantomData }
            }

            /// Returns the number of elements in the slice.
            #[must_use]
            pub fn len(&self) -> usize {
                self.name.elements
            }

            /// Returns `true` if the slice has no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.name.elements == 0
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("address", &format_args!("{:#x}", self.name.range.address))
                    .field("elements", &self.name.elements)
                    .finish_non_exhaustive()
            }
        }
    };
}

name_of_a_slice!(OwnedSlice);
name_of_a_slice!(OwnedSliceMut);

/// Memory that first belongs to a session and later to the session's graphs.
pub(crate) struct OwnedMemory {
    pub(crate) name: OwnedName,
    /// `true` if graphs may write to the memory.
    pub(crate) is_written: bool,
    /// The owner whose destructor frees the memory.
    _keeper: Arc<KeptValues>,
}

impl OwnedMemory {
    /// Takes ownership of `memory` and waits until all work in its context has completed.
    pub(crate) fn new<M: OwnedSource>(
        memory: M,
        own: &CudaContext,
        is_written: bool,
    ) -> Result<Self, CaptureError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let other = memory.context();
        if own.cu_ctx() != other.cu_ctx() {
            let (session, other) = (own.ordinal(), other.ordinal());
            return Err(CaptureError::WrongContext { session, other });
        }
        let (address, elements) = memory.place()?;
        let keeper = KeptValues::new()?;
        keeper.keep(Box::new(memory))?;
        synchronize_context(own, None).map_err(|error| match error {
            CudaError::UnknownUse { .. } => {
                let operation = "wait for earlier work on memory that a session will own";
                CudaError::Capturing { operation }
            }
            error => error,
        })?;
        // The multiplication cannot overflow, because the size was checked when the memory was
        // allocated.
        let bytes = (elements * size_of::<M::Element>()) as u64;
        let range = LeasedRange { address, bytes };
        let name = OwnedName { number: NEXT.fetch_add(1, Ordering::Relaxed), elements, range };
        Ok(Self { name, is_written, _keeper: keeper })
    }

    /// Returns `true` if the memory contains at least one byte of `[address, address + bytes)`.
    pub(crate) fn meets(&self, address: u64, bytes: u64) -> bool {
        let LeasedRange { address: begin, bytes: length } = self.name.range;
        let end = |begin: u64, bytes: u64| begin.saturating_add(bytes);
        begin.max(address) < end(begin, length).min(end(address, bytes))
    }
}

/// Returns the index in `owned` of the memory identified by `name`. `owned` lists a session's owned
/// memory.
pub(crate) fn find_owned(owned: &[OwnedMemory], name: &OwnedName) -> Result<usize, CaptureError> {
    let LeasedRange { address, bytes } = name.range;
    let found = owned.iter().position(|memory| memory.name == *name);
    found.ok_or(CaptureError::NotOwned { address, bytes })
}

impl fmt::Debug for OwnedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedMemory")
            .field("name", &self.name)
            .field("is_written", &self.is_written)
            .finish_non_exhaustive()
    }
}
