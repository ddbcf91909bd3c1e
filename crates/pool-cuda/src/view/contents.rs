//! Implements copies to and from the host, copies between views on any devices, and fills. All
//! operations are enqueued on the pool's stream. Only a copy to the host blocks the host until the
//! copy is complete.

use pool_core::{Element, PodElement, PoolView, PoolViewMut, ShapeError};
use pool_driver::calls;
use pool_driver::error::CudaError;

use crate::view::device_view::{DeviceView, DeviceViewMut};
use crate::view::fill;
use crate::view::transfer;

impl<T> PoolViewMut for DeviceViewMut<'_, T> {
    /// Copies elements from the host to the device. This method has finished reading `source` when
    /// it returns, but the copy may still be pending on the pool's stream.
    ///
    /// The pool copies the elements through its own page-locked buffers. To copy directly from your
    /// own page-locked memory, use cudarc's `memcpy_htod`. However, `memcpy_htod` might still be
    /// reading your memory after the call has returned.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::LengthMismatch`] if the lengths differ, [`CudaError::Capturing`] if the
    /// pool's stream is being captured, or [`CudaError::Call`] if the driver rejects the copy.
    fn copy_from_host(&mut self, source: &[T]) -> Result<(), CudaError>
    where
        T: Element,
    {
        check_lengths(source.len(), self.len())?;
        if self.region().bytes == 0 {
            return Ok(());
        }
        self.region().join()?;
        // SAFETY: the range belongs to this view. `join` has already made the pool's stream wait
        // for all uses of the range on other streams.
        unsafe {
            transfer::upload(self.region().stream(), self.address(), bytemuck::cast_slice(source))
        }
    }

    /// Copies all elements from another view, which can belong to a different pool or device.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::LengthMismatch`] if the lengths differ. Returns
    /// [`CudaError::Capturing`] if only one of the two pools has a captured stream, or if only one
    /// of them uses a graph's memory. Returns [`CudaError::Call`] if the driver rejects the copy.
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
            // SAFETY: both ranges belong to views, and the target view is exclusive, so the ranges
            // are disjoint. The copy runs after all earlier uses of both ranges and before all
            // later ones.
            return unsafe { transfer::copy(stream, to, from, bytes) };
        }
        // SAFETY: both ranges belong to views, and the target view is exclusive, so the ranges are
        // disjoint. The copy runs after all earlier uses of both ranges and before all later ones.
        unsafe { calls::copy_between_devices((to, own), (from, other), bytes, stream.stream()) }
    }

    /// Sets all elements to the given value.
    ///
    /// A fill during a capture adds one or more nodes to the graph. The element type and the length
    /// determine the number and kinds of these nodes. The element's value never affects the choice
    /// of nodes. You can therefore update the graph with a different value. If an element has a
    /// size of 1, 2, or 4 bytes, the fill consists of one memset node. For any other element size,
    /// the fill writes the first element and then repeatedly copies the elements written so far.
    /// Each copy doubles the number of elements written.
    ///
    /// If the graph is captured without a session, the fill writes the first element with one
    /// memset per 4 bytes. If the element size is not a multiple of 4, the fill uses one memset per
    /// 2 bytes or per byte.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Call`] if the driver rejects the fill, or [`CudaError::Bookkeeping`] if
    /// the host is out of memory.
    fn fill_with_value(&mut self, value: T) -> Result<(), CudaError>
    where
        T: Element,
    {
        if self.region().bytes == 0 {
            return Ok(());
        }
        self.region().join()?;
        let element = bytemuck::bytes_of(&value);
        // SAFETY: the range belongs to this view. `join` has already made the pool's stream wait
        // for all uses of the range on other streams.
        unsafe { fill::fill(self.region().stream(), self.address(), element, self.len()) }
    }

    /// Sets all bytes of the elements to zero.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Call`] if the driver rejects the fill.
    fn fill_with_zeros(&mut self) -> Result<(), CudaError>
    where
        T: Element,
    {
        let bytes = self.region().bytes;
        if bytes == 0 {
            return Ok(());
        }
        self.region().join()?;
        // SAFETY: the range belongs to this view. `join` has already made the pool's stream wait
        // for all uses of the range on other streams.
        unsafe { transfer::set_bytes(self.region().stream(), self.address(), 0, bytes) }
    }
}

/// Implements [`PoolView`] for a view type.
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

            /// Copies the elements to the host and blocks until the copy is complete. The copy
            /// waits for all work enqueued so far on the pool's stream and on the other streams
            /// that use the memory.
            ///
            /// The elements must implement [`PodElement`] because a kernel might have written any
            /// bit pattern.
            ///
            /// # Errors
            ///
            /// Returns [`CudaError::LengthMismatch`] if the lengths differ, or
            /// [`CudaError::Capturing`] if the pool's stream is being captured. Returns
            /// [`CudaError::Call`] if the driver rejects the copy, or if earlier work on the stream
            /// failed.
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
                // SAFETY: the range belongs to this view. `join` has already made the pool's stream
                // wait for all uses of the range on other streams.
                unsafe { transfer::download(self.region().stream(), bytes, self.address()) }
            }

            /// Copies the elements to a new vector on the host and blocks until the copy is
            /// complete.
            ///
            /// # Errors
            ///
            /// Returns the same errors as [`copy_to_host`](Self::copy_to_host), or
            /// [`CudaError::Bookkeeping`] if the host is out of memory.
            fn copy_to_vec(&self) -> Result<Vec<T>, CudaError>
            where
                T: PodElement,
            {
                // `try_zeroed_vec` does not loop over zero-sized elements, because there may be up
                // to `usize::MAX` of them.
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
