//! What a kind of memory must provide so that pools can be made of it: the trait [`PoolBackend`],
//! its contract, and the small types that its methods speak in.

use core::error::Error;

use crate::device::Device;
use crate::element::Element;
use crate::error::ShapeError;
use crate::slot_ref::SlotRef;
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
/// - [`ALIGN`](Self::ALIGN) is a power of two, and at least 8.
/// - [`allocate`](Self::allocate) is given `bytes > 0`, a multiple of `ALIGN`. What it returns is
///   exclusive to the caller, aligned to `ALIGN`, valid for `bytes` bytes until it is freed, never
///   moves, and is initialised wherever host code can see it. It may panic; then it has allocated
///   nothing.
/// - [`free`](Self::free) takes exactly the `bytes` that the block was allocated with, by the route
///   it was allocated with whatever the configuration is by then, and never unwinds. Nor does the `Drop`
///   of a [`Descriptor`](Self::Descriptor) or of the [`Context`](Self::Context).
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
///   [`PoolError::Reentered`](crate::PoolError::Reentered), and
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

    /// Why memory could not be had, or an operation could not be enqueued.
    type Error: Error + 'static;

    /// Why what is in a view could not be read or written: [`ViewError`](crate::ViewError) where views are slices.
    type ViewError: Error + From<ShapeError> + 'static;

    /// The alignment of every block, in bytes; the largest alignment an element may have. Blocks that
    /// are no addresses have identities that are as aligned.
    const ALIGN: usize;

    /// The block of a slot that has none: what views of no bytes are made of. It is never freed nor
    /// written. A slice needs an address that is not null and as aligned as a block's
    /// (`NonNull::dangling` of a type with that alignment), also where there is no element in it; an opaque
    /// block is whatever names nothing.
    const DANGLING: Self::Block;

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
    /// As for [`view`](Self::view), but other shared views may be in use.
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
    /// The backend's own error where the order cannot be established. The block is then not handed out (the
    /// acquire fails with this error), or is leaked instead of being freed.
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
    /// The backend's own error where the operation cannot be enqueued.
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
    /// The backend's own error where the operation cannot be enqueued.
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
    /// The backend's own error where the operation cannot be enqueued.
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
