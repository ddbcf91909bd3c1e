//! Defines the marker type that gives a backend the stack layout.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::backend::{Advice, HostBackend, PoolBackend, Reuse};
use crate::device::Device;
use crate::element::Element;
use crate::raw::Slots;
use crate::slot_ref::SlotRef;

/// A backend that stores the arrays of `B` in the [`Stack`] layout. Pools of this backend hold only
/// slightly more memory than their peak live bytes.
///
/// A pool of `B` holds a separate block for each array in a pass. Each block is as large as the
/// largest array that has used it. A pool of `Stacked<B>` holds one chunk of memory, in which
/// arrays are placed one after another. The chunk therefore only needs to be as large as the arrays
/// that are live at the same time. Use `Stacked` if array lengths vary, or if functions with their
/// own scopes call each other.
///
/// Scopes, views, and code that is generic over [`PoolBackend`] work exactly as they do with slots.
/// If an array becomes longer, the arrays after it move to different addresses. The i-th array has
/// the same address in two passes only if all earlier arrays have the same lengths in both passes.
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
/// A *pass* begins when a scope is opened directly from the pool. In the first pass, the pool
/// allocates chunks as needed. Each chunk is at least as large as all earlier chunks combined. The
/// next pass begins with a single chunk. The chunk is 1/64 larger than the memory that the previous
/// pass needed. Later passes that acquire the same arrays use the same addresses and do not
/// allocate any memory. If a pass needs more memory, the pool allocates another chunk, and the next
/// pass begins with one larger chunk. If the larger chunk cannot be allocated, the pool retains its
/// existing chunks.
///
/// After a pass has allocated a chunk, all further acquires in the same pass take the cold path.
/// The cold path counts the live bytes.
///
/// # Nested scopes of one thread
///
/// A thread-local scope that is opened inside another one borrows the unused remainder of the outer
/// scope's chunk. If functions call each other, each can open its own scope, and together they need
/// memory only for their live bytes. The borrowed memory is returned when the inner guard is
/// dropped. In `pool_facade`, the `with_pool!(Stacked<Cpu>, |scope| { … })` macro opens a
/// thread-local scope.
///
/// A pool records the position of its cursor only after it was used together with another pool of
/// its thread. If the outer pool has already merged its chunks at that time, the inner pool
/// allocates its own chunk. The chunks are merged within the next two passes.
///
/// | | |
/// |---|---|
/// | an inner scope needs more memory than the outer scope has left | the inner scope allocates its own chunk, and the outer pool's next pass begins with a chunk for both scopes |
/// | the outer scope acquires memory while the inner guard is alive | the outer scope uses another chunk if the rest of its own chunk is lent |
/// | guards are dropped in any order | the memory goes to the guard whose arrays still use it |
/// | a guard is forgotten | the guard's memory is never handed out again, and later scopes borrow from it |
/// | an outer scope stays open in a loop | inner scopes keep their own chunk, and later passes do not allocate |
/// | [`PoolStats::reserved_bytes`](crate::PoolStats::reserved_bytes) | borrowed bytes are counted by the pool that owns the chunk |
/// | [`PoolConfig::byte_limit`](crate::PoolConfig::byte_limit) | the limit applies to each pool separately, and borrowed bytes also count for the borrower |
/// | `trim`, `compact`, `clear` | these methods do not free memory that is lent or borrowed |
///
/// The outer pool lends the memory above its most recently acquired array. That array's memory is
/// not lent, even if the array belongs to an inner lexical scope that has since ended.
///
/// # What differs from slots
///
/// | | in a stack |
/// |---|---|
/// | [`PoolStats::active_slots`](crate::PoolStats::active_slots) | the number of arrays in a [`DynamicPool`](crate::DynamicPool), or 0 for scopes |
/// | [`PoolStats::high_water_slots`](crate::PoolStats::high_water_slots) | 0 |
/// | [`PoolConfig::growth_factor`](crate::PoolConfig::growth_factor) | has no effect |
/// | [`PoolConfig::fresh`](crate::PoolConfig::fresh) | each array uses its own chunk |
/// | `trim` | frees the chunks after the scope's chunk, and also frees the scope's chunk if nothing is handed out, or returns its unused pages to the system otherwise ([`discarded_bytes`](crate::ReleaseReport::discarded_bytes)) |
/// | a [`PoolVec`](crate::PoolVec) that grows | grows in place if the vector is the last array, and moves otherwise |
/// | [`Scope::keep`](crate::Scope::keep) | moves the kept array down to the start of the inner scope's memory |
/// | alignment of an element | unlimited on the host |
/// | device memory that another stream uses | the pool's queue waits for the bytes of each array separately, and while such an array is live, later acquires take the cold path |
/// | an array whose elements have padding or are uninitialized | the bytes are zeroed once, before they are next read, and while the array is live, later acquires for reading search a list of such bytes |
pub struct Stacked<B>(PhantomData<fn() -> B>);

impl<B> fmt::Debug for Stacked<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stacked")
    }
}

/// The layout in which arrays are placed one after another (see [`Stacked`]).
#[derive(Clone, Copy, Debug)]
pub struct Stack;

/// The block that contains a view's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockOf<Block> {
    /// A slot's block, whose bytes all belong to one array.
    Slot(Block),
    /// A stack chunk's block, which several arrays may share.
    Stack(Block),
}

/// A backend whose blocks can be divided among several arrays, as [`Stacked`] requires.
///
/// # Safety
///
/// - For an allocated block, [`address`](Self::address) must return a multiple of
///   [`ALIGN`](PoolBackend::ALIGN). For host memory, the address must be the pointer to the block's
///   first byte, and must be valid for the whole block.
/// - [`block_at`](Self::block_at) may receive an address inside an allocated block. The address has
///   the provenance of the block's own address. For such an address, the method must return a block
///   that ends where the allocated block ends. Every method of the backend except
///   [`free`](PoolBackend::free) must accept a block that `block_at` returned. Given the address of
///   an allocated block, `block_at` must return that block itself. `free` accepts this block.
/// - If [`may_exchange_blocks`](Self::may_exchange_blocks) returns `true` for two contexts, every
///   block of one context must also be valid for the other. The blocks must remain interchangeable
///   until both contexts are dropped. No view of these contexts may call
///   [`arm_bytes`](SlotRef::arm_bytes), because a pool that lends memory does not order it.
/// - A view created by [`view`](PoolBackend::view) or [`view_ref`](PoolBackend::view_ref) may use
///   its [`SlotRef`]. The view must use only the `SlotRef` methods
///   [`pool_context`](SlotRef::pool_context), [`block_of`](SlotRef::block_of), and
///   [`arm_bytes`](SlotRef::arm_bytes), which work for both layouts.
/// - Block addresses must be in the lower half of the address space, as are user-space addresses on
///   all systems.
#[diagnostic::on_unimplemented(
    message = "pools of `{Self}` cannot be stacked",
    label = "the blocks of this backend cannot be divided among arrays",
    note = "WebGPU's usage rules are for whole buffers: two arrays of one buffer cannot be read and written in one dispatch",
    note = "use the backend itself, without `Stacked`: its pools have slots"
)]
pub unsafe trait StackedBackend: PoolBackend<Layout = Slots> {
    /// Returns a block's address.
    fn address(block: Self::Block) -> NonNull<u8>;

    /// Returns the block that begins at the given address.
    fn block_at(address: NonNull<u8>) -> Self::Block;

    /// Returns `true` if blocks allocated with either context can be used and freed with the other
    /// without additional synchronization. If this method returns `true`, pools on the same thread
    /// share memory when their scopes are nested. The default implementation returns `true` if the
    /// backend's contexts have no state.
    fn may_exchange_blocks(own: &Self::Context, other: &Self::Context) -> bool {
        _ = (own, other);
        size_of::<Self::Context>() == 0
    }

    /// Makes the backend's queue wait as [`reuse`](PoolBackend::reuse) does, but only for the part
    /// of a stack's chunk that a view has [armed](SlotRef::arm_bytes). The pool calls this method
    /// before it hands out the first `bytes` bytes of `block` again.
    ///
    /// # Errors
    ///
    /// Returns the same errors as `reuse`.
    ///
    /// # Safety
    ///
    /// The bytes must be allocated, and no view of them may be in use.
    unsafe fn reuse_bytes(
        context: &Self::Context,
        block: Self::Block,
        bytes: usize,
    ) -> Result<(), Self::Error> {
        let _ = (context, block, bytes);
        Ok(())
    }

    /// Releases a block's whole pages at or after byte offset `from` and returns their memory to
    /// the system. The addresses of those pages stay valid. Returns the number of bytes that were
    /// released, or 0 if the system does not support this operation. The bytes remain initialized
    /// after this call.
    ///
    /// # Safety
    ///
    /// `block` must have been returned by [`allocate`](PoolBackend::allocate) for the same context
    /// and the same `bytes`, and must not have been freed. No view of the bytes at or after `from`
    /// may exist.
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
    /// Converts this reference into the type that views of `B` store.
    #[inline(always)]
    #[must_use]
    pub fn of_backend(self) -> SlotRef<B> {
        // SAFETY: a `SlotRef<Stacked<B>>` always refers to the state of a `Stacked<B>` pool.
        unsafe { SlotRef::of_stack(self.address()) }
    }
}

// SAFETY: every method forwards its arguments to the same method of `B`. `B` upholds the contract
// of `PoolBackend`. `StackedBackend` guarantees that these methods accept a part of a block as a
// block. A view of `B` uses its `SlotRef` only through methods that work for both layouts.
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
    // An array may begin at any address in a chunk, provided that the address is aligned for the
    // array's elements.
    const MAX_ALIGN: usize = 1 << (usize::BITS - 1);
    const DANGLING: B::Block = B::DANGLING;

    fn device(context: &B::Context) -> Device {
        B::device(context)
    }

    fn allocate(context: &B::Context, bytes: usize, advice: Advice) -> Result<B::Block, B::Error> {
        B::allocate(context, bytes, advice)
    }

    unsafe fn free(context: &B::Context, block: B::Block, bytes: usize) {
        // SAFETY: the caller upholds the contract of `B::free`.
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
        // SAFETY: the caller upholds the contract of `B::view`.
        unsafe { B::view(block, slot.of_backend(), length) }
    }

    #[inline(always)]
    unsafe fn view_ref<'s, T: Element>(
        block: B::Block,
        slot: SlotRef<Self>,
        length: usize,
    ) -> B::ViewRef<'s, T> {
        // SAFETY: the caller upholds the contract of `B::view_ref`.
        unsafe { B::view_ref(block, slot.of_backend(), length) }
    }

    unsafe fn reuse(context: &B::Context, block: B::Block, why: Reuse) -> Result<(), B::Error> {
        // SAFETY: the caller upholds the contract of `B::reuse`.
        unsafe { B::reuse(context, block, why) }
    }

    #[inline]
    unsafe fn set_bytes(
        context: &B::Context,
        block: B::Block,
        value: u8,
        bytes: usize,
    ) -> Result<(), B::Error> {
        // SAFETY: the caller upholds the contract of `B::set_bytes`.
        unsafe { B::set_bytes(context, block, value, bytes) }
    }

    #[inline]
    unsafe fn fill<T: Element>(
        context: &B::Context,
        block: B::Block,
        value: T,
        length: usize,
    ) -> Result<(), B::Error> {
        // SAFETY: the caller upholds the contract of `B::fill`.
        unsafe { B::fill(context, block, value, length) }
    }

    #[inline]
    unsafe fn copy_from_host<T: Element>(
        context: &B::Context,
        block: B::Block,
        source: &[T],
    ) -> Result<(), B::Error> {
        // SAFETY: the caller upholds the contract of `B::copy_from_host`.
        unsafe { B::copy_from_host(context, block, source) }
    }
}

// SAFETY: `B` upholds the contract of `HostBackend`. `StackedBackend` guarantees that its methods
// accept a part of a block as a block.
unsafe impl<B: StackedBackend + HostBackend> HostBackend for Stacked<B> {
    #[inline(always)]
    fn host_pointer(block: B::Block) -> *mut u8 {
        B::host_pointer(block)
    }
}
