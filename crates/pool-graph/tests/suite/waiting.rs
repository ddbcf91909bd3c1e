//! Calls that run while another one is in the source: each waits only for memory that may help it,
//! and then checks again. Each test interrupts the source of one call with another call.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use pool_graph::{CUDAGraphMemoryPool, GraphMemoryBlock, GraphMemoryError};
use pool_graph::{SyntheticMemory, SyntheticRefusal};

use crate::attacks::Interrupted;
use crate::cases::MIB;

type Pool = Arc<CUDAGraphMemoryPool<Interrupted>>;
type Answer = Result<GraphMemoryBlock, GraphMemoryError<SyntheticRefusal>>;

/// A call on another thread.
#[derive(Clone, Default)]
struct Other(Arc<Mutex<Option<JoinHandle<Answer>>>>);

impl Other {
    /// Starts it, and gives it time to reach its wait.
    fn allocate(&self, pool: Pool, size: u64) {
        let call = std::thread::spawn(move || pool.allocate(size));
        *self.0.lock().unwrap() = Some(call);
        std::thread::sleep(Duration::from_millis(50));
    }

    fn answer(&self) -> Answer {
        let call = self.0.lock().unwrap().take();
        call.expect("the source was called").join().unwrap()
    }
}

#[test]
#[cfg_attr(miri, ignore = "where threads wait, parking_lot makes pointers of numbers")]
fn a_chunk_on_its_way_is_for_all_who_need_one() {
    let source = Interrupted::new();
    let pool = source.pool(0, u64::MAX);
    let (other, shared) = (Other::default(), Arc::clone(&pool));
    let started = other.clone();
    source.on_allocate(move || started.allocate(shared, MIB));
    let own = pool.allocate(MIB).unwrap();
    let others = other.answer().unwrap();
    assert_ne!(own.address(), others.address());
    assert_eq!((source.inner.allocations(), pool.stats().growths), (1, 1), "one chunk for both");
}

/// On the same thread a wait would never end.
#[test]
fn a_large_request_waits_for_no_chunk() {
    let source = Interrupted::new();
    let pool = source.pool(0, u64::MAX);
    let shared = Arc::clone(&pool);
    source.on_allocate(move || assert_eq!(shared.allocate(40 * MIB).unwrap().size(), 40 * MIB));
    pool.allocate(MIB).unwrap();
    assert_eq!((source.inner.held(), pool.stats().growths), (56 * MIB, 2));
}

/// A small request does not wait for a large chunk, which is not shared.
#[test]
fn a_small_request_waits_for_no_large_one() {
    let source = Interrupted::new();
    let pool = source.pool(0, u64::MAX);
    let shared = Arc::clone(&pool);
    source.on_allocate(move || assert_eq!(shared.allocate(MIB).unwrap().size(), MIB));
    pool.allocate(40 * MIB).unwrap();
    assert_eq!((source.inner.held(), pool.stats().growths), (56 * MIB, 2));
}

#[test]
#[cfg_attr(miri, ignore = "where threads wait, parking_lot makes pointers of numbers")]
fn a_growth_that_fails_leaves_its_room_to_who_waits() {
    let source = Interrupted::new();
    let pool = source.pool(0, 40 * MIB);
    let (other, shared) = (Other::default(), Arc::clone(&pool));
    let (started, inner) = (other.clone(), source.inner.clone());
    source.on_allocate(move || {
        started.allocate(shared, 20 * MIB);
        inner.refuse(1);
    });
    let refused = pool.allocate(30 * MIB).unwrap_err();
    // The error is the source's, or the maximum's if the other one was quicker.
    let (by_source, by_maximum) = (
        matches!(refused, GraphMemoryError::OutOfMemory { .. }),
        matches!(refused, GraphMemoryError::CapacityExceeded { .. }),
    );
    assert!(by_source || by_maximum, "{refused:?}");
    assert_eq!(other.answer().unwrap().size(), 20 * MIB);
    assert_eq!((source.inner.held(), pool.allocated_bytes()), (20 * MIB, 20 * MIB));
}

#[test]
#[cfg_attr(miri, ignore = "where threads wait, parking_lot makes pointers of numbers")]
fn room_that_is_being_made_is_waited_for() {
    let source = Interrupted::new();
    let pool = source.pool(48 * MIB, 48 * MIB);
    let (other, shared) = (Other::default(), Arc::clone(&pool));
    let started = other.clone();
    // Two of three idle chunks are being returned; one is too small.
    source.on_free(move || started.allocate(shared, 17 * MIB));
    let own = pool.allocate(20 * MIB).unwrap();
    let others = other.answer().unwrap();
    assert_eq!((own.size(), others.size()), (20 * MIB, 17 * MIB));
    assert_eq!((source.inner.held(), pool.allocated_bytes()), (37 * MIB, 37 * MIB));
}

#[test]
#[cfg_attr(miri, ignore = "where threads wait, parking_lot makes pointers of numbers")]
fn a_source_that_is_being_given_memory_back_is_asked_again() {
    let source = Interrupted::of(SyntheticMemory::with_limit(48 * MIB));
    let pool = source.pool(48 * MIB, u64::MAX);
    let (other, shared) = (Other::default(), Arc::clone(&pool));
    let started = other.clone();
    // All idle chunks are being returned: until that is done, the source is full.
    source.on_free(move || started.allocate(shared, 17 * MIB));
    let own = pool.allocate(20 * MIB).unwrap();
    let others = other.answer().unwrap();
    assert_eq!((own.size(), others.size()), (20 * MIB, 17 * MIB));
    assert_eq!((source.inner.held(), pool.allocated_bytes()), (37 * MIB, 37 * MIB));
}
