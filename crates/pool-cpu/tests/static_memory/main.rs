//! A loop on a fixed buffer: the global allocator is a bump over a static, as on a device without a
//! heap. The pool takes its tables and blocks from it during warm-up, and nothing afterwards. If
//! the buffer is full, the pool returns its typed error and stays usable.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicUsize, Ordering};

use pool_core::{Pool, PoolError};
use pool_cpu::Cpu;

/// Bytes of the buffer.
const BYTES: usize = 64 << 10;

/// The buffer, and the number of its used bytes. Freed bytes are not used again.
#[repr(C)]
struct StaticMemory {
    bytes: UnsafeCell<[u8; BYTES]>,
    used: AtomicUsize,
}

// SAFETY: parts of the buffer are handed out once, by an atomic counter.
unsafe impl Sync for StaticMemory {}

thread_local! {
    /// `true` if this thread takes its memory from the buffer; the test harness does not.
    static ON_THE_BUFFER: Cell<bool> = const { Cell::new(false) };
}

#[global_allocator]
static MEMORY: StaticMemory =
    StaticMemory { bytes: UnsafeCell::new([0; BYTES]), used: AtomicUsize::new(0) };

impl StaticMemory {
    fn contains(&self, pointer: *mut u8) -> bool {
        let start = self.bytes.get().addr();
        (start..start + BYTES).contains(&pointer.addr())
    }

    fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

// SAFETY: memory is a part of the buffer that was never handed out before, aligned as asked, or the system's.
unsafe impl GlobalAlloc for StaticMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !ON_THE_BUFFER.get() {
            // SAFETY: the same contract, which the caller upholds.
            return unsafe { System.alloc(layout) };
        }
        let base = self.bytes.get().addr();
        // The end of a part that fits after the used bytes.
        let end = |used: usize| {
            let start = base.checked_add(used)?.checked_next_multiple_of(layout.align())? - base;
            start.checked_add(layout.size()).filter(|&end| end <= BYTES)
        };
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, end) {
            Ok(used) => {
                let start = (base + used).next_multiple_of(layout.align()) - base;
                // SAFETY: within the buffer, as `end` found.
                unsafe { self.bytes.get().cast::<u8>().add(start) }
            }
            Err(_) => std::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if !self.contains(pointer) {
            // SAFETY: the system's, and the caller's promise.
            unsafe { System.dealloc(pointer, layout) };
        }
    }
}

/// Runs code whose memory comes from the buffer.
fn on_the_buffer<R>(code: impl FnOnce() -> R) -> R {
    ON_THE_BUFFER.set(true);
    let value = code();
    ON_THE_BUFFER.set(false);
    value
}

/// One step of a filter: two temporaries.
fn step(pool: &mut Pool<Cpu>, samples: &[f32]) -> f32 {
    let scope = pool.scope();
    let squares = scope.acquire_with(samples.len(), |i| samples[i] * samples[i]);
    let smooth = scope.acquire_zeroed::<f32, _>(samples.len() - 1);
    for (smooth, pair) in smooth.iter_mut().zip(squares.windows(2)) {
        *smooth = 0.5 * (pair[0] + pair[1]);
    }
    smooth.iter().sum()
}

#[test]
fn a_loop_runs_on_a_static_buffer_and_says_where_it_is_full() {
    let samples = [2.0; 500];
    let steps = if cfg!(miri) { 2 } else { 1_000 };
    let mut pool = on_the_buffer(|| Pool::<Cpu>::new(()));
    let mut step = || on_the_buffer(|| step(&mut pool, &samples));
    let first = step();
    let used = MEMORY.used();
    // Every sum is checked outside: a panic takes memory.
    assert!((0..steps).all(|_| (step() - first).abs() < 1e-3));
    assert_eq!(MEMORY.used(), used, "nothing is allocated after the first step");
    assert!(used < BYTES / 2, "{used}");

    let scope = pool.scope();
    let kept = on_the_buffer(|| scope.acquire_filled(100, 7_u8));
    let error = on_the_buffer(|| scope.try_acquire::<u8, _>(BYTES)).unwrap_err();
    let PoolError::OutOfMemory { requested, source, .. } = error else { panic!("{error}") };
    assert!(requested >= BYTES && source.bytes >= BYTES);
    let after = on_the_buffer(|| scope.acquire_zeroed::<u8, _>(1000));
    assert_eq!((kept[99], after[999]), (7, 0));
}
