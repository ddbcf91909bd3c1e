//! The trait [`PoolBackend`], which a kind of memory implements so that pools can use it, the
//! contract of the trait, and the small types of its methods. The traits of a memory layout are
//! also here, because a backend names its layout and a layout is generic over the backend.

use core::cell::Cell;
use core::error::Error;
use core::fmt;
use core::ptr::NonNull;
use core::slice;

use crate::config::{Compaction, PoolConfig};
use crate::device::Device;
use crate::element::Element;
use crate::error::{ConfigError, PoolError, ShapeError};
use crate::shape_set::Way;
use crate::slot_ref::SlotRef;
use crate::stats::{PoolStats, ReleaseReport};
use crate::view::{LendView, PoolView, PoolViewMut};

/// A kind of memory that pools can use: host memory, the memory of one GPU, …
///
/// Pools access memory only through these methods. Everything else (slots, cursors, scopes, growth,
/// limits) is generic over `B: PoolBackend` and is compiled for each backend.
///
/// The crate `pool-conformance` tests whether a backend keeps the contract below. It checks queue
/// order, failing allocations, lengths up to a mebibyte, and a ledger of the backend's blocks. It
/// also contains a minimal backend and a backend over a queue of commands, as starting points.
///
/// # Safety
///
/// An implementation promises all of the following. The pool's own soundness relies on these
/// promises.
///
/// ## Blocks
///
/// - [`ALIGN`](Self::ALIGN) is a power of two and at least 8. [`MAX_ALIGN`](Self::MAX_ALIGN) is a
///   power of two and at least `ALIGN`.
/// - [`allocate`](Self::allocate) receives `bytes > 0`, a multiple of `ALIGN`. The block is
///   exclusive to the caller, aligned to `ALIGN`, and valid for `bytes` bytes until it is freed. It
///   never moves, and is initialised wherever host code can see it. If `allocate` panics, it has
///   allocated nothing.
/// - [`free`](Self::free) receives exactly the `bytes` that the block was allocated with. It frees
///   the block in the way that matches the allocation, even if the configuration has changed since,
///   and never unwinds. The `Drop` of a [`Descriptor`](Self::Descriptor) and of the
///   [`Context`](Self::Context) also never unwind.
/// - [`align_block`](Self::align_block) returns a part of the block, with the block's provenance.
///   The part begins less than `align` bytes after the block.
/// - A [`Block`](Self::Block) is plain data that any thread owning the `Context` may use. `Context:
///   Send` therefore implies that blocks may move to another thread with the context. If a
///   backend's blocks are bound to a thread, its `Context` is not `Send`.
/// - [`view`](Self::view) and [`view_ref`](Self::view_ref) access only the first `length *
///   size_of::<T>()` bytes of the block. The views have exactly the length requested, and both
///   methods accept [`DANGLING`](Self::DANGLING) with zero bytes. A view's right to the memory ends
///   with `'s`. Nothing may rely on a view being dropped.
///
/// ## Order
///
/// A pool belongs to one queue of work: the calls of a thread, a stream, or an ordered encoder.
/// Work that views enqueue may run later. The pool hands a block out again as soon as its scope
/// ends, while such work may still be pending. The following must therefore hold for each block, on
/// the pool's queue:
///
/// - The writes of [`set_bytes`](Self::set_bytes), [`fill`](Self::fill) and
///   [`copy_from_host`](Self::copy_from_host) take effect *after* all work that former views of the
///   block enqueued, including reads, and *before* any work that later views enqueue. A write that
///   runs immediately or bypasses the queue breaks this rule if the queue is not empty. Examples
///   are a mapped write, a second stream, and a write that the driver performs before the next
///   submission.
/// - [`free`](Self::free) takes effect after all work that was enqueued on the block before the
///   call. Until then, the block's memory has no other owner.
/// - If a view was used on another queue, the pool's queue does not see that work.
///   [`reuse`](Self::reuse) orders it, for slots that the view [armed](SlotRef::arm).
///
/// Host memory that only slices access fulfils these rules without further work.
///
/// ## Foreign code
///
/// - [`free`](Self::free) and [`settle`](Self::settle) may wait, and may not unwind. A backend must
///   catch panics of the libraries it uses; some libraries panic on errors by default.
/// - No method keeps the reference to the context after it returns. Views reach the context through
///   their [`SlotRef`] until `'s` ends. Reference-counted parts of the context (`Rc`, `Arc`) may be
///   cloned. No method re-enters the pool that calls it. Methods may run foreign code (an
///   allocator's hooks, a driver's callbacks, a log subscriber), and that code may reach the same
///   pool. An acquire from such code fails with [`PoolError::Reentered`], and `trim`, `compact` and
///   `sample_lengths` do nothing. While foreign code runs, a backend must not hold a lock or a
///   borrow of its own that its views also need.
///
/// # Opaque memory
///
/// A block need not be an address. If the system's handle is reference-counted or owns its memory,
/// keep the handle in a table of the [`Context`](Self::Context). The `Block`, which is `Copy`, then
/// identifies the table's entry with an index, an identity, or a pointer to the entry. `allocate`
/// inserts the handle, `free` removes it in the order above, and the context drops the handles that
/// pools left behind. A pointer to an entry must stay valid as long as views may use it. If entries
/// live as long as the context, a bug in the backend causes wrong results, but no use after free.
///
/// - Views find the context through their [`SlotRef`] or through the table's entry.
/// - Blocks of such a backend still have *identities*, which distinguish the bytes of different
///   blocks in tests and diagnostics. Identities number bytes as addresses do: the ranges of two
///   blocks never overlap, and each range begins at a multiple of `ALIGN`. For such blocks, `ALIGN`
///   has no other meaning. In particular, it promises nothing about alignments that the system
///   requires for offsets within a block.
/// - A handle that a view returns may outlive the view, and then shares the block with the block's
///   next owner. Return a handle whose lifetime is `'s` instead.
pub unsafe trait PoolBackend: Sized + 'static {
    /// The memory layout of this backend's pools: [`Slots`](crate::Slots), unless the backend is
    /// [`Stacked`](crate::Stacked).
    type Layout: Layout<Self>;

    /// The state that allocations need: `()` on the host, and a device and a stream on a GPU.
    type Context;

    /// One piece of memory: a raw address or an identity, with the data that `free` and `view`
    /// need. A block never owns its memory.
    type Block: Copy;

    /// The exclusive view that an acquire returns: `length` elements of a block.
    type View<'s, T: Element>: PoolViewMut<Element = T, Error = Self::ViewError>
        + for<'a> LendView<'a, Same = Self::View<'a, T>, Shared = Self::ViewRef<'a, T>>;

    /// The shared counterpart of [`View`](Self::View).
    type ViewRef<'s, T: Element>: PoolView<Element = T, Error = Self::ViewError>
        + for<'a> LendView<'a, Same = Self::ViewRef<'a, T>, Shared = Self::ViewRef<'a, T>>
        + Copy;

    /// The data that a backend stores with a cached dynamic shape: a header, or the device copy of
    /// dims and strides. A descriptor is dropped when its shape is evicted or the slot's block is
    /// replaced.
    type Descriptor: Default + 'static;

    /// The reason why memory could not be allocated, or an operation could not be enqueued. The
    /// type is `Send` and `Sync`, so that `?` converts a [`PoolError`] into `Box<dyn Error + Send +
    /// Sync>` in code that is generic over the backend.
    type Error: Error + Send + Sync + 'static;

    /// The reason why a view's contents could not be read or written. Use
    /// [`ViewError`](crate::ViewError) if views are slices.
    type ViewError: Error + From<ShapeError> + Send + Sync + 'static;

    /// The alignment of every block, in bytes. If blocks are not addresses, their identities have
    /// this alignment.
    const ALIGN: usize;

    /// The largest alignment that an element may have, in bytes. Acquiring elements with a larger
    /// alignment is a compile error.
    ///
    /// A backend whose `MAX_ALIGN` is above [`ALIGN`](Self::ALIGN) implements
    /// [`align_block`](Self::align_block). For elements aligned above `ALIGN`, the pool reserves
    /// one element more than it hands out, and hands out the aligned part.
    const MAX_ALIGN: usize = Self::ALIGN;

    /// The block of an empty slot, used for views of no bytes. It is never freed or written. A
    /// slice needs a non-null address with a block's alignment (`NonNull::dangling` of a type with
    /// that alignment), even if it has no elements. An opaque block may be any value that
    /// identifies no memory.
    const DANGLING: Self::Block;

    /// Returns the part of a block that begins at its first multiple of `align`, a power of two
    /// above [`ALIGN`](Self::ALIGN) and at most [`MAX_ALIGN`](Self::MAX_ALIGN). Every method except
    /// [`free`](Self::free) accepts this part. For a block that is too short, and for
    /// [`DANGLING`](Self::DANGLING), it returns an aligned block without bytes.
    #[must_use]
    fn align_block(block: Self::Block, align: usize) -> Self::Block {
        let _ = align;
        block
    }

    /// Returns the device of the context's memory.
    fn device(context: &Self::Context) -> Device;

    /// Allocates a block of `bytes` bytes.
    ///
    /// # Errors
    ///
    /// The backend's own error if the block cannot be allocated. The pool then frees its idle
    /// blocks and tries once more. A backend must report every failure; it must never return a
    /// smaller block or a different kind of memory.
    fn allocate(
        context: &Self::Context,
        bytes: usize,
        advice: Advice,
    ) -> Result<Self::Block, Self::Error>;

    /// Frees a block after all work that was enqueued on it. The call may wait for that work, or
    /// enqueue the free after it. It never unwinds, because no caller could handle the error.
    ///
    /// # Safety
    ///
    /// `block` came from [`allocate`](Self::allocate) of the same context with the same `bytes`,
    /// and has not been freed. No view of the block is used any more.
    unsafe fn free(context: &Self::Context, block: Self::Block, bytes: usize);

    /// Waits until freed memory is available again, if [`free`](Self::free) only begins to return
    /// memory. A pool calls this method after it has freed idle blocks whose memory it needs: at
    /// the end of `trim`, `compact` and `clear`, and before the last attempt of an allocation. It
    /// is never called in steady state, and it does not unwind.
    fn settle(context: &Self::Context) {
        let _ = context;
    }

    /// Creates the exclusive view of the first `length` elements of `block`. The block is
    /// [`DANGLING`](Self::DANGLING) if these elements have no bytes.
    ///
    /// # Safety
    ///
    /// For all of `'s`, the block stays allocated and no other view of it is used. It holds at
    /// least `length` elements of `T`, which are initialised and valid as `T`. `slot` is the slot
    /// that holds the block.
    unsafe fn view<'s, T: Element>(
        block: Self::Block,
        slot: SlotRef<Self>,
        length: usize,
    ) -> Self::View<'s, T>;

    /// Creates a shared view of the first `length` elements of `block`.
    ///
    /// # Safety
    ///
    /// Same as for [`view`](Self::view), but other shared views may be in use.
    unsafe fn view_ref<'s, T: Element>(
        block: Self::Block,
        slot: SlotRef<Self>,
        length: usize,
    ) -> Self::ViewRef<'s, T>;

    /// Orders the backend's queue after work that the pool does not see. The pool calls this method
    /// for a slot that a view [armed](SlotRef::arm), before the slot's block is handed out again or
    /// freed. Fills, frees and other work enqueued afterwards run after that work.
    ///
    /// # Errors
    ///
    /// The backend's own error if the order cannot be established. The acquire then fails with this
    /// error, or the block is leaked instead of freed.
    ///
    /// # Safety
    ///
    /// `block` is allocated and no view of it is in use.
    unsafe fn reuse(
        context: &Self::Context,
        block: Self::Block,
        why: Reuse,
    ) -> Result<(), Self::Error>;

    /// Sets the first `bytes` bytes of `block` to `value`, in queue order (see *Order*).
    ///
    /// # Errors
    ///
    /// The backend's own error if the operation cannot be enqueued.
    ///
    /// # Safety
    ///
    /// `block` holds at least `bytes` bytes, `bytes` is not 0, and no view of the block is in use.
    unsafe fn set_bytes(
        context: &Self::Context,
        block: Self::Block,
        value: u8,
        bytes: usize,
    ) -> Result<(), Self::Error>;

    /// Writes `value` into the first `length` elements of `block`, in queue order.
    ///
    /// # Errors
    ///
    /// The backend's own error if the operation cannot be enqueued.
    ///
    /// # Safety
    ///
    /// `block` holds at least `length` elements of `T`, which have more than 0 bytes. No view of
    /// the block is in use.
    unsafe fn fill<T: Element>(
        context: &Self::Context,
        block: Self::Block,
        value: T,
        length: usize,
    ) -> Result<(), Self::Error>;

    /// Copies `source` to the start of `block`, in queue order. `source` may be reused as soon as
    /// this method returns: later writes to `source` do not change the copy.
    ///
    /// # Errors
    ///
    /// The backend's own error if the operation cannot be enqueued.
    ///
    /// # Safety
    ///
    /// `block` holds at least `source.len()` elements of `T`, which have more than 0 bytes. No view
    /// of the block is in use.
    unsafe fn copy_from_host<T: Element>(
        context: &Self::Context,
        block: Self::Block,
        source: &[T],
    ) -> Result<(), Self::Error>;
}

/// A backend whose blocks the host can write through a pointer at any time.
///
/// Host code writes through the pointer without waiting for a queue. A backend whose fills and
/// copies run later must therefore not implement this trait, even if its memory is host memory.
///
/// Scopes of such a backend hand out slices of any `T: Copy`, including elements with padding and
/// uninitialised memory. These slices come from the host pointer and not from
/// [`view`](PoolBackend::view).
///
/// # Safety
///
/// - [`host_pointer`](Self::host_pointer) of an allocated block is aligned to
///   [`ALIGN`](PoolBackend::ALIGN). The pointer is valid for reads and writes of the whole block
///   until the block is freed. The pointer of [`DANGLING`](PoolBackend::DANGLING) is non-null and
///   aligned.
/// - A view that is a slice lies in the memory at this pointer, and in no other mapping of that
///   memory, because the pool finds a slice's block by the slice's address.
/// - Writes of [`set_bytes`](PoolBackend::set_bytes), [`fill`](PoolBackend::fill) and
///   [`copy_from_host`](PoolBackend::copy_from_host) are visible through this pointer when these
///   methods return.
/// - The pool may leave bytes of a block uninitialised. Those methods therefore do not read bytes
///   before they write them, and create no reference to elements that they have not written. A
///   backend that keeps freed blocks for later allocations initialises the blocks first.
pub unsafe trait HostBackend: PoolBackend {
    /// Returns the address of a block.
    fn host_pointer(block: Self::Block) -> *mut u8;
}

/// The reason for a call of [`PoolBackend::reuse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reuse {
    /// The block is about to be handed out again.
    HandOut,
    /// The block is about to be freed.
    Free,
}

/// Hints from the pool's configuration that an allocation may follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// Requests huge pages from the system, if the block is large enough.
    pub huge_pages: bool,
}

/// A block of host memory that belongs to no slot.
#[derive(Clone, Copy, Debug)]
pub struct LooseBlock<K> {
    pub(crate) block: K,
    /// The bytes that the block was allocated with; 0 if there is no block.
    pub(crate) bytes: usize,
    /// The number of bytes from the start that may be uninitialised.
    pub(crate) uninitialised: usize,
}

/// Implemented only by the layouts of this crate.
pub trait SealedLayout {}

/// A memory layout of pools: [`Slots`](crate::Slots) or [`Stack`](crate::Stack). The trait is
/// sealed.
///
/// A backend names its layout ([`PoolBackend::Layout`]), so each pool is compiled for exactly one
/// layout.
pub trait Layout<B: PoolBackend>: SealedLayout + Sized + 'static {
    /// `true` if each array uses a slot, with its own block.
    ///
    /// [`PoolStats`] counts slots only in this case: `active_slots` and `high_water_slots` are 0 in
    /// the scopes of a layout without slots. Tests that are generic over the layout check this
    /// constant before they count slots or blocks.
    const HAS_SLOTS: bool;

    /// The one word that a pool stores.
    #[doc(hidden)]
    type Root: PoolRoot<B, State = Self::State, Cursor = Self::Cursor>;

    /// The state that a pool owns in addition to the root.
    #[doc(hidden)]
    type State: PoolState<B, Cursor = Self::Cursor>;

    /// The cursor that a scope stores.
    #[doc(hidden)]
    type Cursor: ScopeCursor<B, State = Self::State>;
}

/// The root of a pool of the backend `B`.
pub(crate) type Root<B> = <<B as PoolBackend>::Layout as Layout<B>>::Root;

/// The state that a pool of the backend `B` owns in addition to its root.
pub(crate) type State<B> = <<B as PoolBackend>::Layout as Layout<B>>::State;

/// The cursor of a scope of the backend `B`.
pub(crate) type Cursor<B> = <<B as PoolBackend>::Layout as Layout<B>>::Cursor;

/// The position of a cursor of the backend `B`, by value.
pub(crate) type Place<'s, B> = <Cursor<B> as ScopeCursor<B>>::Place<'s>;

/// Memory of the backend `B` that was reserved for one array.
pub(crate) type Memory<'s, B> = <Cursor<B> as ScopeCursor<B>>::Memory<'s>;

/// Reserved memory and its cached shape. The type has few enough words for a cold function to
/// return it in registers.
pub(crate) type MemoryAndShape<'s, M, B> = (M, &'s mut Way<<B as PoolBackend>::Descriptor>);

/// Determines how the elements of newly acquired memory are used first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstUse {
    /// The elements may be read first: contents of an earlier use are handed out, and must be
    /// initialised.
    Read,
    /// All elements are written before they are read, or are handed out as memory that need not be
    /// initialised.
    Write,
}

/// A handle to a pool, which is a plain value of one word. The code that holds the value decides
/// when the pool ends.
pub trait PoolRoot<B: PoolBackend>: Copy {
    /// See [`Layout::State`].
    type State;
    /// See [`Layout::Cursor`].
    type Cursor;

    /// Creates an empty pool.
    fn create(context: B::Context, config: PoolConfig) -> Result<Self, PoolError<B::Error>>;

    /// Frees the pool's memory, and drops the context last.
    ///
    /// # Safety
    ///
    /// The pool is live, no view or cursor of the pool is in use, and no copy of this root is used
    /// afterwards.
    unsafe fn destroy(self);

    /// Returns the pool's state.
    ///
    /// # Safety
    ///
    /// The pool is live for `'s`.
    unsafe fn state<'s>(self) -> &'s Self::State;

    /// Returns a cursor at the beginning of the pool's memory.
    ///
    /// # Safety
    ///
    /// The pool outlives the cursor, no view of the pool is in use, and no other cursor of the pool
    /// is used while this cursor is.
    unsafe fn cursor(self) -> Self::Cursor;

    /// `true` if the pools in use on a thread form a chain: see [`enter`](Self::enter).
    const NESTS: bool = false;

    /// Does the same as [`cursor`](Self::cursor), for a pool on which [`enter`](Self::enter) may
    /// have been called.
    ///
    /// # Safety
    ///
    /// Same as for [`cursor`](Self::cursor).
    #[inline(always)]
    unsafe fn nested_cursor(self) -> Self::Cursor {
        // SAFETY: the caller upholds the same contract.
        unsafe { self.cursor() }
    }

    /// Makes this pool the innermost pool in the chain of pools that its thread is using: the pool
    /// *enters* the chain. Called only if [`NESTS`](Self::NESTS).
    ///
    /// # Safety
    ///
    /// `innermost` is null or was set by these functions, for pools that stay live until they
    /// leave. This pool is live, no view or cursor of it is in use, and it is not in the chain.
    unsafe fn enter(self, innermost: &Cell<*mut ()>) {
        _ = innermost;
    }

    /// Removes the pool from the chain. Returns `false` if the pool is the innermost pool of
    /// another chain. In that case the pool has not left, and must stay live for the rest of the
    /// process.
    ///
    /// # Safety
    ///
    /// The pool has entered the chain and is live, and no view or cursor of it is in use. All other
    /// pools in the chain are also live; their views and cursors may be in use.
    unsafe fn leave(self, innermost: &Cell<*mut ()>) -> bool {
        _ = innermost;
        true
    }

    /// Returns the pool that follows this pool in a free list.
    ///
    /// # Safety
    ///
    /// The pool is live.
    unsafe fn next_idle(self) -> *mut ();

    /// Sets the value that [`next_idle`](Self::next_idle) returns.
    ///
    /// # Safety
    ///
    /// The pool is live.
    unsafe fn set_next_idle(self, next: *mut ());

    /// Converts into an untyped address, which is not null and is aligned to at least 8.
    fn into_raw(self) -> *mut ();

    /// Converts back from an address that [`into_raw`](Self::into_raw) returned.
    ///
    /// # Safety
    ///
    /// `address` came from [`into_raw`](Self::into_raw) of a root of the same backend.
    unsafe fn from_raw(address: *mut ()) -> Self;
}

/// The state that a pool owns in addition to its memory: the context, the configuration, the
/// counters, and the named arrays.
pub trait PoolState<B: PoolBackend> {
    /// See [`Layout::Cursor`].
    type Cursor: ScopeCursor<B>;

    /// Returns the backend's context.
    fn context(&self) -> &B::Context;

    /// Returns the configuration.
    fn config(&self) -> PoolConfig;

    /// Returns the pool's statistics, as seen from a position after `active` arrays.
    fn stats(&self, active: usize) -> PoolStats;

    /// Fills `none` with the statistics that any thread may read while the pool lives. The
    /// configuration, the device and the live bytes are not included.
    fn shared_numbers(&self, none: PoolStats) -> PoolStats;

    /// Resets the peaks, for `clear`.
    fn forget_peaks(&self);

    /// Replaces the configuration.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if a value is out of range. Nothing is changed in that case.
    ///
    /// # Safety
    ///
    /// The pool is borrowed exclusively, so no view of the pool is in use.
    unsafe fn configure(&self, config: PoolConfig) -> Result<(), ConfigError>;

    /// Returns the identity of the pool, unique in the process.
    fn id(&self) -> u64;

    /// Returns a serial that no handle of this pool has used.
    fn next_serial(&self) -> u64;

    /// Returns the named array with the given number.
    ///
    /// # Safety
    ///
    /// An array with this number exists.
    unsafe fn named(
        &self,
        number: usize,
    ) -> NamedArray<<Self::Cursor as ScopeCursor<B>>::Memory<'_>>;

    /// Returns a cursor at the position after the first `number` named arrays.
    ///
    /// # Safety
    ///
    /// Same as for [`PoolRoot::cursor`], except that views of the first `number` arrays may be in
    /// use. At least `number` arrays are handed out.
    unsafe fn cursor(&self, number: usize) -> Self::Cursor;
}

/// The position of a scope in its pool's memory. Reserving checks the memory at this position, and
/// stepping moves past that memory. The cursor moves back in only one case: when filling the memory
/// failed and nothing has been acquired since.
pub trait ScopeCursor<B: PoolBackend>: fmt::Debug + Sized {
    /// See [`Layout::State`].
    type State;

    /// The position of a cursor, by value. Larger functions take the position instead of the
    /// cursor, because a cursor passed to them would have to be in memory.
    type Place<'s>: CursorPlace<'s, B, Memory = Self::Memory<'s>>;

    /// Memory that was reserved for one array.
    type Memory<'s>: ArrayMemory<'s, B>;

    /// Returns a cursor that starts at this cursor's position.
    ///
    /// # Safety
    ///
    /// This cursor is not used until the new cursor, and everything reserved through it, is no
    /// longer in use.
    unsafe fn copy(&self) -> Self;

    /// Reserves initialised memory for `length` elements of `T`, without taking it. This is the hot
    /// path.
    ///
    /// # Safety
    ///
    /// The pool lives for `'s`.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_reserve`](Self::try_reserve) returns.
    #[track_caller]
    unsafe fn reserve<'s, T>(&self, length: usize) -> Self::Memory<'s>;

    /// Does the same as [`reserve`](Self::reserve), but returns an error instead of panicking, and
    /// accepts either first use of the elements.
    ///
    /// # Errors
    ///
    /// Same as [`Scope::try_acquire`](crate::Scope::try_acquire).
    ///
    /// # Safety
    ///
    /// The pool lives for `'s`.
    unsafe fn try_reserve<'s, T>(
        &self,
        length: usize,
        first_use: FirstUse,
    ) -> Result<Self::Memory<'s>, PoolError<B::Error>>;

    /// Returns the position of the cursor.
    ///
    /// # Safety
    ///
    /// The pool lives for `'s`. While the returned position is in use, the cursor only steps past
    /// memory that was reserved through this position.
    unsafe fn place<'s>(&self) -> Self::Place<'s>;

    /// Takes the reserved memory by stepping past it.
    ///
    /// # Safety
    ///
    /// `reserved` is the memory that was last reserved through this cursor.
    unsafe fn step(&self, reserved: Self::Memory<'_>);

    /// Gives back memory that was taken. The memory stays taken if the cursor has moved further,
    /// because code that ran after the step acquired memory.
    ///
    /// # Safety
    ///
    /// This cursor has stepped past `taken`, and no view of that memory is in use.
    unsafe fn step_back(&self, taken: Self::Memory<'_>);

    /// Takes the reserved memory, then fills it. If filling fails, the memory is given back.
    ///
    /// # Safety
    ///
    /// `reserved` is the memory that was last reserved through this cursor. `fill` creates no view
    /// of this memory that is used after an error.
    #[inline(always)]
    unsafe fn step_and_fill<E>(
        &self,
        reserved: Self::Memory<'_>,
        fill: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        // SAFETY: the caller upholds the same contract.
        unsafe { self.step(reserved) };
        let filled = fill();
        if filled.is_err() {
            // SAFETY: the cursor just stepped past the memory, and no view of it exists (caller).
            unsafe { self.step_back(reserved) };
        }
        filled
    }

    /// Enlarges the memory of a vector, and moves the elements if the memory moves.
    ///
    /// # Errors
    ///
    /// Same as [`Scope::try_acquire`](crate::Scope::try_acquire). The vector's memory is then
    /// unchanged.
    ///
    /// # Safety
    ///
    /// This cursor has stepped past `vector.memory`. The vector holds the only view of that memory,
    /// which ends with this call. The first `vector.length` elements are initialised. `T` is plain
    /// if `vector.plain` is `true`.
    unsafe fn enlarge<'s, T: Copy>(
        &self,
        vector: VectorMemory<Self::Memory<'s>>,
        needed: usize,
    ) -> EnlargeResult<'s, B, Self>
    where
        B: HostBackend;

    /// Returns the vector's memory beyond its elements to the pool, if the layout can do so and
    /// nothing has been acquired since.
    ///
    /// # Safety
    ///
    /// This cursor has stepped past `vector.memory`. The vector holds the only view of that memory,
    /// which ends with this call. The first `vector.length` elements may be viewed afterwards. No
    /// other cursor is used while this cursor is in use.
    #[inline(always)]
    unsafe fn shrink<T>(&self, vector: VectorMemory<Self::Memory<'_>>) {
        let _ = vector;
    }

    /// Takes the `length` elements at `start` out of memory that is not handed out, and steps past
    /// them. Returns their new address, or `None` if the elements are not in such memory.
    ///
    /// # Safety
    ///
    /// The elements have bytes, and all of those bytes are initialised if `plain`. No view of
    /// memory at or above the cursor is in use, except the caller's view of these elements, which
    /// ends with this call.
    unsafe fn keep<T: Copy>(&self, start: *mut T, length: usize, plain: bool) -> Option<*mut T>
    where
        B: HostBackend;

    /// Returns the size in bytes of the block that contains the address, if the block is not handed
    /// out. Returns `None` if there is no such block, or if the layout's memory cannot leave the
    /// pool.
    fn idle_block_bytes(&self, address: NonNull<u8>) -> Option<usize>
    where
        B: HostBackend,
    {
        _ = address;
        None
    }

    /// Takes the block that [`idle_block_bytes`](Self::idle_block_bytes) found out of the pool, and
    /// replaces it with `spare`. If there is no such block, it returns `None` and drops `spare`.
    ///
    /// # Safety
    ///
    /// Only the caller has a view of the block. The caller owns `spare`, which belongs to the
    /// pool's backend and context. The pool is borrowed exclusively.
    unsafe fn take_idle_block(
        &self,
        address: NonNull<u8>,
        spare: Option<LooseBlock<B::Block>>,
    ) -> Option<LooseBlock<B::Block>>
    where
        B: HostBackend,
    {
        _ = (address, spare);
        None
    }

    /// Returns the number of arrays that are handed out below the cursor, if the layout counts
    /// them.
    fn active(&self) -> usize;

    /// Returns the pool's state.
    fn state(&self) -> &Self::State;

    /// Frees the memory that is not handed out.
    fn trim(&self) -> ReleaseReport;

    /// Replaces oversized memory that is not handed out with smaller memory.
    fn compact(&self, compaction: &Compaction) -> ReleaseReport;

    /// Starts sampling the lengths of acquires.
    fn sample_lengths(&self);

    /// Records the caller of a method without `try_`, for the report of a debug build. Does nothing
    /// in release builds.
    #[inline(always)]
    #[track_caller]
    fn note_caller(&self) {}
}

/// An array that is named by a handle.
#[derive(Clone, Copy, Debug)]
pub struct NamedArray<M> {
    pub(crate) memory: M,
    /// The serial of the handle; 0 if no handle names the array.
    pub(crate) serial: u64,
    /// The number of elements of the array.
    pub(crate) length: usize,
}

/// The memory of a vector.
#[derive(Clone, Copy, Debug)]
pub struct VectorMemory<M> {
    pub(crate) memory: M,
    /// The number of elements that the vector's memory holds.
    pub(crate) capacity: usize,
    /// The number of elements that are initialised.
    pub(crate) length: usize,
    /// `true` if every byte of an element is initialised.
    pub(crate) plain: bool,
}

/// The result of [`ScopeCursor::enlarge`].
pub(crate) type EnlargeResult<'s, B, C> =
    Result<VectorMemory<<C as ScopeCursor<B>>::Memory<'s>>, PoolError<<B as PoolBackend>::Error>>;

/// The position of a cursor, by value. It is used to acquire arrays whose lengths are checked
/// before memory is reserved.
pub trait CursorPlace<'s, B: PoolBackend>: Copy {
    /// See [`ScopeCursor::Memory`].
    type Memory;

    /// Returns the memory for `length` elements if they fit without a call to the cold function.
    fn fitting<T>(self, length: usize) -> Option<Self::Memory>;

    /// Reserves the memory for `length` elements, with a call to the cold function if needed.
    ///
    /// # Errors
    ///
    /// Same as [`Scope::try_acquire`](crate::Scope::try_acquire).
    ///
    /// # Safety
    ///
    /// The cursor is still at this position.
    unsafe fn prepare<T>(
        self,
        length: usize,
        first_use: FirstUse,
    ) -> Result<Self::Memory, PoolError<B::Error>>;

    /// Returns the memory for an array of dynamic rank and its cached shape, if the shape is cached
    /// and the elements fit without a call to the cold function.
    ///
    /// # Safety
    ///
    /// The cursor is at this position, and nothing borrowed from a shape set at or above this
    /// position is in use.
    unsafe fn fitting_shape<T: Element>(
        self,
        dims: &[usize],
    ) -> Option<MemoryAndShape<'s, Self::Memory, B>>;

    /// Reserves the memory for an array of dynamic rank and its shape, after
    /// [`fitting_shape`](Self::fitting_shape) has returned `None`. This method rejects invalid
    /// lengths, provides memory, and stores a new shape.
    ///
    /// # Errors
    ///
    /// Same as [`Scope::try_acquire`](crate::Scope::try_acquire).
    ///
    /// # Safety
    ///
    /// Same as for [`fitting_shape`](Self::fitting_shape).
    unsafe fn prepare_shape<T: Element>(
        self,
        dims: &[usize],
        first_use: FirstUse,
    ) -> Result<MemoryAndShape<'s, Self::Memory, B>, PoolError<B::Error>>;

    /// Does the same as [`prepare_shape`](Self::prepare_shape), for elements that may be read
    /// first.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`prepare_shape`](Self::prepare_shape) returns.
    ///
    /// # Safety
    ///
    /// Same as for [`fitting_shape`](Self::fitting_shape).
    #[track_caller]
    unsafe fn prepare_shape_or_panic<T: Element>(
        self,
        dims: &[usize],
    ) -> MemoryAndShape<'s, Self::Memory, B>;
}

/// Memory that was reserved for one array and is valid for `'s`, the lifetime of its scope.
pub trait ArrayMemory<'s, B: PoolBackend>: Copy + fmt::Debug {
    /// Returns the block that begins with the array. The elements of the array have type `T`.
    fn block_for<T>(self) -> B::Block;

    /// Returns the reference to the pool that a view of the array stores.
    fn reference(self) -> SlotRef<B>;

    /// Returns the backend's context.
    fn context(self) -> &'s B::Context;

    /// Names the array for the handle with this serial, and returns the array's number.
    ///
    /// # Errors
    ///
    /// [`PoolError::Bookkeeping`] if the host has no memory for another name.
    ///
    /// # Safety
    ///
    /// The memory is reserved for `length` elements of the handle's type, and is the last memory
    /// that its cursor stepped past. No other handle has this `serial`.
    unsafe fn name(self, serial: u64, length: usize) -> Result<usize, PoolError<B::Error>>;

    /// Records that the array's first `length` elements of `T` may become uninitialised from now
    /// on.
    ///
    /// # Safety
    ///
    /// The memory is reserved for at least `length` elements of `T`, and its scope is open. Either
    /// the cursor has stepped past the memory, or no other code runs before the caller takes it.
    unsafe fn mark<T>(self, length: usize)
    where
        B: HostBackend;

    /// Creates the exclusive view of the first `length` elements.
    ///
    /// # Safety
    ///
    /// The memory was reserved for `length` elements of `T` or for more bytes, and the cursor has
    /// stepped past it. No other view of the memory is in use while this view is. The
    /// elements are valid as `T`.
    #[inline(always)]
    unsafe fn view<T: Element>(self, length: usize) -> B::View<'s, T> {
        // SAFETY: the memory was reserved for `length` elements, so the block holds them, or is
        // dangling with zero bytes. Memory below the cursor stays allocated for `'s`. The caller
        // guarantees that the elements are valid and that the view is exclusive.
        unsafe { B::view(self.block_for::<T>(), self.reference(), length) }
    }

    /// Creates a shared view of the first `length` elements.
    ///
    /// # Safety
    ///
    /// Same as for [`view`](Self::view), but other shared views may be in use.
    #[inline]
    unsafe fn view_ref<T: Element>(self, length: usize) -> B::ViewRef<'s, T> {
        // SAFETY: as in `view`, with a shared view.
        unsafe { B::view_ref(self.block_for::<T>(), self.reference(), length) }
    }

    /// Zeroes the bytes of `length` elements of `T`.
    ///
    /// # Errors
    ///
    /// [`PoolError::Backend`] if the backend fails.
    ///
    /// # Safety
    ///
    /// The memory was reserved for `length` elements of `T`, and no view of it is in use.
    #[inline]
    unsafe fn zero<T: Element>(self, length: usize) -> Result<(), PoolError<B::Error>> {
        let bytes = length * size_of::<T>();
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the block holds `bytes` bytes (reserved) and nothing views it (caller).
        unsafe { B::set_bytes(self.context(), self.block_for::<T>(), 0, bytes) }
            .map_err(|source| PoolError::Backend { operation: "zero a block", source })
    }

    /// Writes `value` into `length` elements.
    ///
    /// # Errors
    ///
    /// [`PoolError::Backend`] if the backend fails.
    ///
    /// # Safety
    ///
    /// Same as for [`zero`](Self::zero).
    #[inline]
    unsafe fn fill<T: Element>(self, value: T, length: usize) -> Result<(), PoolError<B::Error>> {
        if length * size_of::<T>() == 0 {
            return Ok(());
        }
        // SAFETY: the block holds `length` elements (reserved) and nothing views it (caller).
        unsafe { B::fill(self.context(), self.block_for::<T>(), value, length) }
            .map_err(|source| PoolError::Backend { operation: "fill a block", source })
    }

    /// Copies `source` to the first elements.
    ///
    /// # Errors
    ///
    /// [`PoolError::Backend`] if the backend fails.
    ///
    /// # Safety
    ///
    /// Same as for [`zero`](Self::zero), with `source.len()` as the length.
    #[inline]
    unsafe fn copy_from_host<T: Element>(self, source: &[T]) -> Result<(), PoolError<B::Error>> {
        if size_of_val(source) == 0 {
            return Ok(());
        }
        // SAFETY: the block holds `source.len()` elements (reserved) and nothing views it (caller).
        unsafe { B::copy_from_host(self.context(), self.block_for::<T>(), source) }
            .map_err(|source| PoolError::Backend { operation: "copy from the host", source })
    }

    /// Returns the address of the first element.
    #[inline(always)]
    fn start<T>(self) -> *mut T
    where
        B: HostBackend,
    {
        B::host_pointer(self.block_for::<T>()).cast::<T>()
    }

    /// Returns the first `length` elements as a slice that is valid while the scope is open.
    ///
    /// # Safety
    ///
    /// Same as for [`view`](Self::view), for elements of any type.
    #[inline(always)]
    unsafe fn host_slice<T>(self, length: usize) -> &'s mut [T]
    where
        B: HostBackend,
        T: 's,
    {
        // SAFETY: the memory was reserved for `length` elements: the block holds them, or is
        // dangling with zero bytes, and is aligned for them (`HostBackend`). Memory below the
        // cursor stays allocated for `'s`. The caller guarantees that the elements are valid and
        // that the slice is exclusive.
        unsafe { slice::from_raw_parts_mut(self.start(), length) }
    }

    /// Writes `length` elements, each computed with `element(index)`.
    ///
    /// # Safety
    ///
    /// Same as for [`zero`](Self::zero). In addition, the cursor has stepped past the memory,
    /// because `element` is user code that may acquire from the same scope.
    #[inline]
    unsafe fn write_with<T>(self, length: usize, mut element: impl FnMut(usize) -> T)
    where
        B: HostBackend,
    {
        let start = self.start::<T>();
        for index in 0..length {
            let value = element(index);
            // SAFETY: the block holds `length` elements of `T` (reserved).
            let place = unsafe { start.add(index) };
            // SAFETY: the address is aligned for `T` (`HostBackend`). The memory is below the
            // cursor, so arrays that `element` acquired are elsewhere, and no view of it exists
            // yet. A write of no size is valid at any aligned address.
            unsafe { place.write(value) };
        }
    }
}
