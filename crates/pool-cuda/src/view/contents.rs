//! The contents of views: copies from and to the host, copies between views of any device, and
//! fills. All are enqueued on the pool's stream, and only reads wait for the device.

use pool_core::{Element, PodElement, PoolView, PoolViewMut, ShapeError};
use pool_driver::calls;
use pool_driver::error::CudaError;

use crate::view::device_view::{DeviceView, DeviceViewMut};
use crate::view::fill;
use crate::view::transfer;

impl<T> PoolViewMut for DeviceViewMut<'_, T> {
    /// Copies elements from the host. When this method returns, `source` has been read. The
    /// elements arrive in stream order on the pool's stream.
    ///
    /// The elements pass through pooled page-locked memory. To copy from your own page-locked
    /// memory directly, use cudarc's `memcpy_htod`, which reads that memory later.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::LengthMismatch`], [`CudaError::Capturing`] if the pool's stream is
    /// captured, and [`CudaError::Call`] if the driver refuses the copy.
    fn copy_from_host(&mut self, source: &[T]) -> Result<(), CudaError>
    where
        T: Element,
    {
        check_lengths(source.len(), self.len())?;
        if self.region().bytes == 0 {
            return Ok(());
        }
        self.region().join()?;
        // SAFETY: the range belongs to this view, in the pool's stream, after other streams' uses.
        unsafe {
            transfer::upload(self.region().stream(), self.address(), bytemuck::cast_slice(source))
        }
    }

    /// Copies the elements of another view, which may belong to another pool or device.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::LengthMismatch`] if the lengths differ. Returns
    /// [`CudaError::Capturing`] if only one of the two pools' streams is captured, or if only one
    /// of the two pools uses memory of a graph. Returns [`CudaError::Call`] if the driver refuses
    /// the copy.
    fn copy_from<'a>(&mut self, source: DeviceView<'a, T>) -> Result<(), CudaError>
    where
        Self: 'a,
        T: Element,
    {
        check_lengths(source.len(), self.len())?;
        let bytes = self.region().bytes;
        if bytes == 0 {
            return Ok(());
        }
        let stream = self.region().stream();
        stream.check_owner(source.region().stream())?;
        self.region().join()?;
        source.region().lend_anywhere(stream.stream())?;
        let (own, other) = (stream.device().context(), source.region().stream().device().context());
        let (to, from) = (self.address(), source.address());
        if own.cu_ctx() == other.cu_ctx() {
            // SAFETY: both ranges belong to views, one of them exclusive, so they are disjoint.
            // The stream comes after all their earlier uses, and later uses come after the stream.
            return unsafe { transfer::copy(stream, to, from, bytes) };
        }
        // SAFETY: as above.
        unsafe { calls::copy_between_devices((to, own), (from, other), bytes, stream.stream()) }
    }

    /// Sets all elements to a value.
    ///
    /// During a capture, a fill adds nodes to the graph that depend on the element type and the
    /// length, but never on the value. An update of the graph can therefore use another value. For
    /// elements of 1, 2 and 4 bytes, the fill is one memset node. For other elements, the first
    /// element is written and then copied, and each copy doubles the number of written elements. In
    /// a graph captured without a session, writing the first element takes one memset for every 4
    /// bytes. If 4 does not divide the size of the element, it takes one for every 2 bytes or every
    /// byte.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Call`] if the driver refuses the fill, and [`CudaError::Bookkeeping`]
    /// if the host is out of memory.
    fn fill_with_value(&mut self, value: T) -> Result<(), CudaError>
    where
        T: Element,
    {
        if self.region().bytes == 0 {
            return Ok(());
        }
        self.region().join()?;
        let element = bytemuck::bytes_of(&value);
        // SAFETY: the range belongs to this view, in the pool's stream, after other streams' uses.
        unsafe { fill::fill(self.region().stream(), self.address(), element, self.len()) }
    }

    /// Sets all bytes to zero.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Call`] if the driver refuses the fill.
    fn fill_with_zeros(&mut self) -> Result<(), CudaError>
    where
        T: Element,
    {
        let bytes = self.region().bytes;
        if bytes == 0 {
            return Ok(());
        }
        self.region().join()?;
        // SAFETY: the range belongs to this view, in the pool's stream, after other streams' uses.
        unsafe { transfer::set_bytes(self.region().stream(), self.address(), 0, bytes) }
    }
}

/// Implements [`PoolView`] for both kinds of view.
macro_rules! both_kinds {
    ($view:ident) => {
        impl<T> PoolView for $view<'_, T> {
            type Element = T;
            type Error = CudaError;

            #[inline]
            fn len(&self) -> usize {
                $view::len(self)
            }

            fn into_split_at(self, index: usize) -> Result<(Self, Self), ShapeError> {
                let extent = self.len();
                let Some(rest) = extent.checked_sub(index) else {
                    return Err(ShapeError::SplitOutOfRange { asked: index, extent });
                };
                let (before, after) = self.region().split(index * size_of::<T>());
                Ok((Self::of_region(before, index), Self::of_region(after, rest)))
            }

            /// Copies the elements to the host and waits for them. The copy includes all work
            /// enqueued so far on the pool's stream, and on other streams that use the memory.
            ///
            /// The elements must be [`PodElement`]s, because a kernel may have written any bytes.
            ///
            /// # Errors
            ///
            /// Returns [`CudaError::LengthMismatch`], [`CudaError::Capturing`] if the pool's stream
            /// is captured, and [`CudaError::Call`] if the driver refuses the copy or earlier work
            /// has failed.
            fn copy_to_host(&self, destination: &mut [T]) -> Result<(), CudaError>
            where
                T: PodElement,
            {
                check_lengths(self.len(), destination.len())?;
                if self.region().bytes == 0 {
                    return Ok(());
                }
                self.region().join()?;
                let bytes = bytemuck::cast_slice_mut(destination);
                // SAFETY: the range belongs to this view, in the pool's stream, after other
                // streams' uses.
                unsafe { transfer::download(self.region().stream(), bytes, self.address()) }
            }

            /// Copies the elements to the host, like [`copy_to_host`](Self::copy_to_host).
            ///
            /// # Errors
            ///
            /// Returns the errors of [`copy_to_host`](Self::copy_to_host), and
            /// [`CudaError::Bookkeeping`] if the host is out of memory.
            fn copy_to_vec(&self) -> Result<Vec<T>, CudaError>
            where
                T: PodElement,
            {
                // Zero-sized elements need no loop, even if there are `usize::MAX` of them.
                let requested = self.region().bytes;
                let made = bytemuck::try_zeroed_vec(self.len());
                let mut elements = made.map_err(|()| CudaError::Bookkeeping { requested })?;
                self.copy_to_host(&mut elements)?;
                Ok(elements)
            }
        }
    };
}

both_kinds!(DeviceViewMut);
both_kinds!(DeviceView);

fn check_lengths(source: usize, destination: usize) -> Result<(), CudaError> {
    if source == destination {
        return Ok(());
    }
    Err(CudaError::LengthMismatch { from: source, to: destination })
}
