//! The statistics of a pool: they agree with the ledger, and their format.

use pool_conformance::HeapBackend;
use pool_core::{Pool, PoolConfig, PoolStats, ReleaseReport};

use crate::backends::logged_pool;
use crate::support::{heap_pool, heap_pool_with, slots_per_table, take};

/// Made-up numbers, in a form that only a pool can make.
fn example() -> PoolStats {
    let (pool, _) = logged_pool(PoolConfig::new().name("solver"));
    let mut stats = pool.stats();
    stats.active_slots = 3;
    stats.high_water_slots = 17;
    stats.reserved_bytes = 1536;
    stats.peak_reserved_bytes = 5 << 20;
    stats.bookkeeping_bytes = 1000;
    stats.growths = 21;
    stats.cold_acquires = 40;
    stats.shape_hits = 1_234_567;
    stats.shape_misses = 4;
    stats
}

#[test]
fn display_is_an_aligned_table() {
    let expected = "\
solver on logged:3
  slots in use                  3
  peak slots                   17
  reserved                1.5 KiB
  peak reserved           5.0 MiB
  bookkeeping              1000 B
  growths                      21
  cold acquires                40
  shape cache hits        1234567
  shape cache misses            4
";
    assert_eq!(example().to_string(), expected);
}

#[test]
fn display_shows_what_was_live_where_it_was_counted() {
    let mut stats = example();
    stats.peak_live_bytes = Some(1_024);
    let text = stats.to_string();
    let expected =
        "  peak live               1.0 KiB\n  reserved / live            1.50\n  bookkeeping";
    assert!(text.contains(expected), "{text}");
    stats.peak_live_bytes = Some(0);
    let text = stats.to_string();
    assert!(text.contains("peak live                   0 B\n  bookkeeping"), "{text}");
}

#[test]
fn display_shows_limit_leak_and_number_of_pools_where_there_are() {
    let mut one = example();
    one.byte_limit = 64 << 20;
    one.leaked_bytes = 4096;
    let both = one.plus(&one);
    let expected = "\
solver on logged:3
  pools                         2
  slots in use                  6
  peak slots                   34
  reserved                3.0 KiB
  peak reserved          10.0 MiB
  limit                  64.0 MiB
  leaked                  8.0 KiB
  bookkeeping             1.9 KiB
  growths                      42
  cold acquires                80
  shape cache hits        2469134
  shape cache misses            8
";
    assert_eq!(both.to_string(), expected);
}

#[test]
fn bookkeeping_is_the_state_and_the_tables() {
    let (mut pool, _) = heap_pool();
    let with_tables = |pool: &mut Pool<HeapBackend>, tables: usize| {
        let scope = pool.scope();
        take(&scope, tables * slots_per_table() - 1, 0);
        scope.stats().bookkeeping_bytes
    };
    let [one, two, five] = [1, 2, 5].map(|tables| with_tables(&mut pool, tables));
    let table = two - one;
    assert_eq!(five, one + 4 * table);
    assert!(table >= slots_per_table() * size_of::<usize>(), "{table} bytes of a table");
    assert!((1..table).contains(&(one - table)), "{} bytes of the state", one - table);
}

#[test]
fn numbers_are_those_of_the_ledger() {
    let (mut pool, ledger) = heap_pool_with(PoolConfig::new().name("watched").byte_limit(1 << 20));
    let fresh = pool.stats();
    assert_eq!((fresh.name, fresh.device.to_string()), ("watched", "heap".to_owned()));
    assert_eq!((fresh.pools, fresh.byte_limit, fresh.leaked_bytes), (1, 1 << 20, 0));
    assert_eq!((fresh.active_slots, fresh.high_water_slots, fresh.growths), (0, 0, 0));
    assert_eq!((fresh.reserved_bytes, fresh.peak_reserved_bytes), (0, 0));
    assert!(fresh.bookkeeping_bytes > 0);

    let mut peak = 0;
    for length in [100, 1000, 10, 5000, 1] {
        let scope = pool.scope();
        scope.acquire::<u64, _>(length);
        scope.acquire::<u8, _>(length);
        let stats = scope.stats();
        peak = peak.max(stats.reserved_bytes);
        assert_eq!(stats.reserved_bytes, ledger.live_bytes());
        assert_eq!(stats.growths, ledger.allocations() as u64);
        assert_eq!((stats.active_slots, stats.high_water_slots), (2, 2));
    }
    assert_eq!(pool.stats().peak_reserved_bytes, peak);
    pool.trim();
    let trimmed = pool.stats();
    assert_eq!((trimmed.reserved_bytes, trimmed.peak_reserved_bytes), (0, peak));
    assert_eq!(trimmed.growths, ledger.allocations() as u64);
}

#[test]
fn active_slots_are_as_seen_from_the_scope_that_was_asked() {
    let (mut pool, _) = heap_pool();
    let mut outer = pool.scope();
    outer.acquire::<u64, _>(1);
    let inner = outer.scope();
    inner.acquire::<u64, _>(1);
    inner.acquire::<u64, _>(1);
    assert_eq!(inner.stats().active_slots, 3);
    drop(inner);
    assert_eq!((outer.stats().active_slots, outer.stats().high_water_slots), (1, 3));
    assert_eq!(format!("{outer:?}"), "Scope { active_slots: 1, .. }");
    drop(outer);
    assert_eq!((pool.stats().active_slots, pool.stats().high_water_slots), (0, 3));
    assert!(format!("{pool:?}").starts_with("Pool { stats: PoolStats { name: \"pool\""));
}

#[test]
fn released_adds_up() {
    let (mut pool, _) = heap_pool();
    pool.scope().acquire::<u64, _>(1);
    let first = pool.trim();
    pool.scope().acquire::<u64, _>(127);
    let both = first.plus(pool.trim());
    assert_eq!((both.slots, both.bytes), (2, 64 + 1024));
    assert_eq!(pool.trim(), ReleaseReport::default());
}
