//! Every order of two or three threads, by loom:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p pool-graph --test interleavings`. Without that
//! flag the test is empty.

#![cfg(loom)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests: a check that fails panics")]

use std::sync::atomic::{AtomicUsize, Ordering};

use loom::sync::Arc;
use loom::thread;
use pool_core::error_chain;
use pool_graph::{
    BlockId, CUDAGraphMemoryPool, GraphMemoryError, GraphPoolConfig, SyntheticMemory,
};

const MIB: u64 = 1 << 20;

type Pool = CUDAGraphMemoryPool<SyntheticMemory>;

/// Tests a program in every order of its threads' locked sections; there is at least one order with
/// each thread first.
fn every_order(program: impl Fn() + Sync + Send + 'static) {
    let orders = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&orders);
    loom::model::Builder::new().check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        program();
    });
    let orders = orders.load(Ordering::Relaxed);
    println!("{orders} orders");
    assert!(orders > 1, "only one order");
}

fn pool(source: &SyntheticMemory, initial: u64, maximum: u64) -> Arc<Pool> {
    let config = GraphPoolConfig { initial, maximum };
    Arc::new(CUDAGraphMemoryPool::with_config(source.clone(), config))
}

fn all_is_back(source: &SyntheticMemory) {
    assert_eq!((source.held(), source.mistakes()), (0, 0));
}

/// Both need growth and the maximum allows one chunk: one fetches it, the other waits and shares
/// it.
#[test]
fn two_threads_share_what_one_fetches() {
    every_order(|| {
        let source = SyntheticMemory::new();
        let pool = pool(&source, 0, 16 * MIB);
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.allocate(MIB).unwrap())
        };
        let own = pool.allocate(MIB).unwrap();
        let other = other.join().unwrap();
        assert!(own.address().abs_diff(other.address()) >= MIB);
        assert_eq!((source.allocations(), source.held()), (1, 16 * MIB));
        pool.deallocate(own.id()).unwrap();
        pool.deallocate(other.id()).unwrap();
        assert_eq!(pool.stats().blocks, 1);
        drop(pool);
        all_is_back(&source);
    });
}

/// The fetching thread is refused: the waiting one must wake and request memory itself.
#[test]
fn a_refusal_wakes_those_who_wait() {
    every_order(|| {
        let source = SyntheticMemory::new();
        let pool = pool(&source, 0, 16 * MIB);
        source.refuse(1);
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.allocate(12 * MIB).is_ok())
        };
        let own = pool.allocate(3 * MIB).is_ok();
        let other = other.join().unwrap();
        assert!(own && other || source.held() < 16 * MIB, "{own} {other}");
        assert!(own || other);
        assert_eq!(pool.allocated_bytes(), source.held());
        drop(pool);
        all_is_back(&source);
    });
}

/// A large request needs the bytes of an idle chunk that another thread may be using.
#[test]
fn room_is_made_once() {
    every_order(|| {
        let source = SyntheticMemory::new();
        let pool = pool(&source, 16 * MIB, 20 * MIB);
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.allocate(20 * MIB).is_ok())
        };
        let own = pool.allocate(MIB);
        let other = other.join().unwrap();
        assert!(own.is_ok() != other, "there is room for one of them");
        assert!(source.held() <= 20 * MIB);
        drop(pool);
        all_is_back(&source);
    });
}

/// A disposal while another thread fetches memory: that memory is returned, too.
#[test]
fn disposal_against_allocation() {
    every_order(|| {
        let source = SyntheticMemory::new();
        let pool = pool(&source, 0, u64::MAX);
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || match pool.allocate(MIB) {
                Ok(block) => assert_eq!(block.size(), MIB),
                Err(GraphMemoryError::Disposed) => {}
                Err(error) => panic!("{}", error_chain(&error)),
            })
        };
        pool.dispose();
        assert!(matches!(pool.allocate(1), Err(GraphMemoryError::Disposed)));
        other.join().unwrap();
        assert_eq!(pool.allocated_bytes(), 0);
        all_is_back(&source);
    });
}

/// The last lease ends while the pool is disposed: the last of the two frees, once.
#[test]
fn disposal_against_the_last_lease() {
    every_order(|| {
        let source = SyntheticMemory::new();
        let pool = pool(&source, 0, u64::MAX);
        let block = pool.allocate(MIB).unwrap().id();
        let lease = pool.lease(&[block]).unwrap();
        let other = thread::spawn(move || drop(lease));
        let disposal = pool.dispose();
        assert!(disposal.freed_bytes + disposal.kept_bytes <= 32 * MIB);
        other.join().unwrap();
        assert_eq!(pool.allocated_bytes(), 0);
        all_is_back(&source);
    });
}

/// The pool is dropped in one thread and its leases in two others.
#[test]
fn the_pool_goes_before_between_and_after_its_leases() {
    every_order(|| {
        let source = SyntheticMemory::new();
        let pool = pool(&source, 0, u64::MAX);
        let block = pool.allocate(MIB).unwrap().id();
        let leases = [pool.lease(&[block]).unwrap(), pool.lease(&[block]).unwrap()];
        let others = leases.map(|lease| thread::spawn(move || drop(lease)));
        drop(pool);
        for other in others {
            other.join().unwrap();
        }
        all_is_back(&source);
    });
}

/// A block that a reset left is freed by its last lease, and not reused before.
#[test]
fn a_reset_against_the_last_lease() {
    every_order(|| {
        let source = SyntheticMemory::new();
        let pool = pool(&source, 0, 16 * MIB);
        let block = pool.allocate(9 * MIB).unwrap().id();
        let lease = pool.lease(&[block]).unwrap();
        let other = thread::spawn(move || drop(lease));
        let left = pool.reset().unwrap().leased;
        // It fits only at the leased block.
        let early = pool.allocate(8 * MIB).is_ok();
        assert!(early || left == 1);
        other.join().unwrap();
        assert!(early || pool.allocate(16 * MIB).is_ok());
        drop(pool);
        all_is_back(&source);
    });
}

/// A lease against a return: one of the two wins, and the other fails.
#[test]
fn a_lease_against_a_return() {
    every_order(|| {
        let source = SyntheticMemory::new();
        let pool = pool(&source, 16 * MIB, u64::MAX);
        let block: BlockId = pool.allocate(MIB).unwrap().id();
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.lease(&[block]))
        };
        let given = pool.deallocate(block);
        match other.join().unwrap() {
            Ok(lease) => {
                assert!(matches!(given, Err(GraphMemoryError::LeasedBlock { .. })));
                assert!(lease.check().is_ok());
            }
            Err(error) => {
                assert!(matches!(error, GraphMemoryError::AlreadyReturned { .. }));
                assert_eq!(given, Ok(()));
            }
        }
        drop(pool);
        all_is_back(&source);
    });
}

/// Memory that another thread is returning counts as reserved until it is back: a request that
/// needs these bytes waits, and is never refused.
#[test]
fn room_on_its_way_is_waited_for() {
    every_order(|| {
        let source = SyntheticMemory::new();
        let pool = pool(&source, 16 * MIB, 20 * MIB);
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.trim().unwrap())
        };
        pool.allocate(20 * MIB).unwrap();
        assert!([0, 16 * MIB].contains(&other.join().unwrap()));
        assert_eq!(source.held(), 20 * MIB);
        drop(pool);
        all_is_back(&source);
    });
}

/// The same if the source is full: its refusal from before the return is not final.
#[test]
fn a_refusal_is_old_when_memory_has_gone_back() {
    every_order(|| {
        let source = SyntheticMemory::with_limit(20 * MIB);
        let pool = pool(&source, 16 * MIB, u64::MAX);
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.trim().unwrap())
        };
        pool.allocate(20 * MIB).unwrap();
        assert!([0, 16 * MIB].contains(&other.join().unwrap()));
        assert_eq!(source.held(), 20 * MIB);
        drop(pool);
        all_is_back(&source);
    });
}
