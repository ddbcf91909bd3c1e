//! A backend for tests: plain heap blocks, with a ledger that notes every block, refuses the n-th
//! allocation on request, and checks that what is freed is what was allocated.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pool_core::{Advice, Device, Element, HostBackend, PoolBackend, Reuse, SlotRef};

/// Host memory from the global allocator, watched by a [`Ledger`].
#[derive(Debug)]
pub struct HeapBackend;

/// What a [`HeapBackend`] did, shared by all pools that were given a clone of it.
#[derive(Clone, Debug, Default)]
pub struct Ledger(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    /// Every block that is allocated, by its address.
    live: BTreeMap<usize, Live>,
    live_bytes: usize,
    /// The most bytes that the live blocks ever held, since it was last forgotten.
    peak_bytes: usize,
    allocations: usize,
    refused: usize,
    refuse: Refusal,
    reuses: Vec<Reuse>,
    refuse_reuse: bool,
    settled: usize,
}

#[derive(Clone, Copy, Debug)]
struct Live {
    block: NonNull<u8>,
    bytes: usize,
}

// SAFETY: an address and a number; the ledger only ever frees what no pool knows any more.
unsafe impl Send for Live {}

/// Which allocations are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refusal {
    /// None.
    #[default]
    Never,
    /// The one after this many more.
    Once(usize),
    /// All after this many more.
    From(usize),
    /// All while the live blocks would hold more than this many bytes.
    Above(usize),
    /// The one after this many more panics instead.
    PanicOnce(usize),
}

/// The error of a [`HeapBackend`] that was told to refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Bytes that were asked for.
    pub bytes: usize,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the test refused {} bytes", self.bytes)
    }
}

impl std::error::Error for Refused {}

impl Ledger {
    /// A ledger without entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Blocks that are allocated now.
    #[must_use]
    pub fn live_blocks(&self) -> usize {
        self.entries().live.len()
    }

    /// Bytes of the blocks that are allocated now.
    #[must_use]
    pub fn live_bytes(&self) -> usize {
        self.entries().live_bytes
    }

    /// The most bytes that the blocks held at any moment, also in the middle of a call, since
    /// [`forget_peak`](Self::forget_peak).
    #[must_use]
    pub fn peak_bytes(&self) -> usize {
        self.entries().peak_bytes
    }

    /// Starts to look for a new peak from what is allocated now.
    pub fn forget_peak(&self) {
        let live = self.live_bytes();
        self.entries().peak_bytes = live;
    }

    /// How often a block was asked for and given.
    #[must_use]
    pub fn allocations(&self) -> usize {
        self.entries().allocations
    }

    /// How often memory was wanted back at once.
    #[must_use]
    pub fn settled(&self) -> usize {
        self.entries().settled
    }

    /// How often a block was refused, by an error or by a panic.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.entries().refused
    }

    /// Says which of the coming allocations are refused.
    pub fn refuse(&self, refusal: Refusal) {
        self.entries().refuse = refusal;
    }

    /// Whether `reuse` fails from now on.
    pub fn refuse_reuse(&self, on: bool) {
        self.entries().refuse_reuse = on;
    }

    /// Why blocks of armed slots were reused so far.
    #[must_use]
    pub fn reuses(&self) -> Vec<Reuse> {
        self.entries().reuses.clone()
    }

    /// The block that holds the address, as its start and bytes.
    #[must_use]
    pub fn block_of(&self, address: usize) -> Option<(usize, usize)> {
        let entries = self.entries();
        let (&start, &Live { bytes, .. }) = entries.live.range(..=address).next_back()?;
        (address < start + bytes).then_some((start, bytes))
    }

    /// Frees the memory of blocks that their pool, which is gone, left to leak.
    pub fn free_leaked(&self) {
        let mut entries = self.entries();
        entries.live_bytes = 0;
        let live = std::mem::take(&mut entries.live);
        drop(entries);
        for Live { block, bytes } in live.into_values() {
            // SAFETY: a block of the ledger, allocated with this layout, that no pool knows any more.
            unsafe { dealloc(block.as_ptr(), layout(bytes)) };
        }
    }
}

/// # Panics
///
/// Where `bytes` is no size that a pool may ask for.
fn layout(bytes: usize) -> Layout {
    assert!(bytes > 0 && bytes % HeapBackend::ALIGN == 0, "a pool must not ask for {bytes} bytes");
    Layout::from_size_align(bytes, HeapBackend::ALIGN).expect("a size that a pool may ask for")
}

// SAFETY: blocks come from the global allocator with `ALIGN` and zeroed, which is initialised; they do
// not move, belong to no thread, and `free` gives them back with the layout that they were allocated
// with, which the ledger checks. It panics, which aborts nothing but a failing test, only where the
// pool broke its own side of the contract. Views are slices of exactly the elements asked for.
unsafe impl PoolBackend for HeapBackend {
    type Context = Ledger;
    type Block = NonNull<u8>;
    type View<'s, T: Element> = &'s mut [T];
    type ViewRef<'s, T: Element> = &'s [T];
    type Descriptor = u64;
    type Error = Refused;

    const ALIGN: usize = 64;
    const DANGLING: NonNull<u8> = NonNull::<Aligned>::dangling().cast();

    fn device(_: &Ledger) -> Device {
        Device { kind: "heap", ordinal: None }
    }

    fn allocate(ledger: &Ledger, bytes: usize, _: Advice) -> Result<NonNull<u8>, Refused> {
        let layout = layout(bytes);
        let mut entries = ledger.entries();
        let live = entries.live_bytes;
        let refused = match &mut entries.refuse {
            Refusal::Never => false,
            Refusal::Above(limit) => live + bytes > *limit,
            Refusal::From(0) => true,
            refusal @ Refusal::Once(0) => {
                *refusal = Refusal::Never;
                true
            }
            refusal @ Refusal::PanicOnce(0) => {
                *refusal = Refusal::Never;
                entries.refused += 1;
                drop(entries);
                panic!("the test panics instead of allocating {bytes} bytes");
            }
            Refusal::From(left) | Refusal::Once(left) | Refusal::PanicOnce(left) => {
                *left -= 1;
                false
            }
        };
        if refused {
            entries.refused += 1;
            return Err(Refused { bytes });
        }
        // SAFETY: the layout has a size.
        let pointer = unsafe { alloc_zeroed(layout) };
        let block = NonNull::new(pointer).ok_or(Refused { bytes })?;
        entries.allocations += 1;
        entries.live_bytes = live + bytes;
        entries.peak_bytes = entries.peak_bytes.max(live + bytes);
        entries.live.insert(block.addr().get(), Live { block, bytes });
        Ok(block)
    }

    unsafe fn free(ledger: &Ledger, block: NonNull<u8>, bytes: usize) {
        let mut entries = ledger.entries();
        let noted = entries.live.remove(&block.addr().get()).map(|live| live.bytes);
        assert_eq!(noted, Some(bytes), "freed with other bytes than allocated, or twice");
        entries.live_bytes -= bytes;
        drop(entries);
        // SAFETY: allocated with this layout, as just checked; the caller gives it up.
        unsafe { dealloc(block.as_ptr(), layout(bytes)) };
    }

    fn settle(ledger: &Ledger) {
        ledger.entries().settled += 1;
    }

    unsafe fn view<'s, T: Element>(
        block: NonNull<u8>,
        slot: SlotRef<Self>,
        length: usize,
    ) -> &'s mut [T] {
        let _ = slot;
        // SAFETY: the caller answers for `length` valid elements at the block, exclusively for `'s`;
        // `ALIGN` is enough for `T`, and a dangling block comes with zero bytes.
        unsafe { std::slice::from_raw_parts_mut(block.cast().as_ptr(), length) }
    }

    unsafe fn view_ref<'s, T: Element>(
        block: NonNull<u8>,
        _: SlotRef<Self>,
        length: usize,
    ) -> &'s [T] {
        // SAFETY: as in `view`, shared.
        unsafe { std::slice::from_raw_parts(block.cast().as_ptr(), length) }
    }

    unsafe fn reuse(ledger: &Ledger, _: NonNull<u8>, why: Reuse) -> Result<(), Refused> {
        let mut entries = ledger.entries();
        entries.reuses.push(why);
        if entries.refuse_reuse { Err(Refused { bytes: 0 }) } else { Ok(()) }
    }

    unsafe fn set_bytes(
        _: &Ledger,
        block: NonNull<u8>,
        value: u8,
        bytes: usize,
    ) -> Result<(), Refused> {
        // SAFETY: the block holds `bytes` bytes and nothing views it (caller).
        unsafe { block.write_bytes(value, bytes) };
        Ok(())
    }

    unsafe fn fill<T: Element>(
        _: &Ledger,
        block: NonNull<u8>,
        value: T,
        length: usize,
    ) -> Result<(), Refused> {
        for index in 0..length {
            // SAFETY: the block holds `length` elements (caller).
            let place = unsafe { block.cast::<T>().add(index) };
            // SAFETY: within the block, aligned by `ALIGN`, and viewed by nothing (caller).
            unsafe { place.write(value) };
        }
        Ok(())
    }

    unsafe fn copy_from_host<T: Element>(
        _: &Ledger,
        block: NonNull<u8>,
        source: &[T],
    ) -> Result<(), Refused> {
        let from = NonNull::from(source).cast::<T>();
        // SAFETY: the block holds as many elements (caller); a live slice is no part of it.
        unsafe { block.cast::<T>().copy_from_nonoverlapping(from, source.len()) };
        Ok(())
    }
}

/// The alignment of a block, for a dangling pointer.
#[repr(align(64))]
struct Aligned;

// SAFETY: a block is a pointer to host memory, valid for all of its bytes and aligned; the dangling
// one is aligned.
unsafe impl HostBackend for HeapBackend {
    fn host_pointer(block: NonNull<u8>) -> *mut u8 {
        block.as_ptr()
    }
}
