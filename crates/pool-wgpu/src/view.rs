//! Views of elements in wgpu buffers. A view can start at any byte of a buffer. Like slices, views
//! borrow from the pool and have no destructor.

use std::fmt;
use std::marker::PhantomData;

use pool_core::{Element, LendView, PodElement, PoolView, PoolViewMut, ShapeError, SlotRef};

use crate::binding::{Access, Binding};
use crate::block_part::{BlockPart, bytes_of};
use crate::error::WgpuError;
use crate::memory::{ALIGN, Wgpu, WgpuBlock};
use crate::reading::Reading;
use crate::stream::Stream;

/// An exclusive view of elements in a buffer, similar to `&mut [T]` for host memory.
///
/// ```compile_fail,E0277
/// fn is_send<T: Send>() {}
/// is_send::<pool_wgpu::BufferViewMut<'static, f32>>(); // view_not_send
/// ```
///
/// ```compile_fail,E0599
/// # use pool_wgpu::BufferViewMut;
/// fn twice(view: BufferViewMut<'_, f32>) {
///     let other = view.clone(); // exclusive_view_not_clone
/// }
/// ```
///
/// ```compile_fail,E0597
/// # use pool_wgpu::{Binding, Stream, Wgpu};
/// # fn outlives(mut pool: pool_core::Pool<Wgpu>) -> Result<(), pool_wgpu::WgpuError> {
/// let binding;
/// {
///     let scope = pool.scope();
///     let mut view = scope.acquire_zeroed::<f32, _>(16);
///     binding = view.binding_mut()?; // binding_ends_with_its_view
/// }
/// binding.bytes();
/// # Ok(()) }
/// ```
pub struct BufferViewMut<'s, T> {
    part: BlockPart,
    length: usize,
    elements: PhantomData<&'s mut [T]>,
}

/// A shared view of elements in a buffer, similar to `&[T]` for host memory.
pub struct BufferView<'s, T> {
    part: BlockPart,
    length: usize,
    elements: PhantomData<&'s [T]>,
}

impl<T> Clone for BufferView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for BufferView<'_, T> {}

impl<'s, T> BufferViewMut<'s, T> {
    /// # Safety
    ///
    /// During `'s`, `slot` must contain `block`, and no other view may access the first `length`
    /// elements of type `T` in `block`.
    #[inline(always)]
    pub(crate) unsafe fn new(block: WgpuBlock, slot: SlotRef<Wgpu>, length: usize) -> Self {
        // SAFETY: the caller guarantees that `slot` contains `block` during `'s`. The block
        // therefore stays allocated while a copy of the part is borrowed. No view or part of a view
        // exists after `'s` has ended. Only views use the part. Views stay on the pool's thread,
        // because references to slots are not `Send`.
        let part = unsafe { BlockPart::new(block, slot) };
        Self { part, length, elements: PhantomData }
    }

    /// Returns a binding that lets kernels read and write the elements.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`binding`](Self::binding). Returns [`WgpuError::UnevenEnd`] if
    /// the view ends within a 4-byte word and is not the last view of its block. Kernels write
    /// whole words.
    pub fn binding_mut(&mut self) -> Result<Binding<'_>, WgpuError> {
        let end = self.part.offset + self.bytes();
        if !end.is_multiple_of(4) && !self.part.is_last {
            return Err(WgpuError::UnevenEnd { end });
        }
        self.part.bind(self.bytes(), Access::ReadWrite)
    }

    /// Borrows the elements as a shared view.
    #[must_use]
    pub fn as_view(&self) -> BufferView<'_, T> {
        BufferView { part: self.part, length: self.length, elements: PhantomData }
    }

    /// Converts the exclusive view into a shared view with the lifetime `'s`.
    #[must_use]
    pub fn into_view(self) -> BufferView<'s, T> {
        BufferView { part: self.part, length: self.length, elements: PhantomData }
    }

    /// Borrows the elements as an exclusive view with a shorter lifetime.
    pub fn reborrow(&mut self) -> BufferViewMut<'_, T> {
        BufferViewMut { part: self.part, length: self.length, elements: PhantomData }
    }
}

impl<'s, T> BufferView<'s, T> {
    /// # Safety
    ///
    /// The safety contract of [`BufferViewMut::new`] applies, but other shared views of the
    /// elements may exist.
    #[inline(always)]
    pub(crate) unsafe fn new(block: WgpuBlock, slot: SlotRef<Wgpu>, length: usize) -> Self {
        // SAFETY: the caller guarantees that `slot` contains `block` during `'s`. The block
        // therefore stays allocated while a copy of the part is borrowed. No shared view or part of
        // a shared view exists after `'s` has ended. Only views use the part. Views stay on the
        // pool's thread, because references to slots are not `Send`.
        let part = unsafe { BlockPart::new(block, slot) };
        Self { part, length, elements: PhantomData }
    }

    /// Returns a byte view of the same memory.
    #[must_use]
    pub fn as_bytes(&self) -> BufferView<'s, u8>
    where
        T: Element,
    {
        let length = self.length * size_of::<T>();
        BufferView { part: self.part, length, elements: PhantomData }
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

            /// Returns the stream of the pool from which the view borrows.
            #[must_use]
            pub fn stream(&self) -> &Stream {
                self.part.stream()
            }

            /// Returns the index of the view's first byte, which serves as the view's address. The
            /// bytes of all buffers in this process are indexed consecutively, so views in
            /// different blocks never share an index.
            #[must_use]
            pub fn address(&self) -> u64 {
                let block = self.part.allocation().map_or(ALIGN as u64, |block| block.identity);
                block + self.part.offset
            }

            /// Returns the view's offset within its buffer, in bytes.
            #[must_use]
            pub fn offset(&self) -> u64 {
                self.part.offset
            }

            /// Returns a binding that lets kernels read the elements.
            ///
            /// # Errors
            ///
            /// Returns [`WgpuError::EmptyBinding`] if the view is empty, or
            /// [`WgpuError::Misaligned`] if the device cannot bind a view at this offset. Returns
            /// [`WgpuError::BindingTooLarge`] if the view exceeds the device's limit for a binding.
            pub fn binding(&self) -> Result<Binding<'_>, WgpuError> {
                self.part.bind(self.bytes(), Access::Read)
            }

            /// Submits all commands recorded so far and starts copying the elements to the host. To
            /// obtain the elements, await the returned `Reading` or call its `wait` method.
            ///
            /// # Errors
            ///
            /// Returns [`WgpuError::Reentered`] if this thread is already using a stream, or
            /// [`WgpuError::OutOfMemory`] if the device is out of memory. Returns
            /// [`WgpuError::DeviceLost`] if the device is lost, or [`WgpuError::Refused`] if wgpu
            /// rejects earlier commands.
            pub fn read(&self) -> Result<Reading<T>, WgpuError>
            where
                T: PodElement,
            {
                match self.part.allocation() {
                    Some(block) if self.bytes() > 0 => {
                        self.stream().read(block, self.part.offset, self.length)
                    }
                    _ => Ok(self.stream().read_nothing(self.length)),
                }
            }

            fn bytes(&self) -> u64 {
                (self.length * size_of::<T>()) as u64
            }
        }

        impl<T> PoolView for $view<'_, T> {
            type Element = T;
            type Error = WgpuError;

            #[inline]
            fn len(&self) -> usize {
                self.length
            }

            fn copy_to_host(&self, destination: &mut [T]) -> Result<(), WgpuError>
            where
                T: PodElement,
            {
                check_lengths(self.length, destination.len())?;
                self.read()?.wait_into(destination)
            }

            fn copy_to_vec(&self) -> Result<Vec<T>, WgpuError>
            where
                T: PodElement,
            {
                self.read()?.wait()
            }

            fn into_split_at(self, index: usize) -> Result<(Self, Self), ShapeError> {
                let Some(rest) = self.length.checked_sub(index) else {
                    return Err(ShapeError::SplitOutOfRange { asked: index, extent: self.length });
                };
                let bytes = (index * size_of::<T>()) as u64;
                let (before, after) = self.part.split(bytes, rest == 0);
                let view = |part, length| Self { part, length, elements: PhantomData };
                Ok((view(before, index), view(after, rest)))
            }
        }

        impl<T> fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($view))
                    .field("address", &format_args!("{:#x}", self.address()))
                    .field("length", &self.length)
                    .finish_non_exhaustive()
            }
        }
    };
}

both_kinds!(BufferViewMut);
both_kinds!(BufferView);

impl<T> PoolViewMut for BufferViewMut<'_, T> {
    fn fill_with_value(&mut self, value: T) -> Result<(), WgpuError>
    where
        T: Element,
    {
        self.part.fill(bytes_of(&[value]), self.bytes())
    }

    fn fill_with_zeros(&mut self) -> Result<(), WgpuError>
    where
        T: Element,
    {
        self.part.fill(&[0], self.bytes())
    }

    fn copy_from_host(&mut self, source: &[T]) -> Result<(), WgpuError>
    where
        T: Element,
    {
        check_lengths(source.len(), self.length)?;
        let bytes = bytes_of(source);
        let Some(block) = self.part.allocation().filter(|_| !bytes.is_empty()) else {
            return Ok(());
        };
        self.stream().with(|recorder| recorder.upload(block, self.part.offset, bytes))
    }

    /// Copies all elements from another view, which can belong to any pool. If the two pools use
    /// different streams, the call copies the elements through host memory and blocks until the
    /// copy is complete.
    fn copy_from<'a>(&mut self, source: BufferView<'a, T>) -> Result<(), WgpuError>
    where
        Self: 'a,
        T: Element,
    {
        check_lengths(source.length, self.length)?;
        let bytes = self.bytes();
        let blocks = self.part.allocation().zip(source.part.allocation());
        let Some((to, from)) = blocks.filter(|_| bytes > 0) else { return Ok(()) };
        let positions = ((from, source.part.offset), (to, self.part.offset));
        if from.stream == to.stream {
            return self.stream().with(|recorder| recorder.copy(positions.0, positions.1, bytes));
        }
        // wgpu cannot determine whether two streams use the same device, so the elements are copied
        // through host memory.
        self.copy_through_host(&source)
    }
}

impl<'a, T> LendView<'a> for BufferView<'_, T> {
    type Shared = BufferView<'a, T>;
    type Same = BufferView<'a, T>;

    fn as_view(&'a self) -> BufferView<'a, T> {
        *self
    }

    fn reborrow(&'a mut self) -> BufferView<'a, T> {
        *self
    }
}

impl<'a, T> LendView<'a> for BufferViewMut<'_, T> {
    type Shared = BufferView<'a, T>;
    type Same = BufferViewMut<'a, T>;

    fn as_view(&'a self) -> BufferView<'a, T> {
        BufferViewMut::as_view(self)
    }

    fn reborrow(&'a mut self) -> BufferViewMut<'a, T> {
        BufferViewMut::reborrow(self)
    }
}

impl<T> BufferViewMut<'_, T> {
    fn copy_through_host(&mut self, source: &BufferView<'_, T>) -> Result<(), WgpuError> {
        let Some((to, from)) = self.part.allocation().zip(source.part.allocation()) else {
            return Ok(());
        };
        let count = source.length * size_of::<T>();
        let bytes = source.stream().read::<u8>(from, source.part.offset, count)?.wait()?;
        self.stream().with(|recorder| recorder.upload(to, self.part.offset, &bytes))
    }
}

fn check_lengths(from: usize, to: usize) -> Result<(), WgpuError> {
    if from == to { Ok(()) } else { Err(ShapeError::CopyMismatch { from, to }.into()) }
}
