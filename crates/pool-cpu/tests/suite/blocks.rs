//! Blocks of host memory as a user of the pool sees them: their addresses, their initial contents,
//! their stability, and their free by the same route as their allocation.

use std::collections::BTreeSet;

use bytemuck::{Pod, Zeroable};
use pool_core::{Compaction, Pool, PoolConfig, PoolError};
use pool_cpu::Cpu;

const MIB: usize = 1 << 20;

/// An element as large and as aligned as a block may hold at most.
#[derive(Clone, Copy, Zeroable, Pod)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

fn pool() -> Pool<Cpu> {
    Pool::new(())
}

#[test]
fn every_block_is_aligned_to_64_bytes() {
    let lengths = [0, 1, 2, 3, 7, 8, 63, 64, 65, 1000];
    let lengths = lengths.iter().take(if cfg!(miri) { 8 } else { lengths.len() });
    let mut pool = pool();
    let scope = pool.scope();
    for &length in lengths {
        let addresses = [
            scope.acquire::<u8, _>(length).as_ptr().addr(),
            scope.acquire::<u16, _>(length).as_ptr().addr(),
            scope.acquire::<[u8; 3], _>(length).as_ptr().addr(),
            scope.acquire::<[f32; 3], _>(length).as_ptr().addr(),
            scope.acquire::<f64, _>(length).as_ptr().addr(),
            scope.acquire::<u128, _>(length).as_ptr().addr(),
            scope.acquire::<CacheLine, _>(length).as_ptr().addr(),
            scope.acquire::<(), _>(length).as_ptr().addr(),
        ];
        assert_eq!(addresses.map(|address| address % 64), [0; 8], "{length} elements");
    }
}

#[test]
fn over_aligned_elements_keep_their_values() {
    let mut pool = pool();
    let scope = pool.scope();
    let lines = scope.acquire_with(5, |i| CacheLine([u8::try_from(i).unwrap(); 64]));
    let copies = scope.acquire_from(&*lines);
    assert!(copies.iter().enumerate().all(|(i, line)| line.0.iter().all(|&b| usize::from(b) == i)));
}

#[test]
#[cfg_attr(
    not(all(target_os = "linux", not(miri))),
    ignore = "SKIPPED: blocks are mapped on Linux alone, and not under Miri"
)]
fn big_blocks_are_aligned_to_2_mib() {
    // A block holds one word more than requested, so the first length is the smallest that is
    // mapped.
    let words = [2 * MIB / 8 - 1, 2 * MIB / 8, 2 * MIB / 8 + 1, 3 * MIB / 8, 9 * MIB / 8 + 5];
    for huge_pages in [true, false] {
        let mut pool =
            Pool::<Cpu>::with_config((), PoolConfig::new().huge_pages(huge_pages)).unwrap();
        let scope = pool.scope();
        for length in words {
            let block = scope.acquire::<u64, _>(length);
            assert_eq!(block.as_ptr().addr() % (2 * MIB), 0, "{length} words");
            // Both ends are there to be written.
            block[0] = 1;
            block[length - 1] = 2;
        }
    }
}

#[test]
fn new_blocks_read_zero() {
    let sizes: &[usize] =
        if cfg!(miri) { &[1, 100, 5000] } else { &[1, 100, 5000, MIB, 2 * MIB, 5 * MIB + 3] };
    let mut pool = pool();
    for round in 0..2 {
        {
            let scope = pool.scope();
            for &size in sizes {
                let bytes = scope.acquire::<u8, _>(size);
                assert!(bytes == vec![0; size], "{size} bytes, round {round}");
                bytes.fill(0xA5);
            }
        }
        // Without a trim the second round would read the first one's contents.
        assert_eq!(pool.trim().slots, sizes.len());
    }
    let scope = pool.scope();
    scope.acquire::<u8, _>(64).fill(7);
}

#[test]
fn recycled_blocks_keep_what_was_written() {
    let mut pool = pool();
    pool.scope().acquire::<u8, _>(100).fill(0x5A);
    assert_eq!(pool.scope().acquire::<u8, _>(100), [0x5A; 100]);
}

/// Views that are held while slots above them are made, grown and freed, and while more tables are
/// appended.
#[test]
fn addresses_are_stable() {
    let slots = if cfg!(miri) { 70 } else { 500 };
    let mut pool = pool();
    let mut scope = pool.scope();
    let mut views = Vec::new();
    for i in 0..slots {
        let view = scope.acquire_filled(i % 50 + 1, i);
        views.push((view.as_ptr().addr(), view));
        let mut inner = scope.scope();
        inner.acquire::<u8, _>(80 * i % 7_976).fill(0xFF);
        inner.scope().acquire::<u8, _>(800 * i % 7_928).fill(0xFF);
        inner.trim();
    }
    let distinct: BTreeSet<usize> = views.iter().map(|(address, _)| *address).collect();
    assert_eq!(distinct.len(), slots);
    for (i, (address, view)) in views.iter().enumerate() {
        assert_eq!(view.as_ptr().addr(), *address);
        assert!(view.iter().all(|&value| value == i), "slot {i}");
    }
}

#[test]
fn a_pool_keeps_its_blocks_when_it_moves() {
    fn addresses(pool: &mut Pool<Cpu>) -> Vec<usize> {
        let scope = pool.scope();
        (1..40).map(|length| scope.acquire::<u32, _>(length * 10).as_ptr().addr()).collect()
    }
    let mut pool = pool();
    let first = addresses(&mut pool);
    let mut boxed = Box::new(pool);
    assert_eq!(addresses(&mut boxed), first);
    let (sent, mut pool) =
        std::thread::spawn(move || (addresses(&mut boxed), *boxed)).join().unwrap();
    assert_eq!(sent, first);
    assert_eq!(addresses(&mut pool), first);
    assert_eq!(pool.stats().growths, 39);
}

/// A block is freed by the route of its allocation, after any change of the configuration and of
/// its slot's side of the 2 MiB boundary.
#[test]
fn blocks_cross_the_boundary_of_mapping_in_both_directions() {
    let big = if cfg!(miri) { 4 << 10 } else { 5 * MIB };
    let mut pool = pool();
    for round in 0..4 {
        let huge_pages = round % 2 == 0;
        pool.configure(PoolConfig::new().huge_pages(huge_pages).growth_factor(1.0)).unwrap();
        for bytes in [big / 16, big, big / 16] {
            let scope = pool.scope();
            let block = scope.acquire::<u8, _>(bytes);
            block.fill(3);
            assert!(block == vec![3; bytes]);
        }
        assert!(pool.stats().reserved_bytes >= big);
        // Shrinks the block to its used bytes, across the boundary.
        pool.sample_lengths();
        pool.scope().acquire::<u8, _>(big / 16);
        let compaction = Compaction { factor: 2.0, shrink_to: 1.0, minimum_bytes: 1 };
        let before = pool.stats().reserved_bytes;
        let released = pool.compact(&compaction);
        assert_eq!((released.slots, before - released.bytes), (1, pool.stats().reserved_bytes));
        assert!(pool.stats().reserved_bytes < big / 8);
        pool.scope().acquire::<u8, _>(big / 16).fill(4);
        if round == 2 {
            assert_eq!(pool.trim().slots, 1);
        }
    }
}

#[test]
#[cfg_attr(
    not(all(target_os = "linux", not(miri))),
    ignore = "SKIPPED: reads what the process has mapped, which only Linux tells by a file"
)]
fn mapped_blocks_leave_no_pages_behind() {
    /// Bytes of address space that the process has, and in how many pieces.
    fn mapped() -> (usize, usize) {
        let numbers = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: usize = numbers.split(' ').next().unwrap().parse().unwrap();
        (pages * 4096, std::fs::read_to_string("/proc/self/maps").unwrap().lines().count())
    }
    const ROUNDS: usize = 1000;
    let mut pool = pool();
    let (bytes, pieces) = mapped();
    for round in 0..ROUNDS {
        // Slightly more than 64 MiB: 62 GiB if the blocks stayed, 2 GiB if only the pages before
        // and after the boundary did, and a thousand pieces if only a page of each did.
        pool.scope().acquire::<u8, _>(64 * MIB + round)[round] = 1;
        assert_eq!(pool.trim().slots, 1);
    }
    let (bytes_after, pieces_after) = mapped();
    // The margins are for what other tests of this process map meanwhile.
    let grown = (bytes_after.saturating_sub(bytes), pieces_after.saturating_sub(pieces));
    assert!(grown.0 < ROUNDS * MIB && grown.1 < ROUNDS / 2, "grown by {grown:?}");
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri ends the run where memory is out")]
fn impossible_sizes_are_errors_and_the_pool_goes_on() {
    let mut pool = pool();
    let mut scope = pool.scope();
    let kept = scope.acquire_filled(100, 9_u8);
    for exponent in [60, 61, 62] {
        match scope.try_acquire::<u8, _>(1 << exponent) {
            Err(PoolError::OutOfMemory { requested, reserved, largest, source }) => {
                assert!(largest[0] >= 100 && largest[1..] == [0, 0]);
                assert!(requested >= 1 << exponent);
                assert_eq!(source.bytes, requested);
                assert!(reserved >= 100);
                assert!(source.to_string().contains(&requested.to_string()));
            }
            other => panic!("2^{exponent} bytes: {other:?}"),
        }
    }
    let error = scope.try_acquire::<u64, _>(1 << 61).unwrap_err();
    assert_eq!(error, PoolError::SizeOverflow { elements: 1 << 61, element_size: 8 });
    assert_eq!(scope.active_slots(), 1);
    scope.scope().acquire::<u8, _>(1000).fill(1);
    assert_eq!(kept, [9; 100]);
}

#[test]
fn limits_are_errors_and_the_pool_goes_on() {
    let config = PoolConfig::new().byte_limit(4096);
    let mut pool = Pool::<Cpu>::with_config((), config).unwrap();
    let scope = pool.scope();
    let kept = scope.acquire_filled(1000, 1_u8);
    match scope.try_acquire::<u8, _>(4000) {
        Err(PoolError::LimitExceeded { requested, reserved, limit: 4096 }) => {
            assert!(requested > 4000 && reserved >= 1000 && requested + reserved > 4096);
        }
        other => panic!("{other:?}"),
    }
    scope.acquire::<u8, _>(2000).fill(2);
    assert_eq!(kept, [1; 1000]);
}
