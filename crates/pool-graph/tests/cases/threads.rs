//! Many threads that allocate and return at once.

use std::sync::Mutex;

use pool_graph::{GraphMemoryError, MemorySource};

use super::intervals::Intervals;
use super::{MIB, Subject};

/// Runs `threads` threads with `operations` operations each: no two blocks ever overlap, and
/// nothing leaks.
pub(crate) fn no_overlap<M>(subject: &Subject<M>, threads: u64, operations: usize)
where
    M: MemorySource + Clone + Send + Sync,
{
    let maximum = 64 * MIB;
    let pool = subject.pool(16 * MIB, maximum);
    let live = Mutex::new(Intervals::default());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (pool, live) = (&pool, &live);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(thread);
                let mut own = Vec::new();
                for _ in 0..operations {
                    if own.len() < 12 && (own.is_empty() || random.bool()) {
                        let most = 1 << random.u32(0..22);
                        let size = random.u64(1..=most);
                        match pool.allocate((size, 1 << random.u32(0..13))) {
                            Ok(block) => {
                                live.lock().unwrap().insert(block.address(), size);
                                own.push(block);
                            }
                            // This is correct if all blocks together are near the maximum.
                            Err(GraphMemoryError::CapacityExceeded { used, reserved, .. }) => {
                                assert!(used <= reserved && reserved <= maximum);
                            }
                            Err(other) => panic!("{other:?}"),
                        }
                    } else {
                        let block = own.swap_remove(random.usize(0..own.len()));
                        live.lock().unwrap().remove(block.address(), block.size());
                        pool.deallocate(block.id()).unwrap();
                    }
                }
                for block in own {
                    live.lock().unwrap().remove(block.address(), block.size());
                    pool.deallocate(block.id()).unwrap();
                }
            });
        }
    });
    assert_eq!(live.lock().unwrap().len(), 0);
    let stats = pool.stats();
    assert_eq!((stats.allocated_blocks, stats.in_use_bytes, stats.requested_bytes), (0, 0, 0));
    assert_eq!(stats.blocks, stats.chunks, "every chunk is one free block again");
    assert_eq!(stats.returns, stats.allocations);
    assert!(stats.peak_reserved_bytes <= maximum, "{stats}");
    assert_eq!(stats.fragmentation(), 0.0);
}
