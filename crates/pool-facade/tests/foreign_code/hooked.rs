//! A backend of host memory that calls a callback in each of its calls, while it serves it.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;

use pool_core::{
    Advice, Device, Element, HostBackend, PoolBackend, Reuse, SlotRef, Slots, ViewError,
};

/// Calls [`NOTIFIED`] in each operation.
#[derive(Debug)]
pub(crate) struct Hooked;

/// The refusal of an allocation or of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("refused")
    }
}

impl std::error::Error for Refused {}

/// The places at which foreign code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    Allocator,
    Allocate,
    Free,
    Settle,
    Reuse,
    SetBytes,
    Fill,
    Copy,
    DescriptorMade,
    DescriptorDropped,
    Closure,
    #[cfg(feature = "tracing")]
    Span,
    #[cfg(feature = "tracing")]
    Event,
}

impl Place {
    /// Returns `true` if nothing may be thrown from here.
    pub(crate) fn never_unwinds(self) -> bool {
        matches!(self, Self::Allocator | Self::Free | Self::Settle | Self::DescriptorDropped)
    }
}

thread_local! {
    /// Runs at each place; returns `false` to refuse the call.
    pub(crate) static NOTIFIED: Cell<fn(Place) -> bool> = const { Cell::new(|_| true) };
}

fn tell(place: Place) -> Result<(), Refused> {
    if NOTIFIED.get()(place) { Ok(()) } else { Err(Refused) }
}

/// Calls the callback when it is made and dropped.
#[derive(Debug)]
pub(crate) struct Descriptor(Box<u8>);

impl Default for Descriptor {
    fn default() -> Self {
        let _served = tell(Place::DescriptorMade);
        Self(Box::new(1))
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        assert_eq!(*self.0, 1);
        let _served = tell(Place::DescriptorDropped);
    }
}

#[repr(align(16))]
struct Aligned;

// SAFETY: blocks are zeroed memory of the global allocator, freed with the layout they were made
// with. A callback may call the pool, which refuses or serves it, as tested here.
unsafe impl PoolBackend for Hooked {
    type Layout = Slots;
    type Context = ();
    type Block = NonNull<u8>;
    type View<'s, T: Element> = &'s mut [T];
    type ViewRef<'s, T: Element> = &'s [T];
    type Descriptor = Descriptor;
    type Error = Refused;
    type ViewError = ViewError;

    const ALIGN: usize = 16;
    const DANGLING: NonNull<u8> = NonNull::<Aligned>::dangling().cast();

    fn device((): &()) -> Device {
        Device { kind: "hooked", ordinal: None }
    }

    fn allocate((): &(), bytes: usize, _: Advice) -> Result<NonNull<u8>, Refused> {
        tell(Place::Allocate)?;
        let layout = Layout::from_size_align(bytes, Self::ALIGN).map_err(|_| Refused)?;
        // SAFETY: pools ask for bytes.
        NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(Refused)
    }

    unsafe fn free((): &(), block: NonNull<u8>, bytes: usize) {
        let _served = tell(Place::Free);
        let layout = Layout::from_size_align(bytes, Self::ALIGN).expect("as in `allocate`");
        // SAFETY: made by `allocate` with this layout (caller).
        unsafe { dealloc(block.as_ptr(), layout) };
    }

    fn settle((): &()) {
        let _served = tell(Place::Settle);
    }

    unsafe fn view<'s, T: Element>(
        block: NonNull<u8>,
        slot: SlotRef<Self>,
        length: usize,
    ) -> &'s mut [T] {
        if ARMING.get() {
            // SAFETY: the view that is made is in use, on the pool's thread.
            unsafe { slot.arm() };
        }
        // SAFETY: the same contract, which the caller upholds.
        unsafe { std::slice::from_raw_parts_mut(block.cast().as_ptr(), length) }
    }

    unsafe fn view_ref<'s, T: Element>(
        block: NonNull<u8>,
        _: SlotRef<Self>,
        length: usize,
    ) -> &'s [T] {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { std::slice::from_raw_parts(block.cast().as_ptr(), length) }
    }

    unsafe fn reuse((): &(), _: NonNull<u8>, why: Reuse) -> Result<(), Refused> {
        if why == Reuse::HandOut {
            return tell(Place::Reuse);
        }
        // A block that cannot be ordered before it is freed is leaked, which leak checkers would
        // see.
        let _served = tell(Place::Free);
        Ok(())
    }

    unsafe fn set_bytes(
        (): &(),
        block: NonNull<u8>,
        value: u8,
        bytes: usize,
    ) -> Result<(), Refused> {
        tell(Place::SetBytes)?;
        // SAFETY: the same contract, which the caller upholds.
        unsafe { block.write_bytes(value, bytes) };
        Ok(())
    }

    unsafe fn fill<T: Element>(
        (): &(),
        block: NonNull<u8>,
        value: T,
        length: usize,
    ) -> Result<(), Refused> {
        tell(Place::Fill)?;
        for index in 0..length {
            // SAFETY: the same contract, which the caller upholds.
            let place = unsafe { block.cast::<T>().add(index) };
            // SAFETY: the same contract, which the caller upholds.
            unsafe { place.write(value) };
        }
        Ok(())
    }

    unsafe fn copy_from_host<T: Element>(
        (): &(),
        block: NonNull<u8>,
        source: &[T],
    ) -> Result<(), Refused> {
        tell(Place::Copy)?;
        let from = NonNull::from(source).cast::<T>();
        // SAFETY: the same contract, which the caller upholds.
        unsafe { block.cast::<T>().copy_from_nonoverlapping(from, source.len()) };
        Ok(())
    }
}

thread_local! {
    /// `true` if views arm their slots, so that the backend is asked at the next use.
    pub(crate) static ARMING: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: a block is the address of host memory.
unsafe impl HostBackend for Hooked {
    fn host_pointer(block: NonNull<u8>) -> *mut u8 {
        block.as_ptr()
    }
}
