//! Views of device memory, which acquires return. They borrow from the pool as a slice would, and are
//! an address and a length, with no events and nothing to drop.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_core::{Element, LendView, SlotRef};
use pool_driver::error::CudaError;

use crate::cuda::Cuda;
use crate::view::block::DeviceBlock;
use crate::view::region::Region;

/// Elements in device memory, to be written: the device's `&mut [T]`.
///
/// It is accepted by cudarc's functions (`memcpy_*`, `memset_zeros`, cuBLAS, …, on any stream of the
/// device) and as a kernel argument on the pool's stream ([`Launch`](crate::Launch)); on another stream
/// use [`on`](Self::on). A graph that cudarc captures by hand keeps nothing alive of what it uses, and its
/// `launch` asks nobody, whether it was captured with views or with cudarc's own slices: launch it while the
/// views live, or capture with `pool-graph`, whose graphs own their memory. For another crate's types there
/// is the raw address:
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

/// Elements in device memory, to be read: the device's `&[T]`.
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
    /// For `'s`, `slot` holds `block`, of which the first `length` elements of `T` are this view's
    /// alone, and valid as `T`.
    #[inline(always)]
    pub(crate) unsafe fn new(block: DeviceBlock, slot: SlotRef<Cuda>, length: usize) -> Self {
        // SAFETY: the region is used inside this view (caller).
        let region = unsafe { Region::new(block, slot, length * size_of::<T>()) };
        Self { region, length, elements: PhantomData }
    }

    /// The same elements, to be read, for as long as `self` is borrowed.
    #[inline]
    #[must_use]
    pub fn as_view(&self) -> DeviceView<'_, T> {
        DeviceView { region: self.region, length: self.length, elements: PhantomData }
    }

    /// The same elements, to be read, for good.
    #[inline]
    #[must_use]
    pub fn into_view(self) -> DeviceView<'s, T> {
        DeviceView { region: self.region, length: self.length, elements: PhantomData }
    }

    /// The same elements, to be written, for as long as `self` is borrowed.
    #[inline]
    pub fn reborrow(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut { region: self.region, length: self.length, elements: PhantomData }
    }
}

impl<'s, T: Element> DeviceView<'s, T> {
    /// The elements as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> DeviceView<'s, u8> {
        DeviceView { region: self.region, length: self.region.bytes, elements: PhantomData }
    }
}

impl<'s, T> DeviceView<'s, T> {
    /// # Safety
    ///
    /// As for [`DeviceViewMut::new`], but other shared views may be in use.
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

/// What both kinds of views have.
macro_rules! both_kinds {
    ($view:ident) => {
        impl<'s, T> $view<'s, T> {
            /// The number of elements.
            #[inline]
            #[must_use]
            pub fn len(&self) -> usize {
                self.length
            }

            /// Whether there are no elements.
            #[inline]
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.length == 0
            }

            /// Where the elements are on the device; 0 where there are none. For work on another
            /// stream than the pool's, say so with [`record_use`](crate::record_use).
            #[inline]
            #[must_use]
            pub fn address(&self) -> u64 {
                self.region.address
            }

            /// The ordinal of the device.
            #[must_use]
            pub fn ordinal(&self) -> u32 {
                self.region.stream().device().ordinal()
            }

            /// The pool's stream, on which the view may be used without further ado.
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
        /// What [`record_use`](super::record_use) does.
        fn lend(&self, stream: &Arc<CudaStream>) -> Result<(), CudaError>;
    }
}

/// Says that raw pointers of a view will be used on a stream.
///
/// The stream comes after the pool's stream from here on. Before the memory is used on the pool's stream, handed out
/// again or freed, the pool's stream waits for all work that is in the other one by then. Nothing depends on a
/// destructor. As for [`DeviceView::on`], streams of other libraries must be used through this `Arc`, and the host
/// waits where the stream is the per-thread default stream.
///
/// # Errors
///
/// [`CudaError::WrongDevice`] and [`CudaError::WrongContext`] for a stream from elsewhere, but for a device that
/// was [let](crate::CudaDevice::let_peer),
/// [`CudaError::Capturing`] where one of the two streams is in a capture that the other is not in, or both
/// are in one and some stream used the memory before it began, and [`CudaError::Call`] where the driver
/// fails to order them.
pub fn record_use(view: &impl OnDevice, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
    view.lend(stream)
}
