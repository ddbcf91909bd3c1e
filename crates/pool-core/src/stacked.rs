//! The marker that turns a backend into one whose pools are stacks.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::backend::{Advice, HostBackend, PoolBackend, Reuse};
use crate::device::Device;
use crate::element::Element;
use crate::raw::Slots;
use crate::slot_ref::SlotRef;

/// The backend `B` with the layout [`Stack`]: a pool holds little more than its peak of live bytes.
///
/// A pool of `B` holds a block for each array of a pass, as large as the largest array that used the block. A pool of
/// `Stacked<B>` holds one chunk of memory. Arrays are adjacent in the chunk, so the chunk is as large as the arrays
/// that were live together. Choose it if lengths vary, or if functions open scopes within scopes.
///
/// Scopes, views and code that is generic over [`PoolBackend`] stay the same. A longer array moves
/// the arrays after it. So the address of the i-th array repeats only in passes whose earlier
/// arrays have the same lengths.
///
/// ```
/// use pool_core::{Pool, Stacked};
/// # use pool_conformance::HeapBackend as Memory;
///
/// let mut pool = Pool::<Stacked<Memory>>::new(Default::default());
/// for (first, second) in [(1_000, 10), (10, 1_000), (1_000, 10)] {
///     let scope = pool.scope();
///     scope.acquire::<f64, _>(first).fill(1.0);
///     scope.acquire::<f64, _>(second).fill(2.0);
/// }
/// // 1,010 numbers were live at once. With slots, the pool would hold 2,000.
/// assert!(pool.stats().reserved_bytes < 1_010 * 8 * 105 / 100);
/// ```
///
/// # Passes and memory
///
/// A *pass* begins when a scope is opened in the pool itself. In the first pass the pool allocates
/// chunks as it needs them, each at least as large as all before it. The next pass begins with one
/// chunk of the size that the previous pass needed, plus 1/64. Equal passes then allocate nothing,
/// and have equal addresses. A pass that needs more allocates another chunk, and the pass after it
/// begins with one larger chunk. If that chunk cannot be allocated, the pool keeps its chunks.
///
/// After a pass has allocated a chunk, all its acquires are cold, so that the pool counts live
/// bytes.
///
/// # Nested scopes of one thread
///
/// A thread-local scope inside another one borrows the rest of the outer scope's chunk. So a call
/// chain in which each function opens a scope holds only its live bytes, at every depth. The memory
/// returns when the inner guard is dropped. `pool_facade` has these scopes:
/// `with_pool!(Stacked<Cpu>, |scope| { … })`.
///
/// | | |
/// |---|---|
/// | an inner scope needs more than the outer one has left | it allocates a chunk of its own; the outer pool's next pass begins with a chunk for both |
/// | the outer scope acquires while the inner guard lives | it gets another chunk if the rest of its own was lent |
/// | guards are dropped in any order | the memory goes to the guard that still has arrays in it |
/// | a guard is forgotten | its memory is never reused; later scopes borrow from it |
/// | an outer scope stays open in a loop | inner scopes keep their own chunk, and later passes allocate nothing |
/// | [`PoolStats::reserved_bytes`](crate::PoolStats::reserved_bytes) | borrowed bytes count in the pool that owns the chunk |
/// | [`PoolConfig::byte_limit`](crate::PoolConfig::byte_limit) | each pool's own; borrowed bytes count for the borrower too |
/// | `trim`, `compact`, `clear` | free nothing that is lent or borrowed |
///
/// The outer pool lends the memory above its latest array. If that array belonged to an inner lexical scope that has
/// ended, its memory is not lent.
///
/// # What differs from slots
///
/// | | in a stack |
/// |---|---|
/// | [`PoolStats::active_slots`](crate::PoolStats::active_slots) | the arrays of a [`DynamicPool`](crate::DynamicPool); 0 for scopes |
/// | [`PoolStats::high_water_slots`](crate::PoolStats::high_water_slots) | 0 |
/// | [`PoolConfig::growth_factor`](crate::PoolConfig::growth_factor) | no effect |
/// | [`PoolConfig::fresh`](crate::PoolConfig::fresh) | a chunk for each array |
/// | `trim` | frees the chunks after the scope's own, and that one too if nothing is handed out; else returns whole pages of its rest to the system ([`discarded_bytes`](crate::ReleaseReport::discarded_bytes)) |
/// | a [`PoolVec`](crate::PoolVec) that grows | grows in place if it is the last array, else moves |
/// | [`Scope::keep`](crate::Scope::keep) | moves the kept array down to the start of the inner scope's memory |
/// | alignment of an element | any on the host |
/// | device memory that another stream uses | ordered by the bytes of each array; while such an array is live, later acquires are cold |
/// | an array whose elements have padding, or are uninitialised | zeroed once, before it is next read; while it is live, later acquires for reading search a list of such bytes |
pub struct Stacked<B>(PhantomData<fn() -> B>);

impl<B> fmt::Debug for Stacked<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stacked")
    }
}

/// The layout in which arrays are adjacent: see [`Stacked`].
#[derive(Clone, Copy, Debug)]
pub struct Stack;

/// The block that a view's bytes lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockOf<Block> {
    /// The block of a slot: all its bytes belong to one array.
    Slot(Block),
    /// The block of a stack's chunk, which other arrays share.
    Stack(Block),
}

/// A backend whose blocks can be divided, so that [`Stacked`] can make stacks of them.
///
/// # Safety
///
/// - [`address`](Self::address) of an allocated block is a multiple of [`ALIGN`](PoolBackend::ALIGN). For host memory it
///   is the pointer to the block's first byte, valid for the whole block.
/// - [`block_at`](Self::block_at) of an address within an allocated block, with the provenance of
///   that block's address, is a block with the same end as the allocated one. Every method of the
///   backend but [`free`](PoolBackend::free) accepts it. At the address of an allocated block, it
///   is that block, which `free` accepts.
/// - If [`may_exchange_blocks`](Self::may_exchange_blocks) returns `true`, a block allocated under
///   one of the two contexts is also one of the other, until both are dropped.
/// - [`view`](PoolBackend::view) and [`view_ref`](PoolBackend::view_ref) ignore their [`SlotRef`], or their views use it
///   through [`pool_context`](SlotRef::pool_context), [`block_of`](SlotRef::block_of) and
///   [`arm_bytes`](SlotRef::arm_bytes) alone, which work for both layouts.
/// - Addresses of blocks lie in the lower half of the address space, as in every user space.
#[diagnostic::on_unimplemented(
    message = "pools of `{Self}` cannot be stacked",
    label = "the blocks of this backend cannot be divided among arrays",
    note = "WebGPU's usage rules are for whole buffers: two arrays of one buffer cannot be read and written in one dispatch",
    note = "use the backend itself, without `Stacked`: its pools have slots"
)]
pub unsafe trait StackedBackend: PoolBackend<Layout = Slots> {
    /// Returns the address of a block.
    fn address(block: Self::Block) -> NonNull<u8>;

    /// Returns the block that begins at an address.
    fn block_at(address: NonNull<u8>) -> Self::Block;

    /// Returns `true` if blocks of one context may be used and freed under another one, without
    /// further order. Pools of one thread whose contexts allow it share memory when their scopes
    /// are nested. By default, contexts without state allow it.
    fn may_exchange_blocks(own: &Self::Context, other: &Self::Context) -> bool {
        _ = (own, other);
        size_of::<Self::Context>() == 0
    }

    /// Does the work of [`reuse`](PoolBackend::reuse) for a part of a stack's chunk that a view
    /// [armed](SlotRef::arm_bytes): `bytes` bytes from the start of `block` are about to be reused.
    ///
    /// # Errors
    ///
    /// Same as for `reuse`.
    ///
    /// # Safety
    ///
    /// The bytes are allocated, and no view of them is in use.
    unsafe fn reuse_bytes(
        context: &Self::Context,
        block: Self::Block,
        bytes: usize,
    ) -> Result<(), Self::Error> {
        let _ = (context, block, bytes);
        Ok(())
    }

    /// Returns memory of a block to the system and keeps its addresses: whole pages among the bytes
    /// of the block from `from` on. Returns the number of these bytes, or 0 if the system has no
    /// such service. The bytes stay initialised.
    ///
    /// # Safety
    ///
    /// `block` came from [`allocate`](PoolBackend::allocate) of the same context with the same `bytes`, was not freed,
    /// and nothing views its bytes from `from` on.
    unsafe fn discard(
        context: &Self::Context,
        block: Self::Block,
        bytes: usize,
        from: usize,
    ) -> usize {
        let _ = (context, block, bytes, from);
        0
    }
}

impl<B: StackedBackend> SlotRef<Stacked<B>> {
    /// Converts into the reference that `B`'s views keep.
    #[inline(always)]
    #[must_use]
    pub fn of_backend(self) -> SlotRef<B> {
        // SAFETY: a reference of this backend refers to the state of one of its pools.
        unsafe { SlotRef::of_stack(self.address()) }
    }
}

// SAFETY: every method passes its arguments on to `B`, whose contract is the same. A part of a
// block is a block for these methods (`StackedBackend`). `B`'s views use the reference only through
// methods that work for both layouts.
unsafe impl<B: StackedBackend> PoolBackend for Stacked<B> {
    type Layout = Stack;
    type Context = B::Context;
    type Block = B::Block;
    type View<'s, T: Element> = B::View<'s, T>;
    type ViewRef<'s, T: Element> = B::ViewRef<'s, T>;
    type Descriptor = B::Descriptor;
    type Error = B::Error;
    type ViewError = B::ViewError;

    const ALIGN: usize = B::ALIGN;
    // An array begins where its elements are aligned, at any address of a chunk.
    const MAX_ALIGN: usize = 1 << (usize::BITS - 1);
    const DANGLING: B::Block = B::DANGLING;

    fn device(context: &B::Context) -> Device {
        B::device(context)
    }

    fn allocate(context: &B::Context, bytes: usize, advice: Advice) -> Result<B::Block, B::Error> {
        B::allocate(context, bytes, advice)
    }

    unsafe fn free(context: &B::Context, block: B::Block, bytes: usize) {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { B::free(context, block, bytes) };
    }

    fn settle(context: &B::Context) {
        B::settle(context);
    }

    #[inline(always)]
    unsafe fn view<'s, T: Element>(
        block: B::Block,
        slot: SlotRef<Self>,
        length: usize,
    ) -> B::View<'s, T> {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { B::view(block, slot.of_backend(), length) }
    }

    #[inline(always)]
    unsafe fn view_ref<'s, T: Element>(
        block: B::Block,
        slot: SlotRef<Self>,
        length: usize,
    ) -> B::ViewRef<'s, T> {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { B::view_ref(block, slot.of_backend(), length) }
    }

    unsafe fn reuse(context: &B::Context, block: B::Block, why: Reuse) -> Result<(), B::Error> {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { B::reuse(context, block, why) }
    }

    #[inline]
    unsafe fn set_bytes(
        context: &B::Context,
        block: B::Block,
        value: u8,
        bytes: usize,
    ) -> Result<(), B::Error> {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { B::set_bytes(context, block, value, bytes) }
    }

    #[inline]
    unsafe fn fill<T: Element>(
        context: &B::Context,
        block: B::Block,
        value: T,
        length: usize,
    ) -> Result<(), B::Error> {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { B::fill(context, block, value, length) }
    }

    #[inline]
    unsafe fn copy_from_host<T: Element>(
        context: &B::Context,
        block: B::Block,
        source: &[T],
    ) -> Result<(), B::Error> {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { B::copy_from_host(context, block, source) }
    }
}

// SAFETY: a part of a block is a block (`StackedBackend`), and `B` keeps the contract.
unsafe impl<B: StackedBackend + HostBackend> HostBackend for Stacked<B> {
    #[inline(always)]
    fn host_pointer(block: B::Block) -> *mut u8 {
        B::host_pointer(block)
    }
}
