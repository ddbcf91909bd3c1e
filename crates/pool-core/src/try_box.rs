//! Host memory for the pool's own bookkeeping. Allocation returns `None` where `Box` would abort.

use alloc::alloc::alloc;
use alloc::boxed::Box;
use core::alloc::Layout;
use core::ptr::NonNull;

/// Moves `value` to the heap. If there is no memory, drops the value and returns `None`.
pub(crate) fn try_box<T>(value: T) -> Option<NonNull<T>> {
    const { assert!(size_of::<T>() > 0, "there is nothing to allocate") };
    // SAFETY: `T` has a nonzero size (asserted above), so the layout does too.
    let memory = unsafe { alloc(Layout::new::<T>()) };
    let pointer = NonNull::new(memory.cast::<T>())?;
    // SAFETY: the memory was just allocated with the size and alignment of `T`.
    unsafe { pointer.write(value) };
    Some(pointer)
}

/// Converts a pointer that [`try_box`] returned back into a box, which owns the value.
///
/// # Safety
///
/// `pointer` came from `try_box`, and is not used afterwards.
pub(crate) unsafe fn into_box<T>(pointer: NonNull<T>) -> Box<T> {
    // SAFETY: the memory was allocated by the global allocator with the layout of `T`, as for a
    // `Box`, and the caller gives up the pointer.
    unsafe { Box::from_raw(pointer.as_ptr()) }
}
