//! `local`: statistics, trimming, compaction, clearing and configuration reach this thread's idle
//! pools, and leave alone what other guards hold.

use pool_facade::prelude::*;
use pool_facade::{Compaction, ConfigError, LocalGuard};

use crate::support::{blocks_in_order, first_block, idle_pools, make_idle, on_fresh_thread};

/// The name that a guard's pool has; a sum of several keeps that of the guard's own.
fn name(guard: &LocalGuard<Cpu>) -> &'static str {
    guard.stats().name
}

#[test]
fn stats_are_of_the_guard_and_the_idle() {
    on_fresh_thread(|| {
        assert_eq!(local::<Cpu>().stats().reserved_bytes, 0);
        make_idle(4);
        let held = (local::<Cpu>(), local::<Cpu>());
        let stats = held.0.stats();
        assert_eq!((stats.pools, stats.growths), (3, 3), "two are idle, the other guard's is not");
        assert_eq!((stats.active_slots, stats.high_water_slots), (0, 3));
        assert_eq!(stats.reserved_bytes % 64, 0);
        assert!((3 * 128..3 * 1024).contains(&stats.reserved_bytes), "{stats}");
        assert_eq!(stats.peak_reserved_bytes, stats.reserved_bytes);
        assert!(stats.bookkeeping_bytes >= 3 * 31 * 16);
        drop(held);
        assert_eq!((idle_pools(), local::<Cpu>().stats().growths), (4, 4));
    });
}

#[test]
fn stats_are_a_table() {
    on_fresh_thread(|| {
        make_idle(2);
        let mut guard = local::<Cpu>();
        guard.configure(PoolConfig::new().name("solver").byte_limit(1 << 20)).unwrap();
        guard.scope().acquire::<u8, _>(&[2, 3][..]);
        guard.scope().acquire::<u8, _>(&[2, 3][..]);
        let table = guard.stats().to_string();
        let mut lines = table.lines();
        assert_eq!(lines.next(), Some("solver on cpu"));
        let rows: Vec<(String, String)> = lines
            .map(|line| {
                let (name, value) = line.trim().split_once("  ").unwrap();
                (name.to_owned(), value.trim().to_owned())
            })
            .collect();
        for expected in [
            ("pools", "2"),
            ("slots in use", "0"),
            ("peak slots", "2"),
            ("limit", "1.0 MiB"),
            ("growths", "2"),
            ("shape cache hits", "1"),
            ("shape cache misses", "1"),
        ] {
            assert!(rows.iter().any(|(name, value)| (&**name, &**value) == expected), "{table}");
        }
        let widths: Vec<usize> = table.lines().skip(1).map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
    });
}

/// Looking at the pools must not change which one comes next.
#[test]
fn looking_keeps_the_order_of_the_idle() {
    on_fresh_thread(|| {
        make_idle(5);
        let order = blocks_in_order();
        assert_eq!(order.len(), 5);
        for _ in 0..3 {
            assert_eq!(local::<Cpu>().stats().pools, 5);
            assert_eq!(blocks_in_order(), order);
            local::<Cpu>().configure(PoolConfig::new().ways(2)).unwrap();
            assert_eq!(blocks_in_order(), order);
            local::<Cpu>().compact(&Compaction::default());
            assert_eq!(blocks_in_order(), order);
        }
        // While one is held, the others keep theirs.
        let held = local::<Cpu>();
        assert_eq!(local::<Cpu>().stats().pools, 4);
        assert_eq!(blocks_in_order(), order[1..]);
        drop(held);
        assert_eq!(blocks_in_order(), order);
    });
}

#[test]
fn trim_frees_what_is_idle_and_spares_what_is_held() {
    on_fresh_thread(|| {
        make_idle(4);
        let mut held = local::<Cpu>();
        let view = held.scope().acquire_filled(1000, 5_u64);
        let mut guard = local::<Cpu>();
        let before = guard.stats().reserved_bytes;
        let released = guard.trim();
        assert_eq!((released.slots, released.bytes), (3, before));
        let stats = guard.stats();
        assert_eq!((stats.pools, stats.reserved_bytes, stats.growths), (3, 0, 3));
        assert_eq!(guard.trim().slots, 0);
        assert_eq!(view, [5; 1000]);
        first_block(&mut guard);
        assert_eq!(guard.stats().growths, 4);
        drop((guard, held));
        assert!(local::<Cpu>().stats().reserved_bytes >= 8000);
    });
}

#[test]
fn clear_empties_every_pool_that_is_not_held() {
    on_fresh_thread(|| {
        make_idle(4);
        let mut held = local::<Cpu>();
        let view = held.scope().acquire_filled(1000, 5_u64);
        let mut guard = local::<Cpu>();
        assert_eq!(guard.clear().slots, 3);
        let stats = guard.stats();
        assert_eq!((stats.pools, stats.reserved_bytes, stats.high_water_slots), (3, 0, 0));
        assert_eq!(stats.peak_reserved_bytes, 0);
        assert_eq!(view, [5; 1000]);
        drop((guard, held));
        assert_eq!(idle_pools(), 4);
        with_pool!(|scope| {
            scope.acquire_filled(10, 1_u8);
        });
        assert_eq!(idle_pools(), 4);
    });
}

/// Acceptance case 16, for a thread's pools: a million elements once, 150 from then on.
#[test]
fn compact_swaps_what_is_far_too_large() {
    let large = if cfg!(miri) { 300_000 } else { 1_000_000 };
    on_fresh_thread(|| {
        let pass = |length: usize| {
            with_pool!(Cpu, Cpu, |left, right| {
                let (a, b) =
                    (left.acquire_zeroed::<u64, _>(length), right.acquire_zeroed::<u64, _>(length));
                a[length - 1] = 1;
                b[0] = a[length - 1];
            });
        };
        pass(large);
        let reserved = || local::<Cpu>().stats().reserved_bytes;
        let before = reserved();
        assert!(before >= 2 * 8 * large);
        let compaction = Compaction { minimum_bytes: 1, ..Compaction::default() };
        local::<Cpu>().compact(&compaction);
        pass(150);
        let released = local::<Cpu>().compact(&compaction);
        assert_eq!((released.slots, released.bytes), (2, before - reserved()));
        assert!((2 * 8 * 150..2 * 8 * 300).contains(&reserved()), "{}", reserved());
        let growths = local::<Cpu>().stats().growths;
        pass(150);
        assert_eq!(local::<Cpu>().stats().growths, growths, "150 still fit");
        pass(large);
    });
}

#[test]
fn configure_reaches_the_idle_and_the_coming_pools() {
    on_fresh_thread(|| {
        make_idle(2);
        let other = local::<Cpu>();
        let mut guard = local::<Cpu>();
        make_idle(1);
        guard.configure(PoolConfig::new().name("small").byte_limit(4096)).unwrap();
        assert_eq!((name(&guard), name(&other)), ("small", "pool"), "held by another guard");
        let (idle, coming) = (local::<Cpu>(), local::<Cpu>());
        assert_eq!((name(&idle), name(&coming)), ("small", "small"));
        for mut guard in [guard, idle, coming] {
            assert_eq!(guard.stats().byte_limit, 4096);
            let scope = guard.scope();
            let error = scope.try_acquire::<u8, _>(5000).unwrap_err();
            assert!(matches!(error, PoolError::LimitExceeded { limit: 4096, reserved: 0, .. }));
            // The limit is each pool's own.
            assert_eq!(scope.try_acquire::<u8, _>(3000).unwrap().len(), 3000);
        }
        drop(other);
        let kept = on_fresh_thread(|| name(&local::<Cpu>()));
        assert_eq!(kept, "pool", "another thread has its own configuration");
    });
}

#[test]
fn a_configuration_out_of_range_changes_nothing() {
    on_fresh_thread(|| {
        make_idle(3);
        let mut guard = local::<Cpu>();
        guard.configure(PoolConfig::new().name("first").byte_limit(1 << 20)).unwrap();
        drop(guard);
        let order = blocks_in_order();
        let mut guard = local::<Cpu>();
        let bad = [
            (PoolConfig::new().name("bad").ways(0), ConfigError::Ways { asked: 0 }),
            (PoolConfig::new().name("bad").ways(17), ConfigError::Ways { asked: 17 }),
            (
                PoolConfig::new().name("bad").growth_factor(0.5),
                ConfigError::GrowthFactor { asked: 0.5 },
            ),
            (
                PoolConfig::new().name("bad").growth_factor(f64::INFINITY),
                ConfigError::GrowthFactor { asked: f64::INFINITY },
            ),
        ];
        for (config, expected) in bad {
            let error = guard.configure(config).unwrap_err();
            assert_eq!(error, PoolError::Config(expected));
            assert!(
                error.to_string().contains("at least 1") || error.to_string().contains("1 to 16")
            );
            assert!(guard.configure(PoolConfig::new().growth_factor(f64::NAN)).is_err());
            let others: Vec<_> = (0..4).map(|_| local::<Cpu>()).collect();
            for guard in others.iter().chain([&guard]) {
                assert_eq!((name(guard), guard.stats().byte_limit), ("first", 1 << 20));
            }
            drop(others.into_iter().rev().collect::<Vec<_>>());
        }
        local::<Cpu>().clear();
        first_block(&mut guard);
        drop(guard);
        assert_eq!(blocks_in_order()[0], order[0]);
    });
}

#[test]
fn poison_overwrites_what_is_recycled() {
    on_fresh_thread(|| {
        make_idle(1);
        local::<Cpu>().configure(PoolConfig::new().poison(true)).unwrap();
        for _ in 0..3 {
            with_pool!(|scope| {
                let recycled = scope.acquire::<f64, _>(20);
                assert!(recycled.iter().all(|value| value.is_nan()));
                recycled.fill(1.0);
                assert_eq!(scope.acquire_zeroed::<f64, _>(5), [0.0; 5]);
                assert_eq!(scope.acquire_filled(5, 2_u8), [2; 5]);
            });
        }
        local::<Cpu>().configure(PoolConfig::new()).unwrap();
        with_pool!(|scope| {
            scope.acquire::<f64, _>(20).fill(3.0);
        });
        with_pool!(|scope| {
            assert_eq!(scope.acquire::<f64, _>(20), [3.0; 20]);
        });
    });
}

/// The effect of a guard on the idle pools while scopes of other guards are open.
#[test]
fn everything_rare_beside_open_scopes() {
    on_fresh_thread(|| {
        make_idle(3);
        with_pool!(Cpu, Cpu, |outer, other| {
            let kept = outer.acquire_filled(100, 1_u64);
            let mut inner = other.scope();
            let beside = inner.acquire_filled(100, 2_u64);
            for ways in 1..=16 {
                let mut guard = local::<Cpu>();
                guard.configure(PoolConfig::new().ways(ways).poison(ways % 2 == 0)).unwrap();
                guard.trim();
                guard.scope().acquire_filled(ways, u64::MAX);
                guard.compact(&Compaction::default());
                guard.clear();
                assert_eq!((guard.stats().pools, guard.stats().reserved_bytes), (1, 0));
                inner.scope().acquire_filled(ways, 3_u64);
                inner.trim();
            }
            assert_eq!((kept, beside), (&mut [1; 100][..], &mut [2; 100][..]));
        });
        assert_eq!(idle_pools(), 3);
    });
}
