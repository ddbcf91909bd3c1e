//! Host memory for the pool's own bookkeeping, with `None` instead of an abort as in `Box`.

use alloc::alloc::alloc;
use alloc::boxed::Box;
use core::alloc::Layout;
use core::ptr::NonNull;

/// Moves `value` to the heap. Returns `None`, and drops the value, if there is no memory.
pub(crate) fn try_box<T>(value: T) -> Option<NonNull<T>> {
    const { assert!(size_of::<T>() > 0, "there is nothing to allocate") };
    // SAFETY: the layout is that of a type with a size (asserted above).
    let memory = unsafe { alloc(Layout::new::<T>()) };
    let pointer = NonNull::new(memory.cast::<T>())?;
    // SAFETY: just allocated with the size and alignment of `T`.
    unsafe { pointer.write(value) };
    Some(pointer)
}

/// Converts a pointer of [`try_box`] back into a box, which owns it.
///
/// # Safety
///
/// `pointer` came from `try_box` and is not used afterwards.
pub(crate) unsafe fn into_box<T>(pointer: NonNull<T>) -> Box<T> {
    // SAFETY: allocated by the global allocator with the layout of `T`, as `Box` does, and the
    // caller gives up the pointer.
    unsafe { Box::from_raw(pointer.as_ptr()) }
}
