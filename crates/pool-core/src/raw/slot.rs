//! One slot, seen from the outside: [`SlotPointer`] is what a cursor reserved and the acquire family
//! fills, and the slot that a [`SlotRef`] in a view of a backend stands for.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::slice;

use super::shape_set::ShapeSet;
use super::state::State;
use super::table::{SLOTS, Table};
use super::words::{Record, Slot};
use crate::backend::{HostBackend, PoolBackend};
use crate::element::Element;
use crate::error::PoolError;
use crate::slot_ref::SlotRef;
use crate::threads::ScopeMayLeaveItsThread;

/// A slot whose block an acquire of the length in hand may use, for the time `'s` of its scope.
pub struct SlotPointer<'s, B: PoolBackend> {
    pub(super) slot: NonNull<Slot<B>>,
    scope: PhantomData<&'s ()>,
}

// SAFETY: no type meets the condition (invariant 7).
unsafe impl<B: PoolBackend + ScopeMayLeaveItsThread> Send for SlotPointer<'_, B> {}

// SAFETY: as above.
unsafe impl<B: PoolBackend + ScopeMayLeaveItsThread> Sync for SlotPointer<'_, B> {}

impl<B: PoolBackend> Clone for SlotPointer<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: PoolBackend> Copy for SlotPointer<'_, B> {}

impl<B: PoolBackend> fmt::Debug for SlotPointer<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SlotPointer").field(&self.slot).finish()
    }
}

impl<'s, B: PoolBackend> SlotPointer<'s, B> {
    /// # Safety
    ///
    /// `slot` is a slot, no sentinel, of a pool that lives for `'s`.
    #[inline(always)]
    pub(super) unsafe fn new(slot: NonNull<Slot<B>>) -> Self {
        Self { slot, scope: PhantomData }
    }

    /// The reference to the slot that a view keeps.
    #[inline(always)]
    pub(crate) fn reference(self) -> SlotRef<B> {
        // SAFETY: a slot of a pool of this backend (`new`).
        unsafe { SlotRef::new(self.slot.cast()) }
    }

    /// The slot's block.
    #[inline(always)]
    pub(crate) fn block(self) -> B::Block {
        // SAFETY: the slot lives for `'s`, and nothing holds a reference to it (invariant 2).
        unsafe { (*self.slot.as_ptr()).block }
    }

    /// The exclusive view of the block's first `length` elements.
    ///
    /// # Safety
    ///
    /// The slot was reserved for `length` elements of `T` or more bytes, the cursor has stepped past
    /// it, no other view of it is in use while this one is, and the elements are valid as `T`.
    #[inline(always)]
    pub(crate) unsafe fn view<T: Element>(self, length: usize) -> B::View<'s, T> {
        // SAFETY: reserved for `length` elements: the block holds as many (invariants 3 and 4), or is
        // dangling with zero bytes; it stays allocated for `'s` because the slot is now below the
        // cursor (invariant 5); the caller answers for validity and for exclusiveness.
        unsafe { B::view(self.block(), self.reference(), length) }
    }

    /// A shared view of the block's first `length` elements.
    ///
    /// # Safety
    ///
    /// As for [`view`](Self::view), but other shared views may be in use.
    pub(crate) unsafe fn view_ref<T: Element>(self, length: usize) -> B::ViewRef<'s, T> {
        // SAFETY: as in `view`.
        unsafe { B::view_ref(self.block(), self.reference(), length) }
    }

    /// Zeroes the bytes of `length` elements of `T`.
    ///
    /// # Safety
    ///
    /// The slot was reserved for `length` elements of `T`, and no view of it is in use.
    #[inline]
    pub(crate) unsafe fn zero<T: Element>(self, length: usize) -> Result<(), PoolError<B::Error>> {
        let bytes = length * size_of::<T>();
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the block holds `bytes` bytes (reserved) and nothing views it (caller).
        unsafe { B::set_bytes(self.state().context(), self.block(), 0, bytes) }
            .map_err(|source| PoolError::Backend { operation: "zero a block", source })
    }

    /// Writes `value` into `length` elements.
    ///
    /// # Safety
    ///
    /// As for [`zero`](Self::zero).
    #[inline]
    pub(crate) unsafe fn fill<T: Element>(
        self,
        value: T,
        length: usize,
    ) -> Result<(), PoolError<B::Error>> {
        if length * size_of::<T>() == 0 {
            return Ok(());
        }
        // SAFETY: the block holds `length` elements (reserved) and nothing views it (caller).
        unsafe { B::fill(self.state().context(), self.block(), value, length) }
            .map_err(|source| PoolError::Backend { operation: "fill a block", source })
    }

    /// Copies `source` to the start of the block.
    ///
    /// # Safety
    ///
    /// As for [`zero`](Self::zero), with `source.len()` as the length.
    #[inline]
    pub(crate) unsafe fn copy_from_host<T: Element>(
        self,
        source: &[T],
    ) -> Result<(), PoolError<B::Error>> {
        if size_of_val(source) == 0 {
            return Ok(());
        }
        // SAFETY: the block holds `source.len()` elements (reserved) and nothing views it (caller).
        unsafe { B::copy_from_host(self.state().context(), self.block(), source) }
            .map_err(|source| PoolError::Backend { operation: "copy from the host", source })
    }

    /// Where the elements of the block begin.
    #[inline(always)]
    pub(crate) fn start<T>(self) -> *mut T
    where
        B: HostBackend,
    {
        B::host_pointer(self.block()).cast::<T>()
    }

    /// The block's first `length` elements, to be used for as long as the scope is open.
    ///
    /// # Safety
    ///
    /// As for [`view`](Self::view), for elements of any type.
    #[inline(always)]
    pub(crate) unsafe fn host_slice<T>(self, length: usize) -> &'s mut [T]
    where
        B: HostBackend,
        T: 's,
    {
        // SAFETY: reserved for `length` elements: the block holds as many (invariants 3 and 4), or is dangling
        // with zero bytes, and is aligned for them (`HostBackend`, `assert_aligned`); it stays allocated for
        // `'s` because the slot is below the cursor (invariant 5); the caller answers for validity and for
        // exclusiveness.
        unsafe { slice::from_raw_parts_mut(self.start(), length) }
    }

    /// Writes `length` elements, each made by `element(index)`.
    ///
    /// # Safety
    ///
    /// As for [`zero`](Self::zero), and the cursor has stepped past the slot: `element` is user code
    /// that may acquire from the same scope.
    #[inline]
    pub(crate) unsafe fn write_with<T>(self, length: usize, mut element: impl FnMut(usize) -> T)
    where
        B: HostBackend,
    {
        let start = self.start::<T>();
        for index in 0..length {
            let value = element(index);
            // SAFETY: the block holds `length` elements of `T` (reserved).
            let place = unsafe { start.add(index) };
            // SAFETY: the address is aligned for `T` (`HostBackend`); the slot is below the cursor,
            // so that whatever `element` acquired is elsewhere, and has no view yet. A write of no
            // size is valid at any aligned address.
            unsafe { place.write(value) };
        }
    }

    /// The pool's state.
    #[inline]
    pub(super) fn state(self) -> &'s State<B> {
        // SAFETY: a slot of a live pool (`new`).
        let (table, _) = unsafe { Table::locate(self.slot) };
        // SAFETY: the pool lives for `'s` (`new`).
        unsafe { Table::state_of(table) }
    }

    /// How many slots come before this one, over all tables.
    pub(crate) fn number(self) -> usize {
        // SAFETY: a slot of a live pool (`new`).
        let (table, index) = unsafe { Table::locate(self.slot) };
        // SAFETY: the slot's table is live, and its number is never written after it was made.
        unsafe { (*table.as_ptr()).number * SLOTS + index }
    }

    /// The slot's record.
    #[inline]
    pub(super) fn record(self) -> NonNull<Record> {
        // SAFETY: a slot of a live pool (`new`).
        let (table, index) = unsafe { Table::locate(self.slot) };
        debug_assert!(index < SLOTS, "the sentinel has no record");
        // SAFETY: the table is live, and a `SlotPointer` is never that of a sentinel.
        unsafe { Table::record(table, index) }
    }

    /// The slot's shape set, null where it has none.
    #[inline]
    pub(super) fn shapes(self) -> NonNull<*mut ShapeSet<B>> {
        // SAFETY: a slot of a live pool (`new`).
        let (table, index) = unsafe { Table::locate(self.slot) };
        debug_assert!(index < SLOTS, "the sentinel has no shape set");
        // SAFETY: the table is live, and a `SlotPointer` is never that of a sentinel.
        unsafe { Table::shapes(table, index) }
    }

    /// Notes the handle that the dynamic pool gives out for this slot.
    ///
    /// # Safety
    ///
    /// The slot is reserved for `length` elements of the handle's type; `serial` is no other handle's.
    pub(crate) unsafe fn set_handle(self, serial: u64, length: usize) {
        let record = self.record().as_ptr();
        // SAFETY: the record is live and nothing holds a reference to it.
        unsafe { (*record).serial = serial };
        // SAFETY: as above.
        unsafe { (*record).length = length };
    }

    /// The serial of the slot's handle, 0 for none, and its length.
    pub(crate) fn handle(self) -> (u64, usize) {
        let record = self.record().as_ptr();
        // SAFETY: the record is live and nothing holds a reference to it.
        let serial = unsafe { (*record).serial };
        // SAFETY: as above.
        (serial, unsafe { (*record).length })
    }
}

impl<B: PoolBackend> SlotRef<B> {
    /// The context of the slot's pool.
    ///
    /// # Safety
    ///
    /// The view that this was given to is in use for as long as the result is, on the thread that owns the
    /// pool, or the context is `Sync`.
    #[inline]
    #[must_use]
    pub unsafe fn context(&self) -> &B::Context {
        // SAFETY: the caller's promise.
        let pointer = unsafe { self.pointer() };
        pointer.state().context()
    }

    /// The slot's block, in which the view lies.
    ///
    /// # Safety
    ///
    /// The view that this was given to is in use.
    #[inline]
    #[must_use]
    pub unsafe fn block(&self) -> B::Block {
        // SAFETY: the caller's promise.
        let pointer = unsafe { self.pointer() };
        pointer.block()
    }

    /// The slot, as cursors know it.
    ///
    /// # Safety
    ///
    /// The scope of the view that this was given to, or would have been, is open for `'s`.
    #[inline]
    pub(crate) unsafe fn pointer<'s>(self) -> SlotPointer<'s, B> {
        // SAFETY: the slot of a view is no sentinel, and its pool outlives its scope.
        unsafe { SlotPointer::new(self.address().cast()) }
    }

    /// Arms the slot: [`PoolBackend::reuse`] is called before its block is handed out again, grown
    /// or freed. Nothing depends on the view being dropped.
    ///
    /// # Safety
    ///
    /// The view that this was given to is still in use (its `'s` has not ended), and the call is
    /// made on the thread that owns the pool.
    pub unsafe fn arm(self) {
        // SAFETY: the caller's promise.
        let pointer = unsafe { self.pointer() };
        // SAFETY: the record is live, nothing holds a reference to it, and this is the pool's thread.
        unsafe { (*pointer.record().as_ptr()).armed_by_view = true };
        // SAFETY: below the cursor the advertised word belongs to the view (invariant 5).
        unsafe { (*pointer.slot.as_ptr()).advertised = 0 };
    }
}
