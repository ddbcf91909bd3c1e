//! A backend of a crate that the facade does not know: the host memory of `Cpu`, on one of several
//! shelves, among which a thread chooses.

use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;
use std::rc::Rc;

use pool_core::{Advice, Reuse, SlotRef, Slots, ViewError};
use pool_facade::{Cpu, CpuError, Device, Element, HostBackend, PoolBackend};

thread_local! {
    static CHOSEN: Cell<u32> = const { Cell::new(0) };
    /// The shared value of every context of this thread.
    static CONTEXTS: Rc<()> = Rc::new(());
}

/// The existing shelves.
const SHELVES: u32 = 3;

/// The marker of the backend.
#[derive(Debug)]
pub(crate) struct Shelf;

/// The shelf of a pool. It is counted as long as it lives, as a stream or a device would be.
pub(crate) struct Place {
    shelf: u32,
    _counted: Rc<()>,
}

/// There is no such shelf, or no room on it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ShelfError {
    /// A thread has chosen a shelf that is not there.
    NoShelf {
        /// The shelf.
        chosen: u32,
    },
    /// The host has no memory.
    Full(CpuError),
}

impl fmt::Display for ShelfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoShelf { chosen } => write!(f, "there are {SHELVES} shelves, and no {chosen}"),
            Self::Full(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ShelfError {}

impl Shelf {
    /// Chooses the shelf of the pools that this thread takes from now on.
    pub(crate) fn choose(shelf: u32) {
        CHOSEN.set(shelf);
    }

    /// The contexts of this thread that are alive.
    pub(crate) fn places() -> usize {
        CONTEXTS.with(Rc::strong_count) - 1
    }
}

impl Place {
    /// The place that this thread has chosen.
    pub(crate) fn for_thread() -> Result<Self, ShelfError> {
        let chosen = CHOSEN.get();
        if chosen >= SHELVES {
            return Err(ShelfError::NoShelf { chosen });
        }
        Ok(Self { shelf: chosen, _counted: CONTEXTS.with(Rc::clone) })
    }

    /// Returns `true` if this thread has chosen this place.
    pub(crate) fn is_chosen(&self) -> bool {
        self.shelf == CHOSEN.get()
    }
}

// SAFETY: every method is that of `Cpu`, and the context is no part of a block.
unsafe impl PoolBackend for Shelf {
    type Layout = Slots;
    type Context = Place;
    type Block = NonNull<u8>;
    type View<'s, T: Element> = &'s mut [T];
    type ViewRef<'s, T: Element> = &'s [T];
    type Descriptor = ();
    type Error = ShelfError;
    type ViewError = ViewError;
    const ALIGN: usize = Cpu::ALIGN;
    const DANGLING: NonNull<u8> = Cpu::DANGLING;

    fn device(place: &Place) -> Device {
        Device { kind: "shelf", ordinal: Some(place.shelf) }
    }

    fn allocate(_: &Place, bytes: usize, advice: Advice) -> Result<NonNull<u8>, ShelfError> {
        Cpu::allocate(&(), bytes, advice).map_err(ShelfError::Full)
    }

    unsafe fn free(_: &Place, block: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise is the same.
        unsafe { Cpu::free(&(), block, bytes) };
    }

    unsafe fn view<'s, T: Element>(at: NonNull<u8>, _: SlotRef<Self>, n: usize) -> &'s mut [T] {
        // SAFETY: the caller guarantees `n` valid elements, exclusively for `'s`.
        unsafe { std::slice::from_raw_parts_mut(at.cast().as_ptr(), n) }
    }

    unsafe fn view_ref<'s, T: Element>(at: NonNull<u8>, _: SlotRef<Self>, n: usize) -> &'s [T] {
        // SAFETY: as in `view`, shared.
        unsafe { std::slice::from_raw_parts(at.cast().as_ptr(), n) }
    }

    unsafe fn reuse(_: &Place, _: NonNull<u8>, _: Reuse) -> Result<(), ShelfError> {
        Ok(())
    }

    unsafe fn set_bytes(_: &Place, at: NonNull<u8>, value: u8, n: usize) -> Result<(), ShelfError> {
        // SAFETY: the caller's promise is the same.
        unsafe { Cpu::set_bytes(&(), at, value, n) }.map_err(ShelfError::Full)
    }

    unsafe fn fill<T: Element>(
        _: &Place,
        at: NonNull<u8>,
        value: T,
        n: usize,
    ) -> Result<(), ShelfError> {
        // SAFETY: the caller's promise is the same.
        unsafe { Cpu::fill(&(), at, value, n) }.map_err(ShelfError::Full)
    }

    unsafe fn copy_from_host<T: Element>(
        _: &Place,
        at: NonNull<u8>,
        from: &[T],
    ) -> Result<(), ShelfError> {
        // SAFETY: the caller's promise is the same.
        unsafe { Cpu::copy_from_host(&(), at, from) }.map_err(ShelfError::Full)
    }
}

// SAFETY: blocks are those of `Cpu`.
unsafe impl HostBackend for Shelf {
    fn host_pointer(block: NonNull<u8>) -> *mut u8 {
        block.as_ptr()
    }
}
