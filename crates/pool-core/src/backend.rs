//! The trait [`PoolBackend`], which a kind of memory implements so that pools can be made of it,
//! its contract, and the small types of its methods. The traits of a memory layout are here too,
//! because a backend names its layout and a layout is generic over the backend.

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

/// A kind of memory that pools can be made of: host memory, the memory of one GPU, …
///
/// Pools touch memory only through these methods. Everything else (slots, cursors, scopes, growth,
/// limits) is generic over `B: PoolBackend` and is compiled for each backend.
///
/// `pool-conformance` tests whether a backend keeps the contract below: the order of a queue,
/// failing allocations, lengths up to a mebibyte, and a ledger of its blocks. To start from, it has
/// a minimal backend and one over a queue of commands.
///
/// # Safety
///
/// An implementation promises all of the following; the pool's own soundness rests on it.
///
/// ## Blocks
///
/// - [`ALIGN`](Self::ALIGN) is a power of two, and at least 8. So is [`MAX_ALIGN`](Self::MAX_ALIGN), which is no
///   smaller.
/// - [`allocate`](Self::allocate) gets `bytes > 0`, a multiple of `ALIGN`. The block is exclusive
///   to the caller, aligned to `ALIGN`, valid for `bytes` bytes until it is freed, never moves, and
///   is initialised wherever host code can see it. `allocate` may panic, and has then allocated
///   nothing.
/// - [`free`](Self::free) gets exactly the `bytes` that the block was allocated with. It frees by
///   the route of the allocation, even if the configuration has changed since, and never unwinds.
///   Nor does the `Drop` of a [`Descriptor`](Self::Descriptor) or of the
///   [`Context`](Self::Context).
/// - [`align_block`](Self::align_block) returns a part of the block, with the block's provenance,
///   that begins less than `align` bytes after it.
/// - A [`Block`](Self::Block) is plain data that any thread owning the `Context` may use. So
///   `Context: Send` implies that blocks may move to another thread with it. If a backend's blocks
///   are bound to a thread, its `Context` is not `Send`.
/// - [`view`](Self::view) and [`view_ref`](Self::view_ref) touch only the first `length *
///   size_of::<T>()` bytes of the block. They have exactly the length requested, and accept
///   [`DANGLING`](Self::DANGLING) with zero bytes. Their right to the memory ends with `'s`.
///   Nothing may rely on a view being dropped.
///
/// ## Order
///
/// A pool belongs to one queue of work: the calls of a thread, a stream, an ordered encoder. Work
/// that views enqueue may run later. The pool hands a block out again as soon as its scope ends,
/// while such work is still pending. So for each block, on the pool's queue:
///
/// - The writes of [`set_bytes`](Self::set_bytes), [`fill`](Self::fill) and
///   [`copy_from_host`](Self::copy_from_host) take effect *after* all work that former views of the
///   block enqueued, reads included, and *before* any that later views enqueue. A write that runs
///   at once, or by another way than the queue (a mapped write, a second stream, a write that the
///   driver puts before the next submission), breaks this if the queue is not empty.
/// - [`free`](Self::free) takes effect after all work that was enqueued on the block before; its
///   memory has no other owner until then.
/// - If a view was used elsewhere, its queue cannot see that work. [`reuse`](Self::reuse) puts it
///   in order, for slots that the view [armed](SlotRef::arm).
///
/// Host memory that only slices access has this order without further work.
///
/// ## Foreign code
///
/// - [`free`](Self::free) and [`settle`](Self::settle) may wait, and may not unwind. A panic of a
///   library below must be caught; some libraries panic on errors by default.
/// - No method keeps the reference to the context beyond its call; views reach it through their
///   [`SlotRef`] until `'s` ends. Counted parts of the context (`Rc`, `Arc`) may be cloned. No
///   method re-enters the pool that calls it. Methods may run foreign code (an allocator's hooks, a
///   driver's callbacks, a subscriber of logs), and that code may reach the same pool. There an
///   acquire is refused with [`PoolError::Reentered`], and `trim` and its kin do nothing. Meanwhile
///   a backend must not hold a lock or a borrow of its own that its views need too.
///
/// # Opaque memory
///
/// A block need not be an address. If the system's handle is counted or owns its memory, keep it in
/// a table of the [`Context`](Self::Context). The `Block`, which is `Copy`, then names the entry:
/// by index, by identity, or by a pointer to the table's record. `allocate` enters the handle,
/// `free` removes it in the order above, and the context drops the handles that pools left. A
/// pointer to a record must stay valid as long as views may use it. If records live as long as the
/// context, a mistake of the backend's gives wrong results, but no use after free.
///
/// - Views find the context through their [`SlotRef`] or through the record.
/// - Blocks of such a backend still have *identities*, which distinguish one block's bytes from
///   another's in tests and diagnostics. Identities count bytes as addresses do: two blocks never
///   overlap, and each begins at a multiple of `ALIGN`. For such blocks, `ALIGN` has no other
///   meaning. In particular, it promises nothing about alignments that the system demands of
///   offsets within a block.
/// - A handle that a view returns may outlive the view, and then shares the block with the block's
///   next owner. Return a handle that ends with `'s` instead.
pub unsafe trait PoolBackend: Sized + 'static {
    /// The memory layout of this backend's pools: [`Slots`](crate::Slots), unless the backend is
    /// [`Stacked`](crate::Stacked).
    type Layout: Layout<Self>;

    /// The state that allocations need: `()` on the host, a device and a stream on a GPU.
    type Context;

    /// One piece of memory: a raw address or an identity, and the data that `free` and `view` need.
    /// A block is never an owner.
    type Block: Copy;

    /// The exclusive view that an acquire returns, of `length` elements of a block.
    type View<'s, T: Element>: PoolViewMut<Element = T, Error = Self::ViewError>
        + for<'a> LendView<'a, Same = Self::View<'a, T>, Shared = Self::ViewRef<'a, T>>;

    /// The shared counterpart of [`View`](Self::View).
    type ViewRef<'s, T: Element>: PoolView<Element = T, Error = Self::ViewError>
        + for<'a> LendView<'a, Same = Self::ViewRef<'a, T>, Shared = Self::ViewRef<'a, T>>
        + Copy;

    /// The backend's data beside a cached dynamic shape: a ready header, or the device copy of dims
    /// and strides. A descriptor is dropped when its shape is evicted or the slot's block is
    /// replaced.
    type Descriptor: Default + 'static;

    /// The reason why memory could not be allocated, or an operation could not be enqueued. It is
    /// `Send` and `Sync`, so that `?` turns a [`PoolError`] into `Box<dyn Error + Send + Sync>` in
    /// code that is generic over the backend.
    type Error: Error + Send + Sync + 'static;

    /// The reason why a view's contents could not be read or written:
    /// [`ViewError`](crate::ViewError) if views are slices.
    type ViewError: Error + From<ShapeError> + Send + Sync + 'static;

    /// The alignment of every block, in bytes. If blocks are not addresses, their identities have
    /// this alignment.
    const ALIGN: usize;

    /// The largest alignment that an element may have, in bytes. A larger one is a compile error.
    ///
    /// A backend whose value is above [`ALIGN`](Self::ALIGN) implements [`align_block`](Self::align_block). The pool
    /// then reserves room for one element more than the array has, and uses the aligned part.
    const MAX_ALIGN: usize = Self::ALIGN;

    /// The block of an empty slot, used for views of no bytes. It is never freed nor written. A
    /// slice needs a non-null address with a block's alignment (`NonNull::dangling` of a type with
    /// that alignment), even if it has no elements. An opaque block may be any value that names no
    /// memory.
    const DANGLING: Self::Block;

    /// Returns the part of a block that begins at its first multiple of `align`, a power of two
    /// above [`ALIGN`](Self::ALIGN) and at most [`MAX_ALIGN`](Self::MAX_ALIGN). Every method but
    /// [`free`](Self::free) accepts the part. For a block that is too short, and for
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
    /// blocks and tries once more. A backend must report the failure; it never returns less or
    /// other memory than was requested.
    fn allocate(
        context: &Self::Context,
        bytes: usize,
        advice: Advice,
    ) -> Result<Self::Block, Self::Error>;

    /// Frees a block, after all work that was enqueued on it. It may wait for that work, or enqueue
    /// itself after it. It never unwinds, because no caller could handle the error.
    ///
    /// # Safety
    ///
    /// `block` came from [`allocate`](Self::allocate) of the same context with the same `bytes`,
    /// was not freed before, and no view of it is used any more.
    unsafe fn free(context: &Self::Context, block: Self::Block, bytes: usize);

    /// Waits until freed memory is available again, if [`free`](Self::free) only begins to return
    /// it. A pool calls this after it freed idle blocks whose memory it wants back: at the end of
    /// `trim`, `compact` and `clear`, and before the last try of an allocation. It is never called
    /// in steady state. It does not unwind.
    fn settle(context: &Self::Context) {
        let _ = context;
    }

    /// Makes the exclusive view of the first `length` elements of `block`. The block is
    /// [`DANGLING`](Self::DANGLING) if they have no bytes.
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

    /// Makes a shared view of the first `length` elements of `block`.
    ///
    /// # Safety
    ///
    /// Same as for [`view`](Self::view), but other shared views may be in use.
    unsafe fn view_ref<'s, T: Element>(
        block: Self::Block,
        slot: SlotRef<Self>,
        length: usize,
    ) -> Self::ViewRef<'s, T>;

    /// Orders the backend's queue after work that the pool does not see. The pool calls it for a
    /// slot that a view [armed](SlotRef::arm), before the slot's block is reused or freed. Fills,
    /// frees and other work enqueued afterwards come after that work.
    ///
    /// # Errors
    ///
    /// The backend's own error if the order cannot be established. The acquire then fails with this
    /// error, or the block is leaked instead of being freed.
    ///
    /// # Safety
    ///
    /// `block` is allocated and no view of it is in use.
    unsafe fn reuse(
        context: &Self::Context,
        block: Self::Block,
        why: Reuse,
    ) -> Result<(), Self::Error>;

    /// Sets the first `bytes` bytes of `block` to `value`, in the order of the queue (see *Order*).
    ///
    /// # Errors
    ///
    /// The backend's own error if the operation cannot be enqueued.
    ///
    /// # Safety
    ///
    /// `block` holds at least `bytes` bytes, which are more than 0, and no view of it is in use.
    unsafe fn set_bytes(
        context: &Self::Context,
        block: Self::Block,
        value: u8,
        bytes: usize,
    ) -> Result<(), Self::Error>;

    /// Writes `value` into the first `length` elements of `block`, in the order of the queue.
    ///
    /// # Errors
    ///
    /// The backend's own error if the operation cannot be enqueued.
    ///
    /// # Safety
    ///
    /// `block` holds at least `length` elements of `T`, of more than 0 bytes, and no view of it is in use.
    unsafe fn fill<T: Element>(
        context: &Self::Context,
        block: Self::Block,
        value: T,
        length: usize,
    ) -> Result<(), Self::Error>;

    /// Copies `source` to the start of `block`, in the order of the queue. `source` may be reused
    /// as soon as this returns: later writes to it do not change the copy.
    ///
    /// # Errors
    ///
    /// The backend's own error if the operation cannot be enqueued.
    ///
    /// # Safety
    ///
    /// `block` holds at least `source.len()` elements of `T`, of more than 0 bytes, and no view of it is in use.
    unsafe fn copy_from_host<T: Element>(
        context: &Self::Context,
        block: Self::Block,
        source: &[T],
    ) -> Result<(), Self::Error>;
}

/// A backend whose blocks the host can write through a pointer, at any moment.
///
/// Host code writes through the pointer without asking a queue. So a backend whose fills and copies
/// run later must not implement this trait, even if its memory is host memory.
///
/// Scopes of such a backend return slices of any `T: Copy`, through this pointer and not through
/// [`view`](PoolBackend::view): elements with padding, and uninitialised memory.
///
/// # Safety
///
/// - [`host_pointer`](Self::host_pointer) of an allocated block is aligned to
///   [`ALIGN`](PoolBackend::ALIGN). It is valid for reads and writes of the whole block until the
///   block is freed. That of [`DANGLING`](PoolBackend::DANGLING) is non-null and aligned.
/// - A view that is a slice lies in the memory at this pointer, and in no other mapping of it: by a
///   slice's address the pool finds its block.
/// - Writes of [`set_bytes`](PoolBackend::set_bytes), [`fill`](PoolBackend::fill) and
///   [`copy_from_host`](PoolBackend::copy_from_host) are visible through this pointer when these
///   methods return.
/// - The pool may leave bytes of a block uninitialised. So those methods do not read before they
///   write, and make no reference to elements that they have not written. A backend that keeps
///   freed blocks for later allocations initialises them first.
pub unsafe trait HostBackend: PoolBackend {
    /// The address of a block.
    fn host_pointer(block: Self::Block) -> *mut u8;
}

/// The reason for a call of [`PoolBackend::reuse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reuse {
    /// The block is about to be reused.
    HandOut,
    /// The block is about to be freed.
    Free,
}

/// Hints from the pool's configuration that an allocation may follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// Requests huge pages from the system if the block is large enough.
    pub huge_pages: bool,
}

/// A block of host memory that belongs to no slot.
#[derive(Clone, Copy, Debug)]
pub struct LooseBlock<K> {
    pub(crate) block: K,
    /// The bytes that the block was allocated with; 0 for no block.
    pub(crate) bytes: usize,
    /// The number of bytes from the start that may be uninitialised.
    pub(crate) uninitialised: usize,
}

/// Implemented by the layouts of this crate alone.
pub trait SealedLayout {}

/// A memory layout of pools: [`Slots`](crate::Slots) or [`Stack`](crate::Stack). The trait is sealed.
///
/// A backend names its layout ([`PoolBackend::Layout`]), so each pool is compiled for one layout.
pub trait Layout<B: PoolBackend>: SealedLayout + Sized + 'static {
    /// `true` if each array has a slot, with a block of its own.
    ///
    /// [`PoolStats`] counts slots only then: `active_slots` and `high_water_slots` are 0 in the
    /// scopes of a layout without slots. Tests that are generic over the layout check this before
    /// they count slots or blocks.
    const HAS_SLOTS: bool;

    /// The word that a pool stores.
    #[doc(hidden)]
    type Root: PoolRoot<B, State = Self::State, Cursor = Self::Cursor>;

    /// The state that a pool owns beside the root.
    #[doc(hidden)]
    type State: PoolState<B, Cursor = Self::Cursor>;

    /// The cursor that a scope stores.
    #[doc(hidden)]
    type Cursor: ScopeCursor<B, State = Self::State>;
}

/// The root of a pool of the backend `B`.
pub(crate) type Root<B> = <<B as PoolBackend>::Layout as Layout<B>>::Root;

/// The state that a pool of the backend `B` owns beside its root.
pub(crate) type State<B> = <<B as PoolBackend>::Layout as Layout<B>>::State;

/// The cursor of a scope of the backend `B`.
pub(crate) type Cursor<B> = <<B as PoolBackend>::Layout as Layout<B>>::Cursor;

/// The position of a cursor of the backend `B`, by value.
pub(crate) type Place<'s, B> = <Cursor<B> as ScopeCursor<B>>::Place<'s>;

/// Memory of the backend `B` that was reserved for one array.
pub(crate) type Memory<'s, B> = <Cursor<B> as ScopeCursor<B>>::Memory<'s>;

/// Reserved memory and its cached shape: few enough words for a cold function to return in
/// registers.
pub(crate) type MemoryAndShape<'s, M, B> = (M, &'s mut Way<<B as PoolBackend>::Descriptor>);

/// The first use of the elements of an acquired array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstUse {
    /// They may be read: they have the contents of an earlier use, which must be initialised.
    Read,
    /// All of them are written before they are read, or the memory need not be initialised.
    Write,
}

/// A pool by value: one word. Its holder decides when the pool ends.
pub trait PoolRoot<B: PoolBackend>: Copy {
    /// See [`Layout::State`].
    type State;
    /// See [`Layout::Cursor`].
    type Cursor;

    /// Makes an empty pool.
    fn create(context: B::Context, config: PoolConfig) -> Result<Self, PoolError<B::Error>>;

    /// Frees the pool's memory; the context is dropped last.
    ///
    /// # Safety
    ///
    /// The pool is live, no view or cursor of it is in use, and no copy of this root is used afterwards.
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
    /// The pool outlives the cursor, no view of the pool is in use, and no other cursor of it is used while this one is.
    unsafe fn cursor(self) -> Self::Cursor;

    /// `true` if the pools that a thread is using form a chain: see [`enter`](Self::enter).
    const NESTS: bool = false;

    /// Does the same as [`cursor`](Self::cursor), for a pool that may have entered.
    ///
    /// # Safety
    ///
    /// Same as for [`cursor`](Self::cursor).
    #[inline(always)]
    unsafe fn nested_cursor(self) -> Self::Cursor {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { self.cursor() }
    }

    /// Makes this pool the innermost one of its thread's pools in use. Called only if
    /// [`NESTS`](Self::NESTS).
    ///
    /// # Safety
    ///
    /// `innermost` is null or was set by these functions, for pools that are live until they leave. The pool is live, no
    /// view or cursor of it is in use, and it has not entered.
    unsafe fn enter(self, innermost: &Cell<*mut ()>) {
        _ = innermost;
    }

    /// Takes the pool out of use. Returns `false` if it is the innermost one of another chain. Then
    /// it has not left, and must stay live for the rest of the process.
    ///
    /// # Safety
    ///
    /// The pool has entered, is live, and no view or cursor of it is in use. All other pools that
    /// have entered are live, too; their views and cursors may be in use.
    unsafe fn leave(self, innermost: &Cell<*mut ()>) -> bool {
        _ = innermost;
        true
    }

    /// Returns the next pool of this pool's free list.
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

/// The state that a pool owns beside its memory: the context, the configuration, the counters, the
/// named arrays.
pub trait PoolState<B: PoolBackend> {
    /// See [`Layout::Cursor`].
    type Cursor: ScopeCursor<B>;

    /// Returns the backend's context.
    fn context(&self) -> &B::Context;

    /// Returns the configuration.
    fn config(&self) -> PoolConfig;

    /// Returns the pool's statistics, as seen from a position with `active` arrays handed out.
    fn stats(&self, active: usize) -> PoolStats;

    /// Writes into `none` those statistics that any thread may read while the pool lives. The
    /// values of the configuration, of the device and of live bytes are not among them.
    fn shared_numbers(&self, none: PoolStats) -> PoolStats;

    /// Resets the peaks, as `clear` does.
    fn forget_peaks(&self);

    /// Replaces the configuration.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for a value out of its range; nothing is then changed.
    ///
    /// # Safety
    ///
    /// The pool is borrowed exclusively, so that no view of it is in use.
    unsafe fn configure(&self, config: PoolConfig) -> Result<(), ConfigError>;

    /// Returns the identity of the pool, unique in the process.
    fn id(&self) -> u64;

    /// Returns a serial that no handle of this pool has had.
    fn next_serial(&self) -> u64;

    /// Returns the named array `number`.
    ///
    /// # Safety
    ///
    /// There is an array of that number.
    unsafe fn named(
        &self,
        number: usize,
    ) -> NamedArray<<Self::Cursor as ScopeCursor<B>>::Memory<'_>>;

    /// Returns a cursor at a position with `number` named arrays handed out.
    ///
    /// # Safety
    ///
    /// Same as for [`PoolRoot::cursor`], but the views of the first `number` arrays may be in use;
    /// at least `number` arrays are handed out.
    unsafe fn cursor(&self, number: usize) -> Self::Cursor;
}

/// The position of a scope in its pool's memory. Reserving checks the memory there; stepping moves
/// past it. The cursor moves back in one case alone: over memory whose filling failed, if nothing
/// was acquired after it.
pub trait ScopeCursor<B: PoolBackend>: fmt::Debug + Sized {
    /// See [`Layout::State`].
    type State;

    /// The position of a cursor, by value. Larger functions take it instead of the cursor, which
    /// would have to be in memory for them.
    type Place<'s>: CursorPlace<'s, B, Memory = Self::Memory<'s>>;

    /// Memory that was reserved for one array.
    type Memory<'s>: ArrayMemory<'s, B>;

    /// Makes a cursor that starts at this one's position.
    ///
    /// # Safety
    ///
    /// This cursor is not used until the copy, and everything reserved through it, is out of use.
    unsafe fn copy(&self) -> Self;

    /// Reserves initialised memory for `length` elements of `T`, without taking it: the hot path.
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

    /// Does the same as [`reserve`](Self::reserve), with an error instead of a panic, and for
    /// either first use of the elements.
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
    /// The pool lives for `'s`. Until the place is out of use, the cursor only steps past memory
    /// that came from the place.
    unsafe fn place<'s>(&self) -> Self::Place<'s>;

    /// Takes the memory that was reserved: steps past it.
    ///
    /// # Safety
    ///
    /// `reserved` was the last thing reserved through this cursor.
    unsafe fn step(&self, reserved: Self::Memory<'_>);

    /// Gives back memory that was taken. The memory stays taken if the cursor has moved on, because
    /// code that ran after the step acquired.
    ///
    /// # Safety
    ///
    /// This cursor has stepped past `taken`, and no view of it is in use.
    unsafe fn step_back(&self, taken: Self::Memory<'_>);

    /// Takes the memory that was reserved, then fills it; gives the memory back if filling fails.
    ///
    /// # Safety
    ///
    /// `reserved` was the last thing reserved through this cursor, and `fill` makes no view of it that is
    /// used after an error.
    #[inline(always)]
    unsafe fn step_and_fill<E>(
        &self,
        reserved: Self::Memory<'_>,
        fill: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { self.step(reserved) };
        let filled = fill();
        if filled.is_err() {
            // SAFETY: just stepped past, and there is no view of it (caller).
            unsafe { self.step_back(reserved) };
        }
        filled
    }

    /// Enlarges the memory of a vector, and moves its elements if its memory moves.
    ///
    /// # Errors
    ///
    /// Same as [`Scope::try_acquire`](crate::Scope::try_acquire). The vector's memory is then
    /// unchanged.
    ///
    /// # Safety
    ///
    /// This cursor has stepped past `vector.memory`, and the vector has its only view, which ends with this call; its
    /// first `vector.length` elements are initialised. `T` is plain where `vector.plain`.
    unsafe fn enlarge<'s, T: Copy>(
        &self,
        vector: VectorMemory<Self::Memory<'s>>,
        needed: usize,
    ) -> EnlargeResult<'s, B, Self>
    where
        B: HostBackend;

    /// Gives back the vector's memory beyond its elements, if the layout can do so and nothing was
    /// acquired after it.
    ///
    /// # Safety
    ///
    /// This cursor has stepped past `vector.memory`, and the vector has its only view, which ends
    /// with this call. The first `vector.length` elements may be viewed afterwards. No other cursor
    /// is used while this one is.
    #[inline(always)]
    unsafe fn shrink<T>(&self, vector: VectorMemory<Self::Memory<'_>>) {
        let _ = vector;
    }

    /// Takes the `length` elements at `start` out of the memory that is not handed out, and steps
    /// past them. Returns their new address, or `None` if they are not in such memory.
    ///
    /// # Safety
    ///
    /// The elements have bytes; all of them are initialised if `plain`. No view of memory at or
    /// above the cursor is in use, except the caller's view of these elements, which ends with this
    /// call.
    unsafe fn keep<T: Copy>(&self, start: *mut T, length: usize, plain: bool) -> Option<*mut T>
    where
        B: HostBackend;

    /// Returns the bytes of the block that contains the address, in the memory that is not handed
    /// out. Returns `None` if there is none, or if the layout's memory cannot leave the pool.
    fn idle_block_bytes(&self, address: NonNull<u8>) -> Option<usize>
    where
        B: HostBackend,
    {
        _ = address;
        None
    }

    /// Takes the block that [`idle_block_bytes`](Self::idle_block_bytes) found out of the pool, and
    /// puts `spare` in its place. Returns `None`, and drops `spare`, only if there is no such
    /// block.
    ///
    /// # Safety
    ///
    /// The block has no view but the caller's. The caller owns `spare`, which is of the pool's backend and context. The
    /// pool is borrowed exclusively.
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

    /// Returns the number of arrays that are handed out before the cursor, if the layout counts
    /// them.
    fn active(&self) -> usize;

    /// Returns the pool's state.
    fn state(&self) -> &Self::State;

    /// Frees the idle memory.
    fn trim(&self) -> ReleaseReport;

    /// Swaps oversized idle memory for smaller memory.
    fn compact(&self, compaction: &Compaction) -> ReleaseReport;

    /// Starts to sample the lengths of acquires.
    fn sample_lengths(&self);

    /// Records the caller of a method without `try_`, for the report of a debug build. Does nothing
    /// in release builds.
    #[inline(always)]
    #[track_caller]
    fn note_caller(&self) {}
}

/// An array that a handle names.
#[derive(Clone, Copy, Debug)]
pub struct NamedArray<M> {
    pub(crate) memory: M,
    /// The serial of the handle; 0 if the array has none.
    pub(crate) serial: u64,
    /// The elements of the array.
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

/// The position of a cursor, by value. It serves acquires of arrays, whose lengths are checked
/// before memory is reserved.
pub trait CursorPlace<'s, B: PoolBackend>: Copy {
    /// See [`ScopeCursor::Memory`].
    type Memory;

    /// Returns the memory for `length` elements if they fit without the cold function.
    fn fitting<T>(self, length: usize) -> Option<Self::Memory>;

    /// Reserves the memory for `length` elements, through the cold function if needed.
    ///
    /// # Errors
    ///
    /// Same as [`Scope::try_acquire`](crate::Scope::try_acquire).
    ///
    /// # Safety
    ///
    /// The cursor still stands at this place.
    unsafe fn prepare<T>(
        self,
        length: usize,
        first_use: FirstUse,
    ) -> Result<Self::Memory, PoolError<B::Error>>;

    /// Returns the memory for an array of dynamic rank and its cached shape, if the shape is cached
    /// and the elements fit without the cold function.
    ///
    /// # Safety
    ///
    /// The cursor stands at this place, and nothing borrowed from a shape set at or above it is in use.
    unsafe fn fitting_shape<T: Element>(
        self,
        dims: &[usize],
    ) -> Option<MemoryAndShape<'s, Self::Memory, B>>;

    /// Reserves the memory for an array of dynamic rank and its shape, after
    /// [`fitting_shape`](Self::fitting_shape) returned `None`. It refuses invalid lengths, provides
    /// memory, and stores a new shape.
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

    /// Does the same as [`prepare_shape`](Self::prepare_shape), for elements that may be read.
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

/// Memory that was reserved for one array, for the time `'s` of its scope.
pub trait ArrayMemory<'s, B: PoolBackend>: Copy + fmt::Debug {
    /// Returns the block that begins with the array, whose elements are of type `T`.
    fn block_for<T>(self) -> B::Block;

    /// Returns the reference to the pool that a view of the array keeps.
    fn reference(self) -> SlotRef<B>;

    /// Returns the backend's context.
    fn context(self) -> &'s B::Context;

    /// Names the array, for the handle with this serial; returns its number.
    ///
    /// # Errors
    ///
    /// [`PoolError::Bookkeeping`] if the host has no memory for another name.
    ///
    /// # Safety
    ///
    /// The memory is reserved for `length` elements of the handle's type, and was the last that its
    /// cursor stepped past. No other handle has this `serial`.
    unsafe fn name(self, serial: u64, length: usize) -> Result<usize, PoolError<B::Error>>;

    /// Records that the array's first `length` elements of `T` may become uninitialised from now
    /// on.
    ///
    /// # Safety
    ///
    /// The memory is reserved for at least `length` elements of `T`, and its scope is open. Either
    /// the cursor has stepped past it, or no other code runs before the caller takes it.
    unsafe fn mark<T>(self, length: usize)
    where
        B: HostBackend;

    /// Makes the exclusive view of the first `length` elements.
    ///
    /// # Safety
    ///
    /// The memory was reserved for `length` elements of `T` or more bytes, and the cursor has
    /// stepped past it. No other view of it is in use while this one is. The elements are valid as
    /// `T`.
    #[inline(always)]
    unsafe fn view<T: Element>(self, length: usize) -> B::View<'s, T> {
        // SAFETY: reserved for `length` elements, so the block holds them, or is dangling with zero
        // bytes. Memory below the cursor stays allocated for `'s`. The caller guarantees validity
        // and exclusiveness.
        unsafe { B::view(self.block_for::<T>(), self.reference(), length) }
    }

    /// Makes a shared view of the first `length` elements.
    ///
    /// # Safety
    ///
    /// Same as for [`view`](Self::view), but other shared views may be in use.
    #[inline]
    unsafe fn view_ref<T: Element>(self, length: usize) -> B::ViewRef<'s, T> {
        // SAFETY: as in `view`.
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

    /// Returns the first `length` elements, valid while the scope is open.
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
        // SAFETY: reserved for `length` elements: the block holds them, or is dangling with zero
        // bytes, and is aligned for them (`HostBackend`). Memory below the cursor stays allocated
        // for `'s`. The caller guarantees validity and exclusiveness.
        unsafe { slice::from_raw_parts_mut(self.start(), length) }
    }

    /// Writes `length` elements, each made by `element(index)`.
    ///
    /// # Safety
    ///
    /// Same as for [`zero`](Self::zero), and the cursor has stepped past the memory: `element` is
    /// user code that may acquire from the same scope.
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
            // cursor, so arrays that `element` acquired are elsewhere, and it has no view yet. A
            // write of no size is valid at any aligned address.
            unsafe { place.write(value) };
        }
    }
}
