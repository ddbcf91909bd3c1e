//! Defines views of device memory, which a pool returns when arrays are acquired. Like a slice, a
//! view borrows from its pool. A view consists of an address and a length, and has no destructor.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_core::{Element, LendView, SlotRef};
use pool_driver::error::CudaError;

use crate::cuda::Cuda;
use crate::view::block::DeviceBlock;
use crate::view::region::Region;

/// An exclusive view of elements in device memory, similar to `&mut [T]` for host memory.
///
/// cudarc's functions (`memcpy_*`, `memset_zeros`, cuBLAS, …) accept the view on any stream of the
/// device. You can pass the view directly to a kernel on the pool's stream (see
/// [`Launch`](crate::Launch)). For a kernel on another stream, pass `view.on(&stream)?` (see
/// [`on`](Self::on)). A graph captured by cudarc does not keep its nodes' memory alive, and
/// cudarc's `launch` method does not check that this memory still exists. A graph captured by
/// cudarc does not even keep cudarc's own slices alive. If a graph uses views, launch it only while
/// the views are alive. Alternatively, capture the graph with `pool-graph`, whose graphs own their
/// memory. To pass a view to a type from another crate, use the raw address:
///
/// ```no_run
/// use pool_core::Pool;
/// use pool_cuda::{Cuda, record_use};
///
/// /// A tensor of some other crate, which borrows device memory.
/// struct ForeignTensor {
///     pointer: *mut std::ffi::c_void,
///     elements: usize,
/// }
///
/// let device = Cuda::device(0)?;
/// let mut pool = Pool::<Cuda>::new(device.new_stream()?);
/// let other_stream = device.context().new_stream().expect("a stream");
///
/// let scope = pool.scope();
/// let view = scope.acquire_zeroed::<f32, _>(256);
/// // From here on `other_stream` comes after the pool's, and the memory is not used again before what
/// // is enqueued there until then.
/// record_use(&view, &other_stream)?;
/// let tensor = ForeignTensor { pointer: view.address() as *mut _, elements: view.len() };
/// # let _ = (tensor.pointer, tensor.elements);
/// # Ok::<(), pool_cuda::CudaError>(())
/// ```
///
/// ```compile_fail,E0277
/// fn is_send<T: Send>() {}
/// is_send::<pool_cuda::DeviceViewMut<'static, f32>>(); // view_not_send
/// ```
///
/// ```compile_fail,E0599
/// # use pool_cuda::{Cuda, CudaError};
/// fn twice(view: pool_cuda::DeviceViewMut<'_, f32>) {
///     let other = view.clone(); // exclusive_view_not_clone
/// }
/// ```
pub struct DeviceViewMut<'s, T> {
    region: Region,
    length: usize,
    elements: PhantomData<&'s mut [T]>,
}

/// A shared view of elements in device memory, similar to `&[T]` for host memory.
pub struct DeviceView<'s, T> {
    region: Region,
    length: usize,
    elements: PhantomData<&'s [T]>,
}

impl<T> Clone for DeviceView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceView<'_, T> {}

impl<'s, T> DeviceViewMut<'s, T> {
    /// # Safety
    ///
    /// `slot` must contain `block` during `'s`. The first `length` elements of type `T` in `block`
    /// must be valid, and no other code may access them during `'s`.
    #[inline(always)]
    pub(crate) unsafe fn new(block: DeviceBlock, slot: SlotRef<Cuda>, length: usize) -> Self {
        // SAFETY: the caller upholds the safety contract. Only this view uses the region.
        let region = unsafe { Region::new(block, slot, length * size_of::<T>()) };
        Self { region, length, elements: PhantomData }
    }

    /// Borrows the elements as a shared view.
    #[inline]
    #[must_use]
    pub fn as_view(&self) -> DeviceView<'_, T> {
        DeviceView { region: self.region, length: self.length, elements: PhantomData }
    }

    /// Converts the exclusive view into a shared view with the lifetime `'s`.
    #[inline]
    #[must_use]
    pub fn into_view(self) -> DeviceView<'s, T> {
        DeviceView { region: self.region, length: self.length, elements: PhantomData }
    }

    /// Borrows the elements as an exclusive view with a shorter lifetime.
    #[inline]
    pub fn reborrow(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut { region: self.region, length: self.length, elements: PhantomData }
    }
}

impl<'s, T: Element> DeviceView<'s, T> {
    /// Returns a byte view of the same memory.
    #[must_use]
    pub fn as_bytes(&self) -> DeviceView<'s, u8> {
        DeviceView { region: self.region, length: self.region.bytes, elements: PhantomData }
    }
}

impl<'s, T> DeviceView<'s, T> {
    /// # Safety
    ///
    /// The safety contract of [`DeviceViewMut::new`] applies, but other shared views of the
    /// elements may exist.
    #[inline(always)]
    pub(crate) unsafe fn new(block: DeviceBlock, slot: SlotRef<Cuda>, length: usize) -> Self {
        // SAFETY: the caller upholds the safety contract. Only this view uses the region.
        let region = unsafe { Region::new(block, slot, length * size_of::<T>()) };
        Self { region, length, elements: PhantomData }
    }
}

impl<'a, T> LendView<'a> for DeviceView<'_, T> {
    type Shared = DeviceView<'a, T>;
    type Same = DeviceView<'a, T>;

    fn as_view(&'a self) -> DeviceView<'a, T> {
        *self
    }

    fn reborrow(&'a mut self) -> DeviceView<'a, T> {
        *self
    }
}

impl<'a, T> LendView<'a> for DeviceViewMut<'_, T> {
    type Shared = DeviceView<'a, T>;
    type Same = DeviceViewMut<'a, T>;

    fn as_view(&'a self) -> DeviceView<'a, T> {
        DeviceViewMut::as_view(self)
    }

    fn reborrow(&'a mut self) -> DeviceViewMut<'a, T> {
        DeviceViewMut::reborrow(self)
    }
}

/// Implements the methods common to shared and exclusive views.
macro_rules! both_kinds {
    ($view:ident) => {
        impl<'s, T> $view<'s, T> {
            /// Returns the number of elements in the view.
            #[inline]
            #[must_use]
            pub fn len(&self) -> usize {
                self.length
            }

            /// Returns `true` if the view contains no elements.
            #[inline]
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.length == 0
            }

            /// Returns the device address of the elements, or 0 if the view is empty. Call
            /// [`record_use`](crate::record_use) before you use the address on a stream other than
            /// the pool's stream.
            #[inline]
            #[must_use]
            pub fn address(&self) -> u64 {
                self.region.address
            }

            /// Returns the ordinal of the device that holds the elements.
            #[must_use]
            pub fn ordinal(&self) -> u32 {
                self.region.stream().device().ordinal()
            }

            /// Returns the pool's stream. Work on the pool's stream can use the view without
            /// explicit ordering.
            #[must_use]
            pub fn pool_stream(&self) -> &Arc<CudaStream> {
                self.region.stream().stream()
            }

            #[inline]
            pub(crate) fn region(&self) -> &Region {
                &self.region
            }

            pub(crate) fn of_region(region: Region, length: usize) -> Self {
                Self { region, length, elements: PhantomData }
            }
        }

        impl<T> fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($view))
                    .field("address", &format_args!("{:#x}", self.region.address))
                    .field("length", &self.length)
                    .finish_non_exhaustive()
            }
        }

        impl<T> sealed::OnDevice for $view<'_, T> {
            fn lend(&self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
                self.region.lend(stream)
            }
        }

        impl<T> OnDevice for $view<'_, T> {}
    };
}

both_kinds!(DeviceViewMut);
both_kinds!(DeviceView);

/// A shared or exclusive view of device memory. This trait is sealed.
pub trait OnDevice: sealed::OnDevice {}

mod sealed {
    use super::{Arc, CudaError, CudaStream};

    pub trait OnDevice {
        /// Orders a stream relative to the pool's stream (see [`record_use`](super::record_use)).
        fn lend(&self, stream: &Arc<CudaStream>) -> Result<(), CudaError>;
    }
}

/// Informs the pool that work on a stream uses a view's memory through a raw pointer.
///
/// This function makes the stream wait for all earlier work on the pool's stream. Before the memory
/// is reused, freed, or used on the pool's stream, the pool's stream waits for all work enqueued on
/// `stream`. This ordering does not depend on whether a destructor runs.
///
/// If another library created the stream, enqueue work only through this `Arc` and its clones (see
/// [`DeviceView::on`]). If the stream is the per-thread default stream, this function blocks the
/// host.
///
/// # Errors
///
/// Returns [`CudaError::WrongDevice`] or [`CudaError::WrongContext`] if the stream belongs to
/// another device or context that has no [access](crate::CudaDevice::grant_peer_access). Returns
/// [`CudaError::Capturing`] if only one of the two streams is being captured. The function also
/// returns this error if both streams are being captured and another stream used the memory before
/// the capture. Returns [`CudaError::Call`] if the driver fails to order the streams.
pub fn record_use(view: &impl OnDevice, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
    view.lend(stream)
}
