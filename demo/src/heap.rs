//! A global allocator that counts a thread's requests while it is watched.
//!
//! Outside of [`watch`] it adds one thread-local read to an allocation, so the timed batches, which
//! are not watched, are hardly slower.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// `None` while this thread is not watched. Constant and without destructor: reading it never
    /// allocates, which an allocator must not do.
    static USAGE: Cell<Option<Usage>> = const { Cell::new(None) };
}

/// The heap activity while a thread was watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Blocks requested, including grown ones.
    pub(crate) allocations: u64,
    /// Bytes of those blocks; for a grown one, its whole new size.
    pub(crate) requested: u64,
    /// Bytes held now beyond those at the start; negative if older ones were freed.
    pub(crate) held: i64,
    /// The maximum of `held`.
    pub(crate) peak: i64,
}

impl Usage {
    /// Returns the usage with one more block of `size` bytes, `bytes` of them new.
    fn allocated(self, size: usize, bytes: i64) -> Self {
        let held = self.held + bytes;
        Self {
            allocations: self.allocations + 1,
            requested: self.requested + size as u64,
            held,
            peak: self.peak.max(held),
        }
    }

    fn freed(self, size: usize) -> Self {
        Self { held: self.held - bytes(size), ..self }
    }
}

/// Counts this thread's heap activity while `work` runs.
pub(crate) fn watch(work: impl FnOnce()) -> Usage {
    USAGE.set(Some(Usage::default()));
    work();
    USAGE.take().unwrap_or_default()
}

struct Counting;

// SAFETY: every call goes to the system's allocator with its arguments and returns its result. The
// counting before it touches only a constant thread-local: it neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(|usage| usage.allocated(layout.size(), bytes(layout.size())));
        // SAFETY: the same contract about `layout`, which the caller upholds.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(|usage| usage.allocated(layout.size(), bytes(layout.size())));
        // SAFETY: the same contract about `layout`, which the caller upholds.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(|usage| usage.freed(layout.size()));
        // SAFETY: the block came from `System` with this layout, as the caller guarantees for this
        // type.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note(|usage| usage.allocated(new_size, bytes(new_size) - bytes(layout.size())));
        // SAFETY: as in `dealloc`, and the caller guarantees that `new_size` is a valid size.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// Converts a size passed to an allocator, which is at most `isize::MAX`.
fn bytes(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

fn note(change: impl FnOnce(Usage) -> Usage) {
    // An error means that the thread is ending, when it is not watched.
    let _ = USAGE.try_with(|usage| usage.set(usage.get().map(change)));
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::{Usage, watch};

    #[test]
    fn one_vector_is_one_allocation_of_its_bytes() {
        let usage = watch(|| drop(black_box(vec![1_u64; 1_000])));
        assert_eq!(usage, Usage { allocations: 1, requested: 8_000, held: 0, peak: 8_000 });
    }

    #[test]
    fn growing_counts_and_what_stays_is_held() {
        let mut kept = Vec::new();
        let usage = watch(|| {
            for byte in 0..100_u8 {
                kept.push(black_box(byte));
            }
        });
        assert!(usage.allocations > 1, "a vector grows by steps");
        assert_eq!(usage.held, i64::try_from(kept.capacity()).unwrap());
        assert_eq!(usage.peak, usage.held);
        assert!(usage.requested > 100, "every step requests all of its bytes");
    }

    #[test]
    fn another_thread_is_not_counted() {
        let usage = watch(|| {
            let before = watch(|| ());
            assert_eq!(before, Usage::default());
        });
        assert_eq!(usage, Usage::default(), "an inner measurement ends the outer one");

        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            let _ = receiver.recv();
            black_box(vec![0_u8; 5_000]).len()
        });
        let usage = watch(|| {
            drop(sender);
            assert_eq!(other.join().unwrap(), 5_000);
        });
        assert!(usage.peak < 5_000);
    }
}
