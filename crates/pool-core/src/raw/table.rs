//! The slot table: the hot words of 31 slots, their sentinel, the cold records next to them, and
//! the computation from the address of a slot to its table.

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::ptr::{NonNull, null_mut};

use super::fits::WORD;
use super::state::State;
use super::words::{Record, Slot};
use crate::backend::PoolBackend;
use crate::shape_set::ShapeSet;

/// The number of slots of a table, without its sentinel.
pub(super) const SLOTS: usize = 31;

/// A sequence of slots that never moves: see the [invariants](super).
#[repr(C)]
pub(super) struct Table<B: PoolBackend> {
    /// The slots. The last one is the sentinel, which has no record.
    slots: [Slot<B>; SLOTS + 1],
    /// The shape set of each slot, created at the slot's first acquire of dynamic rank. The sets
    /// are not stored in the records, because a hit reads its slot's set: in a separate array, a
    /// shift computes the address of the set.
    shapes: [*mut ShapeSet<B::Descriptor>; SLOTS],
    records: [Record; SLOTS],
    /// The pool's state.
    pub(super) state: NonNull<State<B>>,
    /// The number of tables before this one.
    pub(super) number: usize,
    /// The next pool in a free list. Used only in a pool's first table.
    pub(super) next_idle: *mut (),
}

impl<B: PoolBackend> Table<B> {
    /// The alignment of a table: a power of two that is at least its size.
    pub(super) const ALIGN: usize = size_of::<Self>().next_power_of_two();

    const LAYOUT: Layout = match Layout::from_size_align(size_of::<Self>(), Self::ALIGN) {
        Ok(layout) => layout,
        Err(_) => unreachable!(),
    };

    /// The size of a table in bytes.
    pub(super) const BYTES: usize = size_of::<Self>();

    /// Allocates a table of empty slots. Returns `None` if the host has no memory.
    pub(super) fn allocate(state: NonNull<State<B>>, number: usize) -> Option<NonNull<Self>> {
        const { assert!(B::ALIGN.is_power_of_two(), "PoolBackend::ALIGN must be a power of two") };
        const { assert!(B::ALIGN >= WORD, "PoolBackend::ALIGN must be at least 8") };
        // SAFETY: the size of the layout is not zero, because a table holds at least its state
        // pointer.
        let memory = unsafe { alloc(Self::LAYOUT) };
        let table = NonNull::new(memory.cast::<Self>())?;
        for index in 0..=SLOTS {
            let slot = Slot { block: B::DANGLING, advertised: 0 };
            // SAFETY: `index` is within the array of `SLOTS + 1` slots, in memory that was just
            // allocated.
            let place = unsafe { Self::slot(table, index) };
            // SAFETY: as above.
            unsafe { place.write(slot) };
        }
        for index in 0..SLOTS {
            // SAFETY: `index` is within the array of sets, in memory that was just allocated.
            let place = unsafe { Self::shapes(table, index) };
            // SAFETY: as above.
            unsafe { place.write(null_mut()) };
            // SAFETY: `index` is within the array of records, in memory that was just allocated.
            let place = unsafe { Self::record(table, index) };
            // SAFETY: as above.
            unsafe { place.write(Record::EMPTY) };
        }
        // SAFETY: the field is inside the allocation, and has nothing to drop. The same holds
        // below.
        unsafe { (*table.as_ptr()).state = state };
        // SAFETY: as above.
        unsafe { (*table.as_ptr()).number = number };
        // SAFETY: as above.
        unsafe { (*table.as_ptr()).next_idle = null_mut() };
        Some(table)
    }

    /// Returns the state of a table's pool.
    ///
    /// # Safety
    ///
    /// `table` belongs to a pool that lives for `'s`.
    #[inline]
    pub(super) unsafe fn state_of<'s>(table: NonNull<Self>) -> &'s State<B> {
        // SAFETY: the table is live (invariant 1), and the field is never written after the table
        // was created.
        let state = unsafe { (*table.as_ptr()).state };
        // SAFETY: the state outlives its tables, and only shared references to it exist.
        unsafe { state.as_ref() }
    }

    /// Frees a table whose slots are empty.
    ///
    /// # Safety
    ///
    /// `table` came from [`allocate`](Self::allocate), its slots are empty, and no pointer to it is
    /// used afterwards.
    pub(super) unsafe fn deallocate(table: NonNull<Self>) {
        // SAFETY: the table was allocated by `allocate` with this layout. Slots and records own
        // nothing.
        unsafe { dealloc(table.as_ptr().cast(), Self::LAYOUT) };
    }

    /// Returns the address of a slot, or of the sentinel for `index == SLOTS`.
    ///
    /// # Safety
    ///
    /// `table` is live and `index <= SLOTS`.
    #[inline]
    pub(super) unsafe fn slot(table: NonNull<Self>, index: usize) -> NonNull<Slot<B>> {
        // SAFETY: `slots` is the first field of a `repr(C)` struct, so the table's address is the
        // address of slot 0, and `index` stays within the array.
        unsafe { table.cast::<Slot<B>>().add(index) }
    }

    /// Returns the address of a slot's record.
    ///
    /// # Safety
    ///
    /// `table` is live and `index < SLOTS`.
    #[inline]
    pub(super) unsafe fn record(table: NonNull<Self>, index: usize) -> NonNull<Record> {
        // SAFETY: the field is inside the live allocation.
        let records = unsafe { &raw mut (*table.as_ptr()).records };
        // SAFETY: the pointer is derived from a non-null pointer.
        let first = unsafe { NonNull::new_unchecked(records.cast::<Record>()) };
        // SAFETY: `index` stays within the array.
        unsafe { first.add(index) }
    }

    /// Returns the address of the pointer to a slot's shape set. That pointer is null if the slot
    /// has no set.
    ///
    /// # Safety
    ///
    /// `table` is live and `index < SLOTS`.
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
        // SAFETY: `index` stays within the array.
        unsafe { first.add(index) }
    }

    /// Returns the table of a slot or sentinel, and the slot's index in it.
    ///
    /// # Safety
    ///
    /// `slot` is a slot or sentinel of a table.
    #[inline]
    pub(super) unsafe fn locate(slot: NonNull<Slot<B>>) -> (NonNull<Self>, usize) {
        let offset = slot.addr().get() & (Self::ALIGN - 1);
        let table = slot.as_ptr().wrapping_byte_sub(offset).cast::<Self>();
        // SAFETY: every slot is in a table, at an address at or above the table's address. The
        // table's address is the slot's address rounded down to `ALIGN`, and is not null.
        (unsafe { NonNull::new_unchecked(table) }, offset / size_of::<Slot<B>>())
    }
}
