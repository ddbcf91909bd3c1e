//! Defines the slot table, which stores 31 slots, their cold records, and a sentinel. This module
//! also contains functions that compute a table's address from the address of any of its slots.

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::ptr::{NonNull, null_mut};

use super::fits::WORD;
use super::state::State;
use super::words::{Record, Slot};
use crate::backend::PoolBackend;
use crate::shape_set::ShapeSet;

/// The number of slots in a table, not including the sentinel.
pub(super) const SLOTS: usize = 31;

/// A sequence of slots that never moves in memory. The [invariants](super) explain a table's
/// layout.
#[repr(C)]
pub(super) struct Table<B: PoolBackend> {
    /// The slots of the table. The last element is the sentinel, which has no record.
    slots: [Slot<B>; SLOTS + 1],
    /// The slots' shape sets. A set is created when its slot is first acquired with a dynamic rank.
    /// The sets are stored in a separate array rather than in the records. Because of this layout,
    /// a cache hit needs only one shift to compute the address of the slot's set.
    shapes: [*mut ShapeSet<B::Descriptor>; SLOTS],
    records: [Record; SLOTS],
    /// The state of the table's pool.
    pub(super) state: NonNull<State<B>>,
    /// The number of tables that precede this one in the pool.
    pub(super) number: usize,
    /// The next pool in a free list. Only a pool's first table uses this field.
    pub(super) next_idle: *mut (),
}

impl<B: PoolBackend> Table<B> {
    /// The alignment of a table. The alignment is a power of two that is greater than or equal to
    /// the size of a table.
    pub(super) const ALIGN: usize = size_of::<Self>().next_power_of_two();

    const LAYOUT: Layout = match Layout::from_size_align(size_of::<Self>(), Self::ALIGN) {
        Ok(layout) => layout,
        Err(_) => unreachable!(),
    };

    /// The size of a table in bytes.
    pub(super) const BYTES: usize = size_of::<Self>();

    /// Allocates a table of empty slots. Returns `None` if the host is out of memory.
    pub(super) fn allocate(state: NonNull<State<B>>, number: usize) -> Option<NonNull<Self>> {
        const { assert!(B::ALIGN.is_power_of_two(), "PoolBackend::ALIGN must be a power of two") };
        const { assert!(B::ALIGN >= WORD, "PoolBackend::ALIGN must be at least 8") };
        // SAFETY: the layout's size is not zero, because every table contains at least a pointer to
        // the state.
        let memory = unsafe { alloc(Self::LAYOUT) };
        let table = NonNull::new(memory.cast::<Self>())?;
        for index in 0..=SLOTS {
            let slot = Slot { block: B::DANGLING, advertised: 0 };
            // SAFETY: `index` is within the bounds of the slot array, whose memory was just
            // allocated.
            let place = unsafe { Self::slot(table, index) };
            // SAFETY: `place` is inside the new table. No reference to the table exists.
            unsafe { place.write(slot) };
        }
        for index in 0..SLOTS {
            // SAFETY: `index` is within the bounds of the shape set array, whose memory was just
            // allocated.
            let place = unsafe { Self::shapes(table, index) };
            // SAFETY: `place` is inside the new table. No reference to the table exists.
            unsafe { place.write(null_mut()) };
            // SAFETY: `index` is within the bounds of the record array, whose memory was just
            // allocated.
            let place = unsafe { Self::record(table, index) };
            // SAFETY: `place` is inside the new table. No reference to the table exists.
            unsafe { place.write(Record::EMPTY) };
        }
        // SAFETY: the field is inside the new table, and its old value does not need to be dropped.
        unsafe { (*table.as_ptr()).state = state };
        // SAFETY: the field is inside the new table, and its old value does not need to be dropped.
        unsafe { (*table.as_ptr()).number = number };
        // SAFETY: the field is inside the new table, and its old value does not need to be dropped.
        unsafe { (*table.as_ptr()).next_idle = null_mut() };
        Some(table)
    }

    /// Returns the state of the table's pool.
    ///
    /// # Safety
    ///
    /// `table` must belong to a pool that outlives `'s`.
    #[inline]
    pub(super) unsafe fn state_of<'s>(table: NonNull<Self>) -> &'s State<B> {
        // SAFETY: the table is live (invariant 1). The `state` field never changes after the table
        // is created.
        let state = unsafe { (*table.as_ptr()).state };
        // SAFETY: the state outlives its tables. Only shared references to the state exist.
        unsafe { state.as_ref() }
    }

    /// Frees a table whose slots are empty.
    ///
    /// # Safety
    ///
    /// `table` must have been returned by [`allocate`](Self::allocate), and its slots must be
    /// empty. No pointer to the table may be used after the call.
    pub(super) unsafe fn deallocate(table: NonNull<Self>) {
        // SAFETY: `allocate` allocated the table with this layout. Slots and records own no memory.
        unsafe { dealloc(table.as_ptr().cast(), Self::LAYOUT) };
    }

    /// Returns the address of a slot, or the address of the sentinel if `index` is `SLOTS`.
    ///
    /// # Safety
    ///
    /// `table` must be live, and `index` must be at most `SLOTS`.
    #[inline]
    pub(super) unsafe fn slot(table: NonNull<Self>, index: usize) -> NonNull<Slot<B>> {
        // SAFETY: `slots` is the first field of a `repr(C)` struct, so the table's address is the
        // address of slot 0. The caller guarantees that `index` is in bounds.
        unsafe { table.cast::<Slot<B>>().add(index) }
    }

    /// Returns the address of a slot's record.
    ///
    /// # Safety
    ///
    /// `table` must be live, and `index` must be less than `SLOTS`.
    #[inline]
    pub(super) unsafe fn record(table: NonNull<Self>, index: usize) -> NonNull<Record> {
        // SAFETY: the field is inside the live allocation.
        let records = unsafe { &raw mut (*table.as_ptr()).records };
        // SAFETY: the pointer is derived from a non-null pointer.
        let first = unsafe { NonNull::new_unchecked(records.cast::<Record>()) };
        // SAFETY: the caller guarantees that `index` is in bounds.
        unsafe { first.add(index) }
    }

    /// Returns the location of the pointer to a slot's shape set. The pointer is null if the slot
    /// has no set.
    ///
    /// # Safety
    ///
    /// `table` must be live, and `index` must be less than `SLOTS`.
    #[inline]
    pub(super) unsafe fn shapes(
        table: NonNull<Self>,
        index: usize,
    ) -> NonNull<*mut ShapeSet<B::Descriptor>> {
        // SAFETY: the field is inside the live allocation.
        let shapes = unsafe { &raw mut (*table.as_ptr()).shapes };
        // SAFETY: the pointer is derived from a non-null pointer.
        let first =
            unsafe { NonNull::new_unchecked(shapes.cast::<*mut ShapeSet<B::Descriptor>>()) };
        // SAFETY: the caller guarantees that `index` is in bounds.
        unsafe { first.add(index) }
    }

    /// Returns the table that contains a slot or sentinel, and the slot's index in that table.
    ///
    /// # Safety
    ///
    /// `slot` must be a slot or sentinel in a table.
    #[inline]
    pub(super) unsafe fn locate(slot: NonNull<Slot<B>>) -> (NonNull<Self>, usize) {
        let offset = slot.addr().get() & (Self::ALIGN - 1);
        let table = slot.as_ptr().wrapping_byte_sub(offset).cast::<Self>();
        // SAFETY: every slot is inside a table, and a table's address is a multiple of `ALIGN`.
        // Rounding the slot's address down to a multiple of `ALIGN` therefore yields the table's
        // address, which is not null.
        (unsafe { NonNull::new_unchecked(table) }, offset / size_of::<Slot<B>>())
    }
}
