//! A custom backend: host memory that is aligned to pages. It passes the conformance tests that
//! every backend must pass.
//!
//! A backend allocates, frees, fills and views blocks. Everything else (scopes, growth, limits,
//! statistics, arrays, the dynamic pool) is generic over the backend. `local_pools!` adds
//! thread-local pools, and therefore `with_pool!`.
//!
//! ```text
//! cargo run --release --example 10_own_backend
//! ```
//!
//! In a separate crate, the conformance tests would be in a test, with `pool-conformance` in
//! `[dev-dependencies]`.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::error::Error;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use pool_conformance::programs::{run_random_dynamic, run_random_lexical};
use pool_conformance::{
    BackendProbe, Ledger, LedgeredBackend, LedgeredContext, SkipReason, run_all, slice_access,
};
use pool_core::{
    Advice, Device, Element, HostBackend, Pool, PoolBackend, Reuse, SlotRef, Slots, ViewError,
};
use pool_facade::{local, with_pool};

/// The number of random programs of each kind that are checked against a naive model.
const PROGRAMS: u32 = 50;

/// The size of a page, which is the alignment that device drivers and the kernel's direct I/O
/// require.
const PAGE: usize = align_of::<Page>();

/// A type with the alignment of a page.
#[repr(align(4096))]
struct Page;

/// Host memory in whole pages.
#[derive(Debug)]
struct Pages;

/// No pages are available for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NoPages {
    bytes: usize,
}

impl fmt::Display for NoPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the system cannot provide pages for {} bytes", self.bytes)
    }
}

impl Error for NoPages {}

/// Returns the layout of a block of `bytes` bytes.
fn layout(bytes: usize) -> Result<Layout, NoPages> {
    Layout::from_size_align(bytes, PAGE).map_err(|_| NoPages { bytes })
}

// SAFETY: a block is zeroed memory from the global allocator, aligned to a page, with no other
// owner. It is freed with the layout with which it was allocated. Any thread may own a block. Views
// are slices, which need no ordering.
unsafe impl PoolBackend for Pages {
    type Layout = Slots;
    type Context = ();
    type Block = NonNull<u8>;
    type View<'s, T: Element> = &'s mut [T];
    type ViewRef<'s, T: Element> = &'s [T];
    type Descriptor = ();
    type Error = NoPages;
    type ViewError = ViewError;
    const ALIGN: usize = PAGE;
    const DANGLING: NonNull<u8> = NonNull::<Page>::dangling().cast();

    fn device((): &()) -> Device {
        Device { kind: "pages", ordinal: None }
    }

    fn allocate((): &(), bytes: usize, _: Advice) -> Result<NonNull<u8>, NoPages> {
        // SAFETY: the pool never requests 0 bytes.
        let block = unsafe { alloc_zeroed(layout(bytes)?) };
        NonNull::new(block).ok_or(NoPages { bytes })
    }

    unsafe fn free((): &(), block: NonNull<u8>, bytes: usize) {
        let Ok(layout) = layout(bytes) else { return };
        // SAFETY: the block was allocated with this layout, and the caller gives it up.
        unsafe { dealloc(block.as_ptr(), layout) };
    }

    unsafe fn view<'s, T: Element>(at: NonNull<u8>, _: SlotRef<Self>, n: usize) -> &'s mut [T] {
        // SAFETY: the caller guarantees `n` valid elements, exclusively for `'s`.
        unsafe { from_raw_parts_mut(at.cast().as_ptr(), n) }
    }

    unsafe fn view_ref<'s, T: Element>(at: NonNull<u8>, _: SlotRef<Self>, n: usize) -> &'s [T] {
        // SAFETY: the same as in `view`, but shared.
        unsafe { from_raw_parts(at.cast().as_ptr(), n) }
    }

    unsafe fn reuse((): &(), _: NonNull<u8>, _: Reuse) -> Result<(), NoPages> {
        Ok(())
    }

    unsafe fn set_bytes((): &(), at: NonNull<u8>, value: u8, n: usize) -> Result<(), NoPages> {
        // SAFETY: the block holds `n` bytes, and nothing views it (caller).
        unsafe { at.write_bytes(value, n) };
        Ok(())
    }

    unsafe fn fill<T: Element>(
        (): &(),
        at: NonNull<u8>,
        value: T,
        n: usize,
    ) -> Result<(), NoPages> {
        // SAFETY: the block holds `n` elements, and nothing views it (caller).
        let elements = unsafe { from_raw_parts_mut(at.cast::<MaybeUninit<T>>().as_ptr(), n) };
        elements.fill(MaybeUninit::new(value));
        Ok(())
    }

    unsafe fn copy_from_host<T: Element>(
        (): &(),
        at: NonNull<u8>,
        from: &[T],
    ) -> Result<(), NoPages> {
        // SAFETY: the block holds `from.len()` elements, and nothing views it (caller).
        unsafe { at.cast().copy_from_nonoverlapping(NonNull::from(from).cast::<T>(), from.len()) };
        Ok(())
    }
}

// SAFETY: a block is the address of its bytes, which are all initialised. The dangling block is
// aligned.
unsafe impl HostBackend for Pages {
    fn host_pointer(block: NonNull<u8>) -> *mut u8 {
        block.as_ptr()
    }
}

pool_facade::local_pools! {
    Pages, context: || Ok(())
}

/// Gives the tests access to the memory of [`Pages`].
#[derive(Clone, Debug, Default)]
struct PagesProbe {
    ledger: Ledger,
}

impl BackendProbe for PagesProbe {
    type Backend = LedgeredBackend<Pages>;

    fn context(&self) -> LedgeredContext<Pages> {
        // SAFETY: the views of `Pages` are slices.
        unsafe { LedgeredContext::new((), self.ledger.clone()) }
    }

    slice_access!();

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }
}

fn main() {
    let mut pool = Pool::<Pages>::new(());
    for pass in 0..3_u8 {
        let scope = pool.scope();
        let buffer = scope.acquire_filled(10_000, pass);
        println!(
            "pass {pass}: {} bytes at page {:#x}",
            buffer.len(),
            buffer.as_ptr().addr() / PAGE
        );
        assert_eq!(buffer.as_ptr().addr() % PAGE, 0, "a block begins at a page");
    }
    println!("{}", pool.stats());

    let sum = with_pool!(Pages, |scope| { scope.acquire_filled(1000, 2_u64).iter().sum::<u64>() });
    println!("a pool of this thread: {sum}, on {}", local::<Pages>().stats().device);

    run_all(&PagesProbe::default());
    run_random_lexical(PROGRAMS, PagesProbe::default);
    run_random_dynamic(PROGRAMS, PagesProbe::default);
    println!("the backend passes all checks");
}
