//! The contents of views: copies from and to the host, between views of any device, and fills. All
//! are enqueued on the pool's stream; only reads wait for the device.

use pool_core::{Element, PodElement, PoolView, PoolViewMut, ShapeError};
use pool_driver::calls;
use pool_driver::error::CudaError;

use crate::view::device_view::{DeviceView, DeviceViewMut};
use crate::view::fill;
use crate::view::transfer;

impl<T> PoolViewMut for DeviceViewMut<'_, T> {
    /// Copies elements from the host. When this returns, `source` has been read. The elements
    /// arrive in the order of the pool's stream.
    ///
    /// The elements pass through pooled page-locked memory. To copy from your own page-locked
    /// memory directly, use cudarc's `memcpy_htod`; that memory is then read later.
    ///
    /// # Errors
    ///
    /// [`CudaError::LengthMismatch`], [`CudaError::Capturing`] if the pool's stream is captured,
    /// and [`CudaError::Call`] if the driver refuses.
    fn copy_from_host(&mut self, source: &[T]) -> Result<(), CudaError>
    where
        T: Element,
    {
        check_lengths(source.len(), self.len())?;
        if self.region().bytes == 0 {
            return Ok(());
        }
        self.region().join()?;
        // SAFETY: the range is this view's, in the pool's stream, after other streams' uses.
        unsafe {
            transfer::upload(self.region().stream(), self.address(), bytemuck::cast_slice(source))
        }
    }

    /// Copies the elements of another view, of this or another pool or device.
    ///
    /// # Errors
    ///
    /// [`CudaError::LengthMismatch`] if the lengths differ. [`CudaError::Capturing`] if only one of
    /// the two pools' streams is captured, or only one of the two pools has memory of a graph.
    /// [`CudaError::Call`] if the driver refuses.
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
            // SAFETY: both ranges are those of views, one of them exclusive, so they are disjoint.
            // The stream comes after all their earlier uses, and later uses come after the stream.
            return unsafe { transfer::copy(stream, to, from, bytes) };
        }
        // SAFETY: as above.
        unsafe { calls::copy_between_devices((to, own), (from, other), bytes, stream.stream()) }
    }

    /// Sets all elements to a value.
    ///
    /// In a capture a fill adds nodes to the graph that depend on the element's type and on the
    /// length, never on the value. So an update of the graph may have another value. For elements
    /// of 1, 2 and 4 bytes it is one memset. For other elements the first one is written and then
    /// copied, each copy as long as all elements before it. In a graph captured without a session,
    /// the first element takes a memset for each 4 bytes of it (for each 2 bytes, or each byte, if
    /// 4 or 2 do not divide its size).
    ///
    /// # Errors
    ///
    /// [`CudaError::Call`] if the driver refuses, and [`CudaError::Bookkeeping`] if the host has no
    /// memory.
    fn fill_with_value(&mut self, value: T) -> Result<(), CudaError>
    where
        T: Element,
    {
        if self.region().bytes == 0 {
            return Ok(());
        }
        self.region().join()?;
        let element = bytemuck::bytes_of(&value);
        // SAFETY: the range is this view's, in the pool's stream, after other streams' uses.
        unsafe { fill::fill(self.region().stream(), self.address(), element, self.len()) }
    }

    /// Sets all bytes to zero.
    ///
    /// # Errors
    ///
    /// [`CudaError::Call`] if the driver refuses.
    fn fill_with_zeros(&mut self) -> Result<(), CudaError>
    where
        T: Element,
    {
        let bytes = self.region().bytes;
        if bytes == 0 {
            return Ok(());
        }
        self.region().join()?;
        // SAFETY: the range is this view's, in the pool's stream, after other streams' uses.
        unsafe { transfer::set_bytes(self.region().stream(), self.address(), 0, bytes) }
    }
}

/// Implements [`PoolView`] for both kinds of views.
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

            /// Copies the elements to the host, and waits for them. They include the current work
            /// of the pool's stream, and of other streams that use the memory.
            ///
            /// It needs [`PodElement`]s, because a kernel may have written any bytes.
            ///
            /// # Errors
            ///
            /// [`CudaError::LengthMismatch`], [`CudaError::Capturing`] if the pool's stream is
            /// captured, and [`CudaError::Call`] if the driver refuses or earlier work has failed.
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
                // SAFETY: the range is this view's, in the pool's stream, after other streams'
                // uses.
                unsafe { transfer::download(self.region().stream(), bytes, self.address()) }
            }

            /// Copies the elements to the host, as [`copy_to_host`](Self::copy_to_host).
            ///
            /// # Errors
            ///
            /// Same as [`copy_to_host`](Self::copy_to_host), and [`CudaError::Bookkeeping`] if the host
            /// has no memory for them.
            fn copy_to_vec(&self) -> Result<Vec<T>, CudaError>
            where
                T: PodElement,
            {
                // Zero-sized elements need no loop, even if their number is `usize::MAX`.
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
