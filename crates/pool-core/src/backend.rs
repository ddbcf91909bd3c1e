//! Defines the [`PoolBackend`] trait, which each kind of memory implements, and the small types
//! that the trait uses. This module also defines the traits for memory layouts, because the backend
//! and layout traits refer to each other.

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

/// A kind of memory that pools can use, such as host memory or the memory of one GPU.
///
/// A pool accesses its memory only through this trait's methods. Everything else (slots, cursors,
/// scopes, growth, and limits) is generic over `B: PoolBackend` and is compiled separately for each
/// backend.
///
/// The `pool-conformance` crate tests whether a backend upholds the contract described below. The
/// tests in `pool-conformance` cover queue order, failed allocations, and arrays of up to one
/// mebibyte. The tests also track the blocks that the backend allocates and frees.
/// `pool-conformance` also contains two good starting points for new backends: a minimal one and
/// one with a command queue.
///
/// # Safety
///
/// An implementation must uphold all guarantees in the following sections. The soundness of every
/// pool depends on these guarantees.
///
/// ## Blocks
///
/// - [`ALIGN`](Self::ALIGN) is a power of two and at least 8. [`MAX_ALIGN`](Self::MAX_ALIGN) is a
///   power of two and at least `ALIGN`.
/// - The `bytes` argument of [`allocate`](Self::allocate) is always a nonzero multiple of `ALIGN`.
///   The allocated block belongs exclusively to the caller and is aligned to `ALIGN`. It holds
///   `bytes` bytes, which remain valid until the block is freed. A block never moves, and its bytes
///   are initialized if host code can read them. If `allocate` panics, it must not have allocated
///   any memory.
/// - [`free`](Self::free) is always called with the same `bytes` value that was passed to
///   [`allocate`](Self::allocate). `free` must use the method that matches the way the block was
///   allocated, even if the configuration has since changed. `free` must never unwind. The `Drop`
///   implementations of [`Descriptor`](Self::Descriptor) and [`Context`](Self::Context) must not
///   unwind.
/// - [`align_block`](Self::align_block) returns a part of the block and preserves the provenance of
///   the block's pointer. The returned part begins less than `align` bytes after the start of the
///   block.
/// - A [`Block`](Self::Block) is plain data that can be used on any thread that owns the `Context`.
///   `Context: Send` therefore implies that blocks can be moved to another thread together with the
///   context. If a backend's blocks can be used on only one thread, the backend's `Context` must
///   not be `Send`.
/// - [`view`](Self::view) and [`view_ref`](Self::view_ref) access only the first `length *
///   size_of::<T>()` bytes of the block. The returned views have exactly the requested length. Both
///   methods accept [`DANGLING`](Self::DANGLING) if the view contains no bytes. A view must not
///   access the memory after `'s` ends. A backend must not rely on a view's destructor being run.
///
/// ## Order
///
/// Each pool belongs to one work queue, which can be a thread's sequence of calls, a stream, or an
/// ordered encoder. Work that is enqueued through a view might run later, even after the view's
/// scope has ended. A pool can hand out a block again as soon as the block's scope ends, even if
/// work on the block is still pending. For each block, the following must therefore hold on the
/// pool's queue:
///
/// - [`set_bytes`](Self::set_bytes), [`fill`](Self::fill), and
///   [`copy_from_host`](Self::copy_from_host) write *after* all work (including reads) that was
///   enqueued through earlier views of the block. These methods write *before* any work that is
///   enqueued through later views. A write that takes effect immediately or bypasses the queue is
///   correct only if the queue is empty. Writes to mapped memory, writes on a second stream, and
///   writes by the driver before the next submission all bypass the queue.
/// - [`free`](Self::free) takes effect only once all previously enqueued work on the block has
///   finished. Until [`free`](Self::free) takes effect, the block's memory must not be given to
///   another owner.
/// - The pool's queue does not automatically wait for work that uses a view on another queue. For
///   every slot that a view has [armed](SlotRef::arm), [`reuse`](Self::reuse) must make the pool's
///   queue wait for the view's work on other queues.
///
/// Host memory that is accessed only through slices satisfies these ordering rules without
/// additional work.
///
/// ## User code
///
/// - [`free`](Self::free) and [`settle`](Self::settle) may block, but they must not unwind. A
///   backend must catch panics raised by the libraries it uses, because some libraries panic on
///   errors by default.
/// - No method may retain a reference to the context after it returns. A view may access the
///   context through its [`SlotRef`] until `'s` ends. A method may clone any `Rc` or `Arc` in the
///   context. No method may call back into the pool that called it. Methods can run user code (an
///   allocator's hooks, a driver's callbacks, or a log subscriber), and that code might use the
///   same pool. If user code calls an acquire method, the call fails with [`PoolError::Reentered`].
///   If user code calls `trim`, `compact`, or `sample_lengths` during one of the pool's operations,
///   the call has no effect. While user code runs, a backend must not hold a lock or a borrow that
///   its own views also need.
///
/// # Opaque memory
///
/// A block does not have to be an address. If the system's handle to the memory is
/// reference-counted or owns the memory, store the handle in a table inside the
/// [`Context`](Self::Context). The `Block`, which is `Copy`, can identify a table entry by index,
/// identity, or pointer. `allocate` inserts the handle into the table, `free` removes the handle in
/// queue order, and dropping the context drops all remaining handles. A pointer to a table entry
/// must stay valid for as long as a view can use the entry. If table entries live as long as the
/// context, a bug in the backend can cause wrong results but not a use-after-free.
///
/// - Views find the context through their [`SlotRef`] or through their block's table entry.
/// - Blocks that are not addresses still have *identities*. Tests and diagnostics use these
///   identities to distinguish the bytes of different blocks. Like addresses, identities assign a
///   unique number to each byte of every block. The ranges of two blocks never overlap, and each
///   range begins at a multiple of `ALIGN`. If blocks are not addresses, `ALIGN` applies only to
///   their identities. `ALIGN` says nothing about the alignment that the system requires for
///   offsets within an opaque block.
/// - If a handle outlives the view that returned it, the handle's memory might already belong to
///   another array. A view should therefore return only handles whose lifetime is `'s`.
pub unsafe trait PoolBackend: Sized + 'static {
    /// The memory layout of this backend's pools, which is [`Slots`](crate::Slots) unless the
    /// backend is [`Stacked`](crate::Stacked).
    type Layout: Layout<Self>;

    /// The state needed to allocate memory, such as `()` on the host, or a device and a stream on a
    /// GPU.
    type Context;

    /// A piece of memory, represented by an address or identity plus the data that `free` and
    /// `view` need. A block never owns its memory.
    type Block: Copy;

    /// The exclusive view of `length` elements that an acquire method returns.
    type View<'s, T: Element>: PoolViewMut<Element = T, Error = Self::ViewError>
        + for<'a> LendView<'a, Same = Self::View<'a, T>, Shared = Self::ViewRef<'a, T>>;

    /// The shared counterpart of [`View`](Self::View).
    type ViewRef<'s, T: Element>: PoolView<Element = T, Error = Self::ViewError>
        + for<'a> LendView<'a, Same = Self::ViewRef<'a, T>, Shared = Self::ViewRef<'a, T>>
        + Copy;

    /// The data that a backend attaches to a cached dynamic shape, such as a header or a device
    /// copy of the dimensions and strides. A descriptor is dropped when its shape is evicted from
    /// the cache or when the slot's block is replaced.
    type Descriptor: Default + 'static;

    /// The error returned if memory cannot be allocated or an operation cannot be enqueued. The
    /// error type is `Send` and `Sync` so that `?` can convert a [`PoolError`] into
    /// `Box<dyn Error + Send + Sync>` in code that is generic over the backend.
    type Error: Error + Send + Sync + 'static;

    /// The error returned if a view's contents cannot be read or written. Backends whose views are
    /// slices should use [`ViewError`](crate::ViewError).
    type ViewError: Error + From<ShapeError> + Send + Sync + 'static;

    /// The alignment, in bytes, of every block. If blocks are not addresses, their identities are
    /// aligned to `ALIGN`.
    const ALIGN: usize;

    /// The largest alignment, in bytes, that an element may require. Acquiring elements with an
    /// alignment larger than `MAX_ALIGN` is a compile error.
    ///
    /// A backend whose `MAX_ALIGN` is larger than [`ALIGN`](Self::ALIGN) must implement
    /// [`align_block`](Self::align_block), because an element might require a larger alignment than
    /// a block has. For elements with a larger alignment than `ALIGN`, the pool reserves memory for
    /// one extra element and hands out the correctly aligned part of the block.
    const MAX_ALIGN: usize = Self::ALIGN;

    /// The placeholder block for empty slots and for views that contain no bytes. The `DANGLING`
    /// block is never freed or written to. Even an empty slice needs an aligned, non-null address.
    /// `NonNull::dangling` returns such an address for a type with the same alignment as a block. A
    /// backend whose blocks are opaque may use any value that does not identify an allocation.
    const DANGLING: Self::Block;

    /// Returns the part of a block that starts at the block's first `align`-aligned address.
    /// `align` is a power of two that is greater than [`ALIGN`](Self::ALIGN) and at most
    /// [`MAX_ALIGN`](Self::MAX_ALIGN). Every method except [`free`](Self::free) accepts the
    /// returned part as a block. If the block is too short or is [`DANGLING`](Self::DANGLING), the
    /// method returns an aligned block that contains no bytes.
    #[must_use]
    fn align_block(block: Self::Block, align: usize) -> Self::Block {
        let _ = align;
        block
    }

    /// Returns the device on which the context allocates memory.
    fn device(context: &Self::Context) -> Device;

    /// Allocates a block of `bytes` bytes.
    ///
    /// # Errors
    ///
    /// Returns the backend's own error if the block cannot be allocated. If an allocation fails,
    /// the pool frees its idle blocks and retries the allocation once. A backend must report every
    /// failure and must never return a smaller block or a different kind of memory.
    fn allocate(
        context: &Self::Context,
        bytes: usize,
        advice: Advice,
    ) -> Result<Self::Block, Self::Error>;

    /// Frees a block once all work enqueued on it has finished. `free` may either wait for the
    /// enqueued work to finish or enqueue the free operation after that work. `free` must never
    /// unwind, because its callers cannot handle a panic.
    ///
    /// # Safety
    ///
    /// `block` must have been returned by [`allocate`](Self::allocate) for the same context and
    /// with the same `bytes`, and must not have been freed. No view of the block may be used after
    /// this call.
    unsafe fn free(context: &Self::Context, block: Self::Block, bytes: usize);

    /// Waits until freed memory is available again. This method is for backends whose
    /// [`free`](Self::free) might return before the memory becomes available. A pool calls this
    /// method at the end of `trim`, `compact`, and `clear`, after freeing its idle blocks. A pool
    /// also calls this method before its last attempt to allocate a block. `settle` must not
    /// unwind. Once a pool has reached its steady state, it never calls `settle`.
    fn settle(context: &Self::Context) {
        let _ = context;
    }

    /// Creates an exclusive view of the first `length` elements of `block`. If the view contains no
    /// bytes, `block` is [`DANGLING`](Self::DANGLING).
    ///
    /// # Safety
    ///
    /// The block must stay allocated throughout `'s`, and no other view of the block may be used
    /// until `'s` ends. The block must hold at least `length` elements of `T` that are initialized
    /// and valid. `slot` must be the slot that holds the block.
    unsafe fn view<'s, T: Element>(
        block: Self::Block,
        slot: SlotRef<Self>,
        length: usize,
    ) -> Self::View<'s, T>;

    /// Creates a shared view of the first `length` elements of `block`.
    ///
    /// # Safety
    ///
    /// The same requirements as for [`view`](Self::view) apply, except that other shared views may
    /// be in use.
    unsafe fn view_ref<'s, T: Element>(
        block: Self::Block,
        slot: SlotRef<Self>,
        length: usize,
    ) -> Self::ViewRef<'s, T>;

    /// Makes the backend's queue wait for work that the pool cannot observe. A pool calls this
    /// method for each slot that a view has [armed](SlotRef::arm), before the slot's block is
    /// handed out again or freed. Operations enqueued after this call, such as fills and frees, run
    /// after the work that the pool cannot observe.
    ///
    /// # Errors
    ///
    /// Returns the backend's own error if the backend cannot make its queue wait. If this method
    /// fails, either the acquire method that called it fails with the same error, or the block is
    /// leaked instead of freed.
    ///
    /// # Safety
    ///
    /// `block` must be allocated, and no view of it may be in use.
    unsafe fn reuse(
        context: &Self::Context,
        block: Self::Block,
        why: Reuse,
    ) -> Result<(), Self::Error>;

    /// Sets the first `bytes` bytes of `block` to `value`, in queue order (see this trait's *Order*
    /// section).
    ///
    /// # Errors
    ///
    /// Returns the backend's own error if the operation cannot be enqueued.
    ///
    /// # Safety
    ///
    /// `bytes` must be at least 1, `block` must hold at least that many bytes, and no view of the
    /// block may be in use.
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
    /// Returns the backend's own error if the operation cannot be enqueued.
    ///
    /// # Safety
    ///
    /// `block` must hold at least `length` elements of `T`, and these elements must occupy at least
    /// one byte. No view of the block may be in use.
    unsafe fn fill<T: Element>(
        context: &Self::Context,
        block: Self::Block,
        value: T,
        length: usize,
    ) -> Result<(), Self::Error>;

    /// Copies `source` to the start of `block`, in queue order. The caller may reuse `source` as
    /// soon as this method returns. Later writes to `source` must not affect the copy.
    ///
    /// # Errors
    ///
    /// Returns the backend's own error if the operation cannot be enqueued.
    ///
    /// # Safety
    ///
    /// `block` must hold at least `source.len()` elements of `T`, and these elements must occupy at
    /// least one byte. No view of the block may be in use.
    unsafe fn copy_from_host<T: Element>(
        context: &Self::Context,
        block: Self::Block,
        source: &[T],
    ) -> Result<(), Self::Error>;
}

/// A backend whose blocks host code can write through a pointer at any time.
///
/// Host code writes through this pointer without waiting for any queue. A backend whose fills and
/// copies run asynchronously must not implement this trait, even if it uses host memory.
///
/// A host backend's scopes hand out slices of any type `T: Copy`, even if the type contains padding
/// or the memory is uninitialized. For types that do not implement `Element`, the pool creates
/// slices from the host pointer instead of calling [`view`](PoolBackend::view).
///
/// # Safety
///
/// - For an allocated block, [`host_pointer`](Self::host_pointer) must return a pointer aligned to
///   [`ALIGN`](PoolBackend::ALIGN). The returned pointer must be valid for reads and writes of the
///   whole block until the block is freed. The pointer returned for
///   [`DANGLING`](PoolBackend::DANGLING) must be non-null and aligned.
/// - A view that is a slice must use the same memory mapping as the host pointer. The pool uses a
///   slice's address to find the block that contains the slice.
/// - All writes made by [`set_bytes`](PoolBackend::set_bytes), [`fill`](PoolBackend::fill), and
///   [`copy_from_host`](PoolBackend::copy_from_host) must be visible through the host pointer when
///   these methods return.
/// - The pool may leave some bytes of a block uninitialized. Methods that write to a block must
///   therefore neither read unwritten bytes nor create references to unwritten elements. If a
///   backend retains freed blocks for later allocations, it must initialize them before `allocate`
///   returns them again.
pub unsafe trait HostBackend: PoolBackend {
    /// Returns the host address of a block.
    fn host_pointer(block: Self::Block) -> *mut u8;
}

/// The reason for calling [`PoolBackend::reuse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reuse {
    /// The block is about to be handed out again.
    HandOut,
    /// The block is about to be freed.
    Free,
}

/// Hints from the pool's configuration that a backend may follow or ignore when it allocates a
/// block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// Requests huge pages from the operating system if the block is large enough.
    pub huge_pages: bool,
}

/// A block of host memory that does not belong to any slot.
#[derive(Clone, Copy, Debug)]
pub struct LooseBlock<K> {
    pub(crate) block: K,
    /// The number of bytes allocated for the block, or 0 if there is no block.
    pub(crate) bytes: usize,
    /// The number of bytes at the start of the block that might be uninitialized.
    pub(crate) uninitialised: usize,
}

/// A sealed trait that only the layouts in this crate implement.
pub trait SealedLayout {}

/// A pool's memory layout, which is either [`Slots`](crate::Slots) or [`Stack`](crate::Stack). This
/// trait is sealed.
///
/// Each backend specifies its layout as [`PoolBackend::Layout`], so a pool is compiled for exactly
/// one layout.
pub trait Layout<B: PoolBackend>: SealedLayout + Sized + 'static {
    /// `true` if every array uses a slot with its own block.
    ///
    /// If `HAS_SLOTS` is `false`, a scope's [`PoolStats`] always reports 0 for `active_slots` and
    /// `high_water_slots`. Tests that are generic over the layout should check `HAS_SLOTS` before
    /// they count slots or blocks of memory.
    const HAS_SLOTS: bool;

    /// A pool's root, stored in a single word.
    #[doc(hidden)]
    type Root: PoolRoot<B, State = Self::State, Cursor = Self::Cursor>;

    /// The state that a pool owns in addition to its root.
    #[doc(hidden)]
    type State: PoolState<B, Cursor = Self::Cursor>;

    /// The cursor that a scope stores.
    #[doc(hidden)]
    type Cursor: ScopeCursor<B, State = Self::State>;
}

/// The root of a pool with backend `B`.
pub(crate) type Root<B> = <<B as PoolBackend>::Layout as Layout<B>>::Root;

/// The state that a pool with backend `B` owns in addition to its root.
pub(crate) type State<B> = <<B as PoolBackend>::Layout as Layout<B>>::State;

/// The cursor of a scope with backend `B`.
pub(crate) type Cursor<B> = <<B as PoolBackend>::Layout as Layout<B>>::Cursor;

/// A copyable value that stores the position of a cursor with backend `B`.
pub(crate) type Place<'s, B> = <Cursor<B> as ScopeCursor<B>>::Place<'s>;

/// Memory that was reserved for one array in a pool with backend `B`.
pub(crate) type Memory<'s, B> = <Cursor<B> as ScopeCursor<B>>::Memory<'s>;

/// Reserved memory together with its cached shape. A `MemoryAndShape` is small enough that a cold
/// function can return it in registers.
pub(crate) type MemoryAndShape<'s, M, B> = (M, &'s mut Way<<B as PoolBackend>::Descriptor>);

/// Specifies how the elements of newly acquired memory are first used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstUse {
    /// The elements might be read before they are written. The memory must therefore be
    /// initialized, but may contain data from an earlier use.
    Read,
    /// The elements are written before they are read, or they are handed out as possibly
    /// uninitialized memory.
    Write,
}

/// A handle to a pool, represented as a plain one-word value. The code that owns the root decides
/// when the pool is destroyed.
pub trait PoolRoot<B: PoolBackend>: Copy {
    /// The state of the pool (see [`Layout::State`]).
    type State;
    /// The cursor type of the pool's scopes (see [`Layout::Cursor`]).
    type Cursor;

    /// Creates an empty pool.
    fn create(context: B::Context, config: PoolConfig) -> Result<Self, PoolError<B::Error>>;

    /// Frees the pool's memory and then drops the context.
    ///
    /// # Safety
    ///
    /// The pool must be live, and none of its views or cursors may be in use. No copy of this root
    /// may be used after this call.
    unsafe fn destroy(self);

    /// Returns the pool's state.
    ///
    /// # Safety
    ///
    /// The pool must outlive `'s`.
    unsafe fn state<'s>(self) -> &'s Self::State;

    /// Returns a cursor at the beginning of the pool's memory.
    ///
    /// # Safety
    ///
    /// The pool must outlive the cursor, and none of its views may be in use. No other cursor of
    /// the pool may be used while the returned cursor is in use.
    unsafe fn cursor(self) -> Self::Cursor;

    /// `true` if each thread maintains a chain of the pools that it is using (see
    /// [`enter`](Self::enter)).
    const NESTS: bool = false;

    /// Returns a cursor at the beginning of the pool's memory, even if the pool has been passed to
    /// [`enter`](Self::enter).
    ///
    /// # Safety
    ///
    /// The same requirements as for [`cursor`](Self::cursor) apply.
    #[inline(always)]
    unsafe fn nested_cursor(self) -> Self::Cursor {
        // SAFETY: the caller upholds the safety contract of `cursor`.
        unsafe { self.cursor() }
    }

    /// Adds this pool to its thread's chain of pools as the innermost pool. This method is called
    /// only if [`NESTS`](Self::NESTS) is `true`.
    ///
    /// # Safety
    ///
    /// `innermost` must either be null or have been set by `enter` or `leave`. Every pool in the
    /// chain must stay live until it leaves the chain. This pool must be live and must not be in
    /// the chain, and none of its views or cursors may be in use.
    unsafe fn enter(self, innermost: &Cell<*mut ()>) {
        _ = innermost;
    }

    /// Removes the pool from the chain. Returns `false` if the pool is the innermost pool of
    /// another chain. If the method returns `false`, the pool is still in its chain and must stay
    /// live for the rest of the process's lifetime.
    ///
    /// # Safety
    ///
    /// The pool must be live and in the chain, and none of its views or cursors may be in use. All
    /// other pools in the chain must also be live, but their views and cursors may be in use.
    unsafe fn leave(self, innermost: &Cell<*mut ()>) -> bool {
        _ = innermost;
        true
    }

    /// Returns the next pool in the free list that contains this pool.
    ///
    /// # Safety
    ///
    /// The pool must be live.
    unsafe fn next_idle(self) -> *mut ();

    /// Sets the value that [`next_idle`](Self::next_idle) returns.
    ///
    /// # Safety
    ///
    /// The pool must be live.
    unsafe fn set_next_idle(self, next: *mut ());

    /// Converts the root into an untyped, non-null address that is aligned to at least 8 bytes.
    fn into_raw(self) -> *mut ();

    /// Converts an address returned by [`into_raw`](Self::into_raw) back into a root.
    ///
    /// # Safety
    ///
    /// `address` must have been returned by [`into_raw`](Self::into_raw) for a root of the same
    /// backend.
    unsafe fn from_raw(address: *mut ()) -> Self;
}

/// The context, configuration, counters, and named arrays of a pool.
pub trait PoolState<B: PoolBackend> {
    /// The cursor type of the pool's scopes (see [`Layout::Cursor`]).
    type Cursor: ScopeCursor<B>;

    /// Returns the backend's context.
    fn context(&self) -> &B::Context;

    /// Returns the pool's configuration.
    fn config(&self) -> PoolConfig;

    /// Returns the pool's statistics for a scope that has `active` arrays below its cursor.
    fn stats(&self, active: usize) -> PoolStats;

    /// Returns the sum of `none` and the pool statistics that any thread may read. The pool must be
    /// live. The returned statistics do not include the configuration, the device, or the live
    /// bytes.
    fn shared_numbers(&self, none: PoolStats) -> PoolStats;

    /// Resets the peak values in the statistics. This method is called when a pool is cleared.
    fn forget_peaks(&self);

    /// Replaces the pool's configuration.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError`] if a value is out of range. If the method fails, the configuration
    /// does not change.
    ///
    /// # Safety
    ///
    /// The caller must have exclusive access to the pool, and none of the pool's views may be in
    /// use.
    unsafe fn configure(&self, config: PoolConfig) -> Result<(), ConfigError>;

    /// Returns the pool's identity, which is unique within the process.
    fn id(&self) -> u64;

    /// Returns a serial number that none of this pool's handles has used before.
    fn next_serial(&self) -> u64;

    /// Returns the named array with the given index.
    ///
    /// # Safety
    ///
    /// A named array with the given index must exist.
    unsafe fn named(
        &self,
        number: usize,
    ) -> NamedArray<<Self::Cursor as ScopeCursor<B>>::Memory<'_>>;

    /// Returns a cursor that is positioned after the first `number` named arrays.
    ///
    /// # Safety
    ///
    /// The same requirements as for [`PoolRoot::cursor`] apply, except that views of the first
    /// `number` arrays may be in use. At least `number` arrays of the pool must currently be handed
    /// out.
    unsafe fn cursor(&self, number: usize) -> Self::Cursor;
}

/// A scope's position in its pool's memory. [`reserve`](Self::reserve) checks that enough memory is
/// available at the cursor, and [`step`](Self::step) moves the cursor past the reserved memory. The
/// cursor moves backward only if the memory could not be filled and nothing else has been acquired
/// since then.
pub trait ScopeCursor<B: PoolBackend>: fmt::Debug + Sized {
    /// The state of the pool (see [`Layout::State`]).
    type State;

    /// A copyable value that stores the position of a cursor. Large functions accept a position
    /// instead of a cursor, because a cursor passed to them would have to be stored in memory.
    type Place<'s>: CursorPlace<'s, B, Memory = Self::Memory<'s>>;

    /// Memory that was reserved for one array.
    type Memory<'s>: ArrayMemory<'s, B>;

    /// Returns a new cursor that starts at this cursor's position.
    ///
    /// # Safety
    ///
    /// This cursor must not be used while the new one, or anything reserved through it, is in use.
    unsafe fn copy(&self) -> Self;

    /// Reserves initialized memory for `length` elements of `T` without moving the cursor. Every
    /// acquire method calls this method on its hot path.
    ///
    /// # Safety
    ///
    /// The pool must outlive `'s`.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_reserve`](Self::try_reserve) would return.
    #[track_caller]
    unsafe fn reserve<'s, T>(&self, length: usize) -> Self::Memory<'s>;

    /// The fallible version of [`reserve`](Self::reserve). This version accepts both variants of
    /// [`FirstUse`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`](crate::Scope::try_acquire).
    ///
    /// # Safety
    ///
    /// The pool must outlive `'s`.
    unsafe fn try_reserve<'s, T>(
        &self,
        length: usize,
        first_use: FirstUse,
    ) -> Result<Self::Memory<'s>, PoolError<B::Error>>;

    /// Returns the cursor's position.
    ///
    /// # Safety
    ///
    /// The pool must outlive `'s`. While the returned position is in use, the cursor may move only
    /// past memory that was reserved through that position.
    unsafe fn place<'s>(&self) -> Self::Place<'s>;

    /// Acquires the reserved memory by moving the cursor past it.
    ///
    /// # Safety
    ///
    /// `reserved` must be the memory that was last reserved through this cursor.
    unsafe fn step(&self, reserved: Self::Memory<'_>);

    /// Returns acquired memory to the pool by moving the cursor back. If other memory has been
    /// acquired since `taken`, this method has no effect, and `taken` stays in use.
    ///
    /// # Safety
    ///
    /// This cursor must have moved past `taken`, and no view of that memory may be in use.
    unsafe fn step_back(&self, taken: Self::Memory<'_>);

    /// Acquires the reserved memory and then fills it. If `fill` fails, the memory is returned to
    /// the pool.
    ///
    /// # Safety
    ///
    /// `reserved` must be the memory that was last reserved through this cursor. If `fill` returns
    /// an error, the views of this memory that `fill` created must not be used again.
    #[inline(always)]
    unsafe fn step_and_fill<E>(
        &self,
        reserved: Self::Memory<'_>,
        fill: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        // SAFETY: the caller guarantees that `reserved` was last reserved through this cursor.
        unsafe { self.step(reserved) };
        let filled = fill();
        if filled.is_err() {
            // SAFETY: the cursor just moved past `reserved`, and the caller guarantees that no view
            // of this memory is used after an error.
            unsafe { self.step_back(reserved) };
        }
        filled
    }

    /// Enlarges a vector's memory and moves the elements if the enlarged memory is at a different
    /// address.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`](crate::Scope::try_acquire). If the method
    /// fails, the vector retains its memory.
    ///
    /// # Safety
    ///
    /// This cursor must have moved past `vector.memory`. The vector must hold the only view of its
    /// memory, and that view must not be used after this call. The first `vector.length` elements
    /// must be initialized. If `vector.plain` is `true`, every byte of every element must be
    /// initialized.
    unsafe fn enlarge<'s, T: Copy>(
        &self,
        vector: VectorMemory<Self::Memory<'s>>,
        needed: usize,
    ) -> EnlargeResult<'s, B, Self>
    where
        B: HostBackend;

    /// Returns the vector's unused memory to the pool if the layout supports this and nothing else
    /// has been acquired since the vector last grew.
    ///
    /// # Safety
    ///
    /// This cursor must have moved past `vector.memory`. The vector must hold the only view of its
    /// memory, and that view must not be used after this call. However, a new view of the first
    /// `vector.length` elements may be created after this call. No other cursor of the pool may be
    /// used while this cursor is in use.
    #[inline(always)]
    unsafe fn shrink<T>(&self, vector: VectorMemory<Self::Memory<'_>>) {
        let _ = vector;
    }

    /// Transfers the `length` elements at `start` to the memory at the cursor, and moves the cursor
    /// past that memory. Before this call, the elements must be in memory that has not been handed
    /// out. Returns the new address of the elements, or `None` if the elements must be copied
    /// instead.
    ///
    /// # Safety
    ///
    /// The elements must have a nonzero size, and if `plain` is `true`, all bytes of the elements
    /// must be initialized. Except for the caller's view of these elements, no view of memory at or
    /// above the cursor may be in use. The caller's view must not be used after this call.
    unsafe fn keep<T: Copy>(&self, start: *mut T, length: usize, plain: bool) -> Option<*mut T>
    where
        B: HostBackend;

    /// Returns the size in bytes of the idle block that contains `address`. Returns `None` if no
    /// idle block contains `address`, or if this layout does not allow blocks to be removed.
    fn idle_block_bytes(&self, address: NonNull<u8>) -> Option<usize>
    where
        B: HostBackend,
    {
        _ = address;
        None
    }

    /// Replaces the block that [`idle_block_bytes`](Self::idle_block_bytes) found with `spare`, and
    /// returns the old block. If no idle block contains `address`, the method drops `spare` and
    /// returns `None`.
    ///
    /// # Safety
    ///
    /// The caller must hold the only view of the block. The caller must own `spare`, which must
    /// belong to the pool's backend and context. The caller must have exclusive access to the pool.
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

    /// Returns the number of handed-out arrays below the cursor, if the layout counts arrays.
    fn active(&self) -> usize;

    /// Returns the pool's state.
    fn state(&self) -> &Self::State;

    /// Frees all memory that is not handed out.
    fn trim(&self) -> ReleaseReport;

    /// Replaces each oversized idle block with a smaller block.
    fn compact(&self, compaction: &Compaction) -> ReleaseReport;

    /// Starts sampling the lengths of acquired arrays.
    fn sample_lengths(&self);

    /// Records the caller of a panicking acquire method, so that a debug build can name the caller
    /// in its warning. In release builds, this method does nothing.
    #[inline(always)]
    #[track_caller]
    fn note_caller(&self) {}
}

/// An array that a handle refers to.
#[derive(Clone, Copy, Debug)]
pub struct NamedArray<M> {
    pub(crate) memory: M,
    /// The serial number of the handle, or 0 if no handle refers to the array.
    pub(crate) serial: u64,
    /// The number of elements in the array.
    pub(crate) length: usize,
}

/// The memory of a vector.
#[derive(Clone, Copy, Debug)]
pub struct VectorMemory<M> {
    pub(crate) memory: M,
    /// The number of elements that fit in the vector's memory.
    pub(crate) capacity: usize,
    /// The number of initialized elements.
    pub(crate) length: usize,
    /// `true` if every byte of every element is initialized.
    pub(crate) plain: bool,
}

/// The result of [`ScopeCursor::enlarge`].
pub(crate) type EnlargeResult<'s, B, C> =
    Result<VectorMemory<<C as ScopeCursor<B>>::Memory<'s>>, PoolError<<B as PoolBackend>::Error>>;

/// A copyable value that stores the position of a cursor. If an array's length must be checked
/// before memory is reserved, the array is acquired through a position.
pub trait CursorPlace<'s, B: PoolBackend>: Copy {
    /// The memory reserved for one array (see [`ScopeCursor::Memory`]).
    type Memory;

    /// Returns memory for `length` elements if it can be reserved without calling the cold
    /// function.
    fn fitting<T>(self, length: usize) -> Option<Self::Memory>;

    /// Reserves memory for `length` elements, calling the cold function if necessary.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`](crate::Scope::try_acquire).
    ///
    /// # Safety
    ///
    /// The cursor must still be at this position.
    unsafe fn prepare<T>(
        self,
        length: usize,
        first_use: FirstUse,
    ) -> Result<Self::Memory, PoolError<B::Error>>;

    /// Returns the memory and cached shape of an array of dynamic rank. Returns `None` if the shape
    /// is not cached, or if the cold function must reserve the memory.
    ///
    /// # Safety
    ///
    /// The cursor must still be at this position, and no reference into a shape set at or above
    /// this position may be in use.
    unsafe fn fitting_shape<T: Element>(
        self,
        dims: &[usize],
    ) -> Option<MemoryAndShape<'s, Self::Memory, B>>;

    /// Reserves memory for an array of dynamic rank and stores its shape. Callers use this method
    /// only if [`fitting_shape`](Self::fitting_shape) has returned `None`. The method rejects
    /// invalid lengths, reserves memory, and stores the shape if it is not yet cached.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`](crate::Scope::try_acquire).
    ///
    /// # Safety
    ///
    /// The same requirements as for [`fitting_shape`](Self::fitting_shape) apply.
    unsafe fn prepare_shape<T: Element>(
        self,
        dims: &[usize],
        first_use: FirstUse,
    ) -> Result<MemoryAndShape<'s, Self::Memory, B>, PoolError<B::Error>>;

    /// The panicking version of [`prepare_shape`](Self::prepare_shape) for elements that might be
    /// read before they are written.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`prepare_shape`](Self::prepare_shape) would return.
    ///
    /// # Safety
    ///
    /// The same requirements as for [`fitting_shape`](Self::fitting_shape) apply.
    #[track_caller]
    unsafe fn prepare_shape_or_panic<T: Element>(
        self,
        dims: &[usize],
    ) -> MemoryAndShape<'s, Self::Memory, B>;
}

/// Memory that was reserved for one array and is valid for `'s`, the lifetime of the scope.
pub trait ArrayMemory<'s, B: PoolBackend>: Copy + fmt::Debug {
    /// Returns the block that starts at the array's first element. `T` must be the type of the
    /// array's elements.
    fn block_for<T>(self) -> B::Block;

    /// Returns the pool reference that each view of the array stores.
    fn reference(self) -> SlotRef<B>;

    /// Returns the backend's context.
    fn context(self) -> &'s B::Context;

    /// Assigns the array to the handle with the given serial number and returns the array's index.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::Bookkeeping`] if the host runs out of memory for named arrays.
    ///
    /// # Safety
    ///
    /// The memory must be reserved for `length` elements of the handle's type. `self` must be the
    /// memory that the cursor most recently moved past. No other handle may have the same `serial`.
    unsafe fn name(self, serial: u64, length: usize) -> Result<usize, PoolError<B::Error>>;

    /// Records that the array's first `length` elements might become uninitialized after this call.
    ///
    /// # Safety
    ///
    /// The memory must be reserved for at least `length` elements of `T`, and the memory's scope
    /// must be open. Either the cursor must have moved past the memory, or no other code may run
    /// before the caller acquires it.
    unsafe fn mark<T>(self, length: usize)
    where
        B: HostBackend;

    /// Creates an exclusive view of the first `length` elements.
    ///
    /// # Safety
    ///
    /// The memory must have been reserved for at least `length` elements of `T`, and the cursor
    /// must have moved past it. No other view of the memory may be in use while the returned view
    /// is in use. The elements must be valid values of `T`.
    #[inline(always)]
    unsafe fn view<T: Element>(self, length: usize) -> B::View<'s, T> {
        // SAFETY: the memory was reserved for `length` elements, so either the block holds them, or
        // the view contains no bytes and the block is dangling. Memory below the cursor stays
        // allocated for `'s`. The caller guarantees that the elements are valid and that the view
        // is exclusive.
        unsafe { B::view(self.block_for::<T>(), self.reference(), length) }
    }

    /// Creates a shared view of the first `length` elements.
    ///
    /// # Safety
    ///
    /// The same requirements as for [`view`](Self::view) apply, except that other shared views may
    /// be in use.
    #[inline]
    unsafe fn view_ref<T: Element>(self, length: usize) -> B::ViewRef<'s, T> {
        // SAFETY: the memory was reserved for `length` elements and stays allocated for `'s`. The
        // caller guarantees that the elements are valid and that only shared views are in use.
        unsafe { B::view_ref(self.block_for::<T>(), self.reference(), length) }
    }

    /// Sets all bytes of the first `length` elements of `T` to zero.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::Backend`] if the backend cannot zero the memory.
    ///
    /// # Safety
    ///
    /// The memory must have been reserved for `length` elements of `T`, and no view of it may be in
    /// use.
    #[inline]
    unsafe fn zero<T: Element>(self, length: usize) -> Result<(), PoolError<B::Error>> {
        let bytes = length * size_of::<T>();
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the memory was reserved for at least `bytes` bytes, and the caller guarantees
        // that no view of it is in use.
        unsafe { B::set_bytes(self.context(), self.block_for::<T>(), 0, bytes) }
            .map_err(|source| PoolError::Backend { operation: "zero a block", source })
    }

    /// Writes `value` into each of the first `length` elements.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::Backend`] if the backend cannot write the elements.
    ///
    /// # Safety
    ///
    /// The same requirements as for [`zero`](Self::zero) apply.
    #[inline]
    unsafe fn fill<T: Element>(self, value: T, length: usize) -> Result<(), PoolError<B::Error>> {
        if length * size_of::<T>() == 0 {
            return Ok(());
        }
        // SAFETY: the memory was reserved for `length` elements, and the caller guarantees that no
        // view of it is in use.
        unsafe { B::fill(self.context(), self.block_for::<T>(), value, length) }
            .map_err(|source| PoolError::Backend { operation: "fill a block", source })
    }

    /// Copies `source` to the start of the memory.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::Backend`] if the backend cannot copy `source`.
    ///
    /// # Safety
    ///
    /// The same requirements as for [`zero`](Self::zero) apply, with `source.len()` as the length.
    #[inline]
    unsafe fn copy_from_host<T: Element>(self, source: &[T]) -> Result<(), PoolError<B::Error>> {
        if size_of_val(source) == 0 {
            return Ok(());
        }
        // SAFETY: the memory was reserved for `source.len()` elements, and the caller guarantees
        // that no view of it is in use.
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
    /// The same requirements as for [`view`](Self::view) apply, but the elements may be of any
    /// type.
    #[inline(always)]
    unsafe fn host_slice<T>(self, length: usize) -> &'s mut [T]
    where
        B: HostBackend,
        T: 's,
    {
        // SAFETY: the memory was reserved for `length` elements, so either the block holds them, or
        // the slice contains no bytes and the block is dangling. `HostBackend` guarantees the
        // alignment, and memory below the cursor stays allocated for `'s`. The caller guarantees
        // that the elements are valid and that the slice is exclusive.
        unsafe { slice::from_raw_parts_mut(self.start(), length) }
    }

    /// Writes `length` elements by calling `element(index)` for each of them.
    ///
    /// # Safety
    ///
    /// The same requirements as for [`zero`](Self::zero) apply. The cursor must have moved past the
    /// memory, because `element` is user code that might acquire arrays from the same scope.
    #[inline]
    unsafe fn write_with<T>(self, length: usize, mut element: impl FnMut(usize) -> T)
    where
        B: HostBackend,
    {
        let start = self.start::<T>();
        for index in 0..length {
            let value = element(index);
            // SAFETY: the memory was reserved for `length` elements of `T`, and `index` is less
            // than `length`.
            let place = unsafe { start.add(index) };
            // SAFETY: `HostBackend` guarantees that the address is aligned for `T`. The memory is
            // below the cursor, so it does not overlap arrays that `element` acquired, and no view
            // of the memory exists yet. A write of a zero-sized value is valid at any aligned
            // address.
            unsafe { place.write(value) };
        }
    }
}
