//! Allocates host memory for the pool's bookkeeping. If the host runs out of memory, the allocation
//! returns `None`, whereas `Box::new` would abort the process.

use alloc::alloc::alloc;
use alloc::boxed::Box;
use core::alloc::Layout;
use core::ptr::NonNull;

/// Moves `value` to the heap. If the host cannot allocate the memory, the function drops the value
/// and returns `None`.
pub(crate) fn try_box<T>(value: T) -> Option<NonNull<T>> {
    const { assert!(size_of::<T>() > 0, "there is nothing to allocate") };
    // SAFETY: the assertion above ensures that `T` has a nonzero size, so the layout also has a
    // nonzero size.
    let memory = unsafe { alloc(Layout::new::<T>()) };
    let pointer = NonNull::new(memory.cast::<T>())?;
    // SAFETY: the memory was just allocated with the size and alignment of `T`.
    unsafe { pointer.write(value) };
    Some(pointer)
}

/// Converts a pointer returned by [`try_box`] back into a box that owns the value.
///
/// # Safety
///
/// `pointer` must have been returned by `try_box` and must not be used after this call.
pub(crate) unsafe fn into_box<T>(pointer: NonNull<T>) -> Box<T> {
    // SAFETY: the global allocator allocated the memory with the layout of `T`, as `Box` requires.
    // The caller does not use the pointer again.
    unsafe { Box::from_raw(pointer.as_ptr()) }
}
