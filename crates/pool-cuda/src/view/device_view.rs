//! Views of device memory, which acquires return. They borrow from the pool like a slice. They are
//! an address and a length, without events or a destructor.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_core::{Element, LendView, SlotRef};
use pool_driver::error::CudaError;

use crate::cuda::Cuda;
use crate::view::block::DeviceBlock;
use crate::view::region::Region;

/// Exclusive elements in device memory: the device's `&mut [T]`.
///
/// cudarc's functions accept it (`memcpy_*`, `memset_zeros`, cuBLAS, …, on any stream of the
/// device). It is a kernel argument on the pool's stream ([`Launch`](crate::Launch)); on another
/// stream use [`on`](Self::on). A graph that cudarc captures keeps none of its memory alive, and
/// its `launch` checks nothing, for views and cudarc's own slices alike. Launch it while the views
/// live, or capture with `pool-graph`, whose graphs own their memory. For another crate's types
/// there is the raw address:
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

/// Shared elements in device memory: the device's `&[T]`.
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
    /// For `'s`, `slot` holds `block`. Its first `length` elements of `T` must be this view's
    /// alone, and valid as `T`.
    #[inline(always)]
    pub(crate) unsafe fn new(block: DeviceBlock, slot: SlotRef<Cuda>, length: usize) -> Self {
        // SAFETY: the region is used inside this view (caller).
        let region = unsafe { Region::new(block, slot, length * size_of::<T>()) };
        Self { region, length, elements: PhantomData }
    }

    /// Borrows the elements as a shared view.
    #[inline]
    #[must_use]
    pub fn as_view(&self) -> DeviceView<'_, T> {
        DeviceView { region: self.region, length: self.length, elements: PhantomData }
    }

    /// Converts into a shared view for `'s`.
    #[inline]
    #[must_use]
    pub fn into_view(self) -> DeviceView<'s, T> {
        DeviceView { region: self.region, length: self.length, elements: PhantomData }
    }

    /// Borrows the elements as an exclusive view.
    #[inline]
    pub fn reborrow(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut { region: self.region, length: self.length, elements: PhantomData }
    }
}

impl<'s, T: Element> DeviceView<'s, T> {
    /// Returns the elements as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> DeviceView<'s, u8> {
        DeviceView { region: self.region, length: self.region.bytes, elements: PhantomData }
    }
}

impl<'s, T> DeviceView<'s, T> {
    /// # Safety
    ///
    /// Same as for [`DeviceViewMut::new`], but other shared views may be in use.
    #[inline(always)]
    pub(crate) unsafe fn new(block: DeviceBlock, slot: SlotRef<Cuda>, length: usize) -> Self {
        // SAFETY: the region is used inside this view (caller).
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

/// The methods of both kinds of views.
macro_rules! both_kinds {
    ($view:ident) => {
        impl<'s, T> $view<'s, T> {
            /// Returns the number of elements.
            #[inline]
            #[must_use]
            pub fn len(&self) -> usize {
                self.length
            }

            /// Returns `true` if there are no elements.
            #[inline]
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.length == 0
            }

            /// Returns the address of the elements on the device; 0 if there are none. For work on
            /// another stream than the pool's, register it by [`record_use`](crate::record_use).
            #[inline]
            #[must_use]
            pub fn address(&self) -> u64 {
                self.region.address
            }

            /// Returns the ordinal of the device.
            #[must_use]
            pub fn ordinal(&self) -> u32 {
                self.region.stream().device().ordinal()
            }

            /// Returns the pool's stream, on which the view needs no ordering.
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

/// A view of device memory, of either kind. Sealed.
pub trait OnDevice: sealed::OnDevice {}

mod sealed {
    use super::{Arc, CudaError, CudaStream};

    pub trait OnDevice {
        /// Does the work of [`record_use`](super::record_use).
        fn lend(&self, stream: &Arc<CudaStream>) -> Result<(), CudaError>;
    }
}

/// Registers a use of a view's raw pointers on a stream.
///
/// The stream is ordered after the pool's stream from here on. Before the memory is used on the
/// pool's stream, reused or freed, the pool's stream waits for all work that is in the other one by
/// then. No destructor is involved. As for [`DeviceView::on`], streams of other libraries must be
/// used through this `Arc`, and the host waits if the stream is the per-thread default stream.
///
/// # Errors
///
/// [`CudaError::WrongDevice`] and [`CudaError::WrongContext`] for a foreign stream, unless its
/// device has [access](crate::CudaDevice::let_peer). [`CudaError::Capturing`] if only one of the
/// two streams is in a capture, or if both are in one and some stream used the memory before it
/// began. [`CudaError::Call`] if the driver fails to order them.
pub fn record_use(view: &impl OnDevice, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
    view.lend(stream)
}
