//! What a kind of memory must provide so that pools can be made of it: the trait [`PoolBackend`],
//! its contract, and the small types that its methods speak in. The operations of a memory layout stand here
//! too, because a backend names its layout and a layout is generic over the backend.

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
/// The methods are the only places where a pool touches memory: everything else (slots, cursors,
/// scopes, growth, limits) is generic over `B: PoolBackend` and is compiled for each backend.
///
/// `pool-conformance` asks a backend whether it keeps the contract below: by a queue's order, by
/// allocations that fail, by lengths up to a mebibyte, and by a ledger of its blocks. It has the
/// smallest backend there is, and one over a queue of commands, to begin from.
///
/// # Safety
///
/// An implementation promises all of the following; the pool's own soundness rests on it.
///
/// ## Blocks
///
/// - [`ALIGN`](Self::ALIGN) is a power of two, and at least 8. So is [`MAX_ALIGN`](Self::MAX_ALIGN), which is no
///   smaller.
/// - [`allocate`](Self::allocate) is given `bytes > 0`, a multiple of `ALIGN`. What it returns is
///   exclusive to the caller, aligned to `ALIGN`, valid for `bytes` bytes until it is freed, never
///   moves, and is initialised wherever host code can see it. It may panic; then it has allocated
///   nothing.
/// - [`free`](Self::free) takes exactly the `bytes` that the block was allocated with, by the route
///   it was allocated with whatever the configuration is by then, and never unwinds. Nor does the `Drop`
///   of a [`Descriptor`](Self::Descriptor) or of the [`Context`](Self::Context).
/// - [`align_block`](Self::align_block) returns a part of the block, with the block's rights, that begins less than
///   `align` bytes after it.
/// - A [`Block`](Self::Block) is plain data that any thread owning the `Context` may use, so that
///   `Context: Send` implies that blocks may move to another thread with it. A backend whose blocks
///   are bound to a thread has a `Context` that is not `Send`.
/// - [`view`](Self::view) and [`view_ref`](Self::view_ref) touch only the first
///   `length * size_of::<T>()` bytes of the block, are as long as they were asked to be, accept
///   [`DANGLING`](Self::DANGLING) with zero bytes, and their right to the memory ends with `'s`.
///   Nothing may rely on a view being dropped.
///
/// ## Order
///
/// A pool belongs to one queue of work: the calls of a thread, a stream, an ordered encoder. Work that
/// views enqueue may run later; the pool hands a block out again as soon as its scope is left, while
/// such work is still to run. So for each block, on the pool's queue:
///
/// - What [`set_bytes`](Self::set_bytes), [`fill`](Self::fill) and
///   [`copy_from_host`](Self::copy_from_host) put into it takes effect *after* all work that former
///   views of it enqueued, reads included, and *before* any that later views enqueue. To run it at once,
///   or by another way than the queue (a mapped write, a second stream, a write that the driver puts
///   before the next submission), breaks this where the queue is not empty.
/// - [`free`](Self::free) takes effect after everything that was enqueued on the block before: its memory
///   is nobody else's until then.
/// - What a queue cannot see, because a view was used elsewhere, is put in order by
///   [`reuse`](Self::reuse), for slots that the view [armed](SlotRef::arm).
///
/// Host memory that is used by slices alone has this order by itself.
///
/// ## Foreign code
///
/// - [`free`](Self::free) and [`settle`](Self::settle) may wait, and may not unwind. A library below that
///   panics, as one may whose default is to panic on errors, is caught.
/// - No method keeps the reference to the context beyond its call; views reach it through their
///   [`SlotRef`] until `'s` ends. What the context counts (`Rc`, `Arc`) may be cloned. No method re-enters
///   the pool that calls it. Methods may run code
///   that is not the backend's own (an allocator's hooks, a driver's callbacks, a subscriber of logs), and
///   that code may reach the same pool: an acquire is refused there with
///   [`PoolError::Reentered`], and
///   `trim` and its kin do nothing. A backend must not hold a lock or a borrow of its own meanwhile that
///   its views need, too.
///
/// # Opaque memory
///
/// A block need not be an address. Where the system's handle is counted, or owns, it stays in a table of
/// the [`Context`](Self::Context), and the `Block`, which is `Copy`, says which one: an index, an
/// identity, a pointer to the table's record. `allocate` enters the handle, `free` takes it out, in the
/// order above, and whatever is dropped with the context is what pools left there. A pointer to a record
/// must be good for as long as views may use it: records that live as long as the context make a mistake
/// of the backend's a wrong answer, and not a use after free.
///
/// - Views find the context through their [`SlotRef`], or the record.
/// - Blocks of such a backend still have *identities*, with which tests and diagnostics tell the bytes of
///   one from another's: numbers that count bytes as addresses do, so that two blocks never overlap, and
///   each begins at a multiple of `ALIGN`. That is all that `ALIGN` says of them; where the system
///   demands an alignment of offsets within a block, `ALIGN` is no promise about it.
/// - A handle that a view gives out may outlive it, and then shares the block with its next owner. Give
///   out what ends with `'s` instead.
pub unsafe trait PoolBackend: Sized + 'static {
    /// How pools of this backend lay out their memory: [`Slots`](crate::Slots), unless the backend is
    /// [`Stacked`](crate::Stacked).
    type Layout: Layout<Self>;

    /// What allocation needs to know: `()` on the host, a device and a stream on a GPU.
    type Context;

    /// One piece of memory: a raw address, or an identity, and what `free` and `view` need. A block is never
    /// an owner.
    type Block: Copy;

    /// What acquire returns: the exclusive right to `length` elements of a block.
    type View<'s, T: Element>: PoolViewMut<Element = T, Error = Self::ViewError>
        + for<'a> LendView<'a, Same = Self::View<'a, T>, Shared = Self::ViewRef<'a, T>>;

    /// The shared counterpart of [`View`](Self::View).
    type ViewRef<'s, T: Element>: PoolView<Element = T, Error = Self::ViewError>
        + for<'a> LendView<'a, Same = Self::ViewRef<'a, T>, Shared = Self::ViewRef<'a, T>>
        + Copy;

    /// What a backend keeps beside a cached dynamic shape: a ready header, or the device copy of
    /// dims and strides. A descriptor is dropped when its shape is evicted or the slot's block is replaced.
    type Descriptor: Default + 'static;

    /// Why memory could not be had, or an operation could not be enqueued. It may be sent and shared, so that `?` turns a
    /// [`PoolError`] into `Box<dyn Error + Send + Sync>` in code that is generic over the backend.
    type Error: Error + Send + Sync + 'static;

    /// Why what is in a view could not be read or written: [`ViewError`](crate::ViewError) where views are slices.
    type ViewError: Error + From<ShapeError> + Send + Sync + 'static;

    /// The alignment of every block, in bytes. Blocks that are no addresses have identities that are as aligned.
    const ALIGN: usize;

    /// The largest alignment that an element may have, in bytes. A larger one is a compile error.
    ///
    /// A backend whose value is above [`ALIGN`](Self::ALIGN) implements [`align_block`](Self::align_block). The pool
    /// then acquires room for one element more than it hands out, and hands out the aligned part.
    const MAX_ALIGN: usize = Self::ALIGN;

    /// The block of a slot that has none: what views of no bytes are made of. It is never freed nor
    /// written. A slice needs an address that is not null and as aligned as a block's
    /// (`NonNull::dangling` of a type with that alignment), also where there is no element in it; an opaque
    /// block is whatever names nothing.
    const DANGLING: Self::Block;

    /// The part of a block that begins at its first multiple of `align`, a power of two that is above
    /// [`ALIGN`](Self::ALIGN) and at most [`MAX_ALIGN`](Self::MAX_ALIGN). Every method but [`free`](Self::free)
    /// accepts the part. Of a block that is too short, or of [`DANGLING`](Self::DANGLING), it is an aligned block
    /// without bytes.
    #[must_use]
    fn align_block(block: Self::Block, align: usize) -> Self::Block {
        let _ = align;
        block
    }

    /// The device that the context's memory is on.
    fn device(context: &Self::Context) -> Device;

    /// Allocates a block of `bytes` bytes.
    ///
    /// # Errors
    ///
    /// The backend's own error when there is no such block to be had. The pool then frees what is
    /// idle and asks once more. A refusal is told, never made up for by less memory or other memory
    /// than was asked for.
    fn allocate(
        context: &Self::Context,
        bytes: usize,
        advice: Advice,
    ) -> Result<Self::Block, Self::Error>;

    /// Gives a block back, after all work that was enqueued on it. It may wait for that work, or enqueue
    /// itself behind it; in neither case does it unwind, because nobody could take the error.
    ///
    /// # Safety
    ///
    /// `block` came from [`allocate`](Self::allocate) of the same context with the same `bytes`, was
    /// not freed before, and no view of it is used any more.
    unsafe fn free(context: &Self::Context, block: Self::Block, bytes: usize);

    /// Called where idle blocks were just freed and their memory is wanted back: at the end of `trim`,
    /// `compact` and `clear`, and before an allocation is tried for the last time. Where
    /// [`free`](Self::free) only begins to give memory back, this is where to wait for it: when this
    /// returns, it is back. In steady state it is never called. It does not unwind.
    fn settle(context: &Self::Context) {
        let _ = context;
    }

    /// Makes the exclusive view of the first `length` elements of `block`; of [`DANGLING`](Self::DANGLING)
    /// where they have no bytes.
    ///
    /// # Safety
    ///
    /// For all of `'s` the block stays allocated and no other view of it is used; it holds at least
    /// `length` elements of `T`, which are initialised and valid as `T`; `slot` is the slot that
    /// holds the block.
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

    /// Called for a slot that a view [armed](SlotRef::arm), before its block is handed out again or
    /// freed: here a backend orders its queue after work that the pool does not see. What is filled,
    /// enqueued or freed afterwards comes after that work.
    ///
    /// # Errors
    ///
    /// The backend's own error if the order cannot be established. The block is then not handed out
    /// (the acquire fails with this error), or is leaked instead of being freed.
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

    /// Copies `source` to the start of `block`, in the order of the queue. The copy has left `source` when
    /// this returns: what is written there afterwards is not what arrives.
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
/// Code of the host writes there without asking a queue: a backend whose fills and copies run later is none, even
/// where its memory is the host's.
///
/// Scopes of such a backend hand out slices of any `T: Copy`, made through this pointer and not by
/// [`view`](PoolBackend::view): elements with padding, and memory without a value.
///
/// # Safety
///
/// - [`host_pointer`](Self::host_pointer) of an allocated block is valid for reads and writes of the
///   whole block until the block is freed, and is aligned to [`ALIGN`](PoolBackend::ALIGN); that of
///   [`DANGLING`](PoolBackend::DANGLING) is non-null and aligned.
/// - A view that is a slice is of the memory at this pointer, and of no other mapping of it: by the address of a
///   slice the pool finds the block that the slice lies in.
/// - What [`set_bytes`](PoolBackend::set_bytes), [`fill`](PoolBackend::fill) and
///   [`copy_from_host`](PoolBackend::copy_from_host) write is there, for reads through this pointer, when they
///   return.
/// - The pool may leave bytes of a block uninitialised. So those methods write without reading before, and
///   without a reference to elements that they have not written; and a backend that keeps freed blocks, to hand
///   them out again, initialises them first.
pub unsafe trait HostBackend: PoolBackend {
    /// The address of a block.
    fn host_pointer(block: Self::Block) -> *mut u8;
}

/// Why [`PoolBackend::reuse`] is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reuse {
    /// The block is about to be handed out again.
    HandOut,
    /// The block is about to be freed.
    Free,
}

/// Wishes of the pool's configuration that an allocation may follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// Ask the system for huge pages where the block is large enough.
    pub huge_pages: bool,
}

/// A block of host memory that is in no slot.
#[derive(Clone, Copy, Debug)]
pub struct LooseBlock<K> {
    pub(crate) block: K,
    /// The bytes that the block was allocated with; 0 for no block.
    pub(crate) bytes: usize,
    /// Bytes from the start on that may be uninitialised.
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
    /// [`PoolStats`] counts slots only then: `active_slots` and `high_water_slots` are 0 in the scopes of a layout without
    /// slots. Tests that are generic over the layout ask for this before they count slots or blocks.
    const HAS_SLOTS: bool;

    /// What a pool stores.
    #[doc(hidden)]
    type Root: PoolRoot<B, State = Self::State, Cursor = Self::Cursor>;

    /// What a pool owns beside the root.
    #[doc(hidden)]
    type State: PoolState<B, Cursor = Self::Cursor>;

    /// What a scope stores.
    #[doc(hidden)]
    type Cursor: ScopeCursor<B, State = Self::State>;
}

/// What a pool of the backend `B` stores.
pub(crate) type Root<B> = <<B as PoolBackend>::Layout as Layout<B>>::Root;

/// What a pool of the backend `B` owns beside its root.
pub(crate) type State<B> = <<B as PoolBackend>::Layout as Layout<B>>::State;

/// What a scope of the backend `B` stores.
pub(crate) type Cursor<B> = <<B as PoolBackend>::Layout as Layout<B>>::Cursor;

/// Where a cursor of the backend `B` stands, by value.
pub(crate) type Place<'s, B> = <Cursor<B> as ScopeCursor<B>>::Place<'s>;

/// Memory of the backend `B` that was reserved for one array.
pub(crate) type Memory<'s, B> = <Cursor<B> as ScopeCursor<B>>::Memory<'s>;

/// Reserved memory and its cached shape: few words, which a cold function returns in registers.
pub(crate) type MemoryAndShape<'s, M, B> = (M, &'s mut Way<<B as PoolBackend>::Descriptor>);

/// The first use of the elements of memory that is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstUse {
    /// They may be read: what a former use left behind is handed out, and has to be initialised.
    Read,
    /// All of them are written before they are read, or handed out as memory that need not be initialised.
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

    /// Frees the pool's memory; the context goes last.
    ///
    /// # Safety
    ///
    /// The pool is live, no view or cursor of it is in use, and no copy of this root is used afterwards.
    unsafe fn destroy(self);

    /// The pool's state.
    ///
    /// # Safety
    ///
    /// The pool is live for `'s`.
    unsafe fn state<'s>(self) -> &'s Self::State;

    /// A cursor at the beginning of the pool's memory.
    ///
    /// # Safety
    ///
    /// The pool outlives the cursor, no view of the pool is in use, and no other cursor of it is used while this one is.
    unsafe fn cursor(self) -> Self::Cursor;

    /// `true` if the pools that a thread has in use form a chain: see [`enter`](Self::enter).
    const NESTS: bool = false;

    /// As [`cursor`](Self::cursor), for a pool that may have entered.
    ///
    /// # Safety
    ///
    /// Same as for [`cursor`](Self::cursor).
    #[inline(always)]
    unsafe fn nested_cursor(self) -> Self::Cursor {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { self.cursor() }
    }

    /// The pool comes into use inside the innermost one of its thread, and becomes the innermost one. Called where
    /// [`NESTS`](Self::NESTS).
    ///
    /// # Safety
    ///
    /// `innermost` is null or was set by these functions, for pools that are live until they leave. The pool is live, no
    /// view or cursor of it is in use, and it has not entered.
    unsafe fn enter(self, innermost: &Cell<*mut ()>) {
        _ = innermost;
    }

    /// The pool goes out of use. Returns `false` if it is the innermost one of another chain: then
    /// it has not left, and must stay live for good.
    ///
    /// # Safety
    ///
    /// The pool has entered, is live, and no view or cursor of it is in use. The same holds for all that have entered, but
    /// for the views and cursors.
    unsafe fn leave(self, innermost: &Cell<*mut ()>) -> bool {
        _ = innermost;
        true
    }

    /// The next pool of the free list that this one is in.
    ///
    /// # Safety
    ///
    /// The pool is live.
    unsafe fn next_idle(self) -> *mut ();

    /// Sets what [`next_idle`](Self::next_idle) returns.
    ///
    /// # Safety
    ///
    /// The pool is live.
    unsafe fn set_next_idle(self, next: *mut ());

    /// The root as an address without a type, which is not null and is aligned to 8 at least.
    fn into_raw(self) -> *mut ();

    /// The root that [`into_raw`](Self::into_raw) turned into an address.
    ///
    /// # Safety
    ///
    /// `address` came from [`into_raw`](Self::into_raw) of a root of the same backend.
    unsafe fn from_raw(address: *mut ()) -> Self;
}

/// What a pool owns beside its memory: the context, the configuration, the counters, the named arrays.
pub trait PoolState<B: PoolBackend> {
    /// See [`Layout::Cursor`].
    type Cursor: ScopeCursor<B>;

    /// The backend's context.
    fn context(&self) -> &B::Context;

    /// The configuration.
    fn config(&self) -> PoolConfig;

    /// The numbers of the pool, as seen from where `active` arrays are handed out.
    fn stats(&self, active: usize) -> PoolStats;

    /// The numbers of the pool that any thread may read while the pool lives, put into `none`. Those of the
    /// configuration, of the device and of live bytes are not among them.
    fn shared_numbers(&self, none: PoolStats) -> PoolStats;

    /// Forgets the peaks, as `clear` does.
    fn forget_peaks(&self);

    /// Takes a new configuration.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for a value out of its range; nothing is then changed.
    ///
    /// # Safety
    ///
    /// The pool is borrowed exclusively, so that no view of it is in use.
    unsafe fn configure(&self, config: PoolConfig) -> Result<(), ConfigError>;

    /// The identity of the pool, unique in the process.
    fn id(&self) -> u64;

    /// A serial that no handle of this pool had before.
    fn next_serial(&self) -> u64;

    /// The named array `number`.
    ///
    /// # Safety
    ///
    /// There is an array of that number.
    unsafe fn named(
        &self,
        number: usize,
    ) -> NamedArray<<Self::Cursor as ScopeCursor<B>>::Memory<'_>>;

    /// A cursor where `number` named arrays are handed out.
    ///
    /// # Safety
    ///
    /// Same as for [`PoolRoot::cursor`], but the views of the first `number` arrays may be in use;
    /// at least `number` arrays are handed out.
    unsafe fn cursor(&self, number: usize) -> Self::Cursor;
}

/// The position of a scope in its pool's memory. Reserving looks at the memory there, stepping moves past it. It moves
/// back in one case alone: over memory whose filling failed, where nothing was acquired after it.
pub trait ScopeCursor<B: PoolBackend>: fmt::Debug + Sized {
    /// See [`Layout::State`].
    type State;

    /// Where the cursor stands, by value: larger functions get it instead of the cursor, which would have to be in
    /// memory for them.
    type Place<'s>: CursorPlace<'s, B, Memory = Self::Memory<'s>>;

    /// Memory that was reserved for one array.
    type Memory<'s>: ArrayMemory<'s, B>;

    /// A cursor that starts where this one stands.
    ///
    /// # Safety
    ///
    /// Until the copy and everything that was reserved through it is out of use, this cursor is not used.
    unsafe fn copy(&self) -> Self;

    /// Reserves memory for `length` elements of `T`, initialised, without taking it: the hot path.
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

    /// As [`reserve`](Self::reserve), with an error instead of a panic, and for either first use of the elements.
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

    /// The place at which the cursor stands.
    ///
    /// # Safety
    ///
    /// The pool lives for `'s`; until the place is out of use, the cursor only steps past the memory that was got from
    /// the place.
    unsafe fn place<'s>(&self) -> Self::Place<'s>;

    /// Takes the memory that was reserved: steps past it.
    ///
    /// # Safety
    ///
    /// `reserved` was the last thing reserved through this cursor.
    unsafe fn step(&self, reserved: Self::Memory<'_>);

    /// Gives back memory that was taken; where the cursor has gone on since, because what ran after the
    /// step has acquired, the memory stays taken.
    ///
    /// # Safety
    ///
    /// This cursor has stepped past `taken`, and no view of it is in use.
    unsafe fn step_back(&self, taken: Self::Memory<'_>);

    /// Takes the memory that was reserved, then has it filled; gives the memory back where filling fails.
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

    /// Enlarges the memory of a vector, and moves its elements where its memory moves.
    ///
    /// # Errors
    ///
    /// Same as [`Scope::try_acquire`](crate::Scope::try_acquire); the vector's memory is then as it
    /// was.
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

    /// Gives back what a vector's memory has beyond its elements, where the layout can and nothing was acquired after
    /// it.
    ///
    /// # Safety
    ///
    /// This cursor has stepped past `vector.memory`, and the vector has its only view, which ends with this call; the
    /// first `vector.length` elements may be viewed afterwards. No other cursor is used while this one is.
    #[inline(always)]
    unsafe fn shrink<T>(&self, vector: VectorMemory<Self::Memory<'_>>) {
        let _ = vector;
    }

    /// Takes the `length` elements at `start` out of the memory that is not handed out, and steps
    /// past them; returns where they are then, or `None` if they are not in such memory.
    ///
    /// # Safety
    ///
    /// The elements have bytes; all of them are initialised where `plain`. No view of memory at or above the cursor is
    /// in use but the caller's of these elements, which ends with this call.
    unsafe fn keep<T: Copy>(&self, start: *mut T, length: usize, plain: bool) -> Option<*mut T>
    where
        B: HostBackend;

    /// The bytes of the block of memory that is not handed out in which the address lies; `None` if
    /// there is none, or the layout's memory cannot leave the pool.
    fn idle_block_bytes(&self, address: NonNull<u8>) -> Option<usize>
    where
        B: HostBackend,
    {
        _ = address;
        None
    }

    /// Takes the block that [`idle_block_bytes`](Self::idle_block_bytes) found out of the pool, and puts `spare` in its
    /// place. Where it returns `None`, `spare` is dropped with it: only if there is no such block.
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

    /// Returns how many arrays are handed out before the cursor, as far as the layout counts them.
    fn active(&self) -> usize;

    /// The pool's state.
    fn state(&self) -> &Self::State;

    /// Frees the memory that is not handed out.
    fn trim(&self) -> ReleaseReport;

    /// Swaps oversized memory that is not handed out for smaller one.
    fn compact(&self, compaction: &Compaction) -> ReleaseReport;

    /// Starts to note the lengths of the next acquires.
    fn sample_lengths(&self);

    /// Notes the caller of a method without `try_`, for the report of a debug build. In release builds it does nothing.
    #[inline(always)]
    #[track_caller]
    fn note_caller(&self) {}
}

/// An array that a handle names.
#[derive(Clone, Copy, Debug)]
pub struct NamedArray<M> {
    pub(crate) memory: M,
    /// The serial of the handle; 0 where the array has none.
    pub(crate) serial: u64,
    /// The elements of the array.
    pub(crate) length: usize,
}

/// The memory of a vector.
#[derive(Clone, Copy, Debug)]
pub struct VectorMemory<M> {
    pub(crate) memory: M,
    /// The elements that fit the memory as the vector uses it.
    pub(crate) capacity: usize,
    /// The elements that are initialised.
    pub(crate) length: usize,
    /// `true` if every byte of an element is initialised.
    pub(crate) plain: bool,
}

/// What [`ScopeCursor::enlarge`] returns.
pub(crate) type EnlargeResult<'s, B, C> =
    Result<VectorMemory<<C as ScopeCursor<B>>::Memory<'s>>, PoolError<<B as PoolBackend>::Error>>;

/// Where a cursor stands, by value. It serves acquires of arrays, whose lengths decide what happens before memory is
/// reserved.
pub trait CursorPlace<'s, B: PoolBackend>: Copy {
    /// See [`ScopeCursor::Memory`].
    type Memory;

    /// The memory for `length` elements, if they fit without the cold function.
    fn fitting<T>(self, length: usize) -> Option<Self::Memory>;

    /// The memory for `length` elements, by the cold function where it needs to be.
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

    /// The memory for an array of dynamic rank and its cached shape, if the shape is there and the elements fit
    /// without the cold function.
    ///
    /// # Safety
    ///
    /// The cursor stands at this place, and nothing borrowed from a shape set at or above it is in use.
    unsafe fn fitting_shape<T: Element>(
        self,
        dims: &[usize],
    ) -> Option<MemoryAndShape<'s, Self::Memory, B>>;

    /// The memory for an array of dynamic rank and its shape, where [`fitting_shape`](Self::fitting_shape) returned
    /// `None`: it refuses lengths, provides memory, and stores a new shape.
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

    /// As [`prepare_shape`](Self::prepare_shape), for elements that may be read.
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
    /// The block that begins with the array, whose elements are of type `T`.
    fn block_for<T>(self) -> B::Block;

    /// What a view of the array keeps of the pool.
    fn reference(self) -> SlotRef<B>;

    /// The backend's context.
    fn context(self) -> &'s B::Context;

    /// Names the array, whose handle has this serial; returns its number.
    ///
    /// # Errors
    ///
    /// [`PoolError::Bookkeeping`] if the host has no memory for another name.
    ///
    /// # Safety
    ///
    /// The memory is reserved for `length` elements of the handle's type, and was the last that its cursor stepped past;
    /// `serial` is no other handle's.
    unsafe fn name(self, serial: u64, length: usize) -> Result<usize, PoolError<B::Error>>;

    /// Notes that the array's first `length` elements of `T` may become uninitialised from now on.
    ///
    /// # Safety
    ///
    /// The memory is reserved for at least `length` elements of `T`. The cursor has stepped past it, or nothing else
    /// runs before the memory is what the caller makes of it; its scope is open.
    unsafe fn mark<T>(self, length: usize)
    where
        B: HostBackend;

    /// The exclusive view of the first `length` elements.
    ///
    /// # Safety
    ///
    /// The memory was reserved for `length` elements of `T` or more bytes, the cursor has stepped past
    /// it, no other view of it is in use while this one is, and the elements are valid as `T`.
    #[inline(always)]
    unsafe fn view<T: Element>(self, length: usize) -> B::View<'s, T> {
        // SAFETY: reserved for `length` elements, so the block holds them, or is dangling with zero bytes; what is below
        // the cursor stays allocated for `'s`; the caller answers for validity and for exclusiveness.
        unsafe { B::view(self.block_for::<T>(), self.reference(), length) }
    }

    /// A shared view of the first `length` elements.
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

    /// The address of the first element.
    #[inline(always)]
    fn start<T>(self) -> *mut T
    where
        B: HostBackend,
    {
        B::host_pointer(self.block_for::<T>()).cast::<T>()
    }

    /// The first `length` elements, to be used for as long as the scope is open.
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
        // SAFETY: reserved for `length` elements: the block holds them, or is dangling with zero bytes, and is aligned for
        // them (`HostBackend`); what is below the cursor stays allocated for `'s`; the caller answers for validity and for
        // exclusiveness.
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
            // SAFETY: the address is aligned for `T` (`HostBackend`); the memory is below the cursor,
            // so that everything that `element` acquired is elsewhere, and has no view yet. A write of no
            // size is valid at any aligned address.
            unsafe { place.write(value) };
        }
    }
}
