//! The ranges of the configuration: every value in its range is accepted, every other one is a
//! typed error with the value in it, and the old configuration stays.

use pool_conformance::{HeapBackend, Ledger};
use pool_core::{ConfigError, DynamicPool, Pool, PoolConfig, PoolError};

use crate::support::{dynamic_heap_pool, heap_pool, panic_text};

#[test]
fn ways_are_one_to_sixteen() {
    for ways in 1..=16 {
        assert_eq!(PoolConfig::new().ways(ways).validate(), Ok(()), "{ways}");
    }
    for asked in [0, 17, 100, usize::MAX] {
        let error = ConfigError::Ways { asked };
        assert_eq!(PoolConfig::new().ways(asked).validate(), Err(error));
        assert_eq!(
            error.to_string(),
            format!("the shape cache cannot have {asked} ways: choose 1 to 16")
        );
    }
}

#[test]
fn growth_factor_is_finite_and_at_least_one() {
    for factor in [1.0, 1.5, 2.0, 1e300, f64::MAX] {
        assert_eq!(PoolConfig::new().growth_factor(factor).validate(), Ok(()), "{factor}");
    }
    let below_one = 1.0 - f64::EPSILON;
    for asked in [0.5, below_one, 0.0, -0.0, -2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let Err(ConfigError::GrowthFactor { asked: reported }) =
            PoolConfig::new().growth_factor(asked).validate()
        else {
            panic!("{asked} was taken");
        };
        assert_eq!(reported.to_bits(), asked.to_bits());
        let text = ConfigError::GrowthFactor { asked }.to_string();
        assert_eq!(
            text,
            format!("the growth factor {asked} is not valid: choose a finite factor of at least 1")
        );
    }
}

#[test]
fn pools_refuse_values_out_of_range_and_keep_the_old_ones() {
    let bad = PoolConfig::new().ways(17);
    let expected = PoolError::Config(ConfigError::Ways { asked: 17 });
    let refused = Pool::<HeapBackend>::with_config(Ledger::new(), bad).unwrap_err();
    assert_eq!(refused, expected);
    assert_eq!(DynamicPool::<HeapBackend>::with_config(Ledger::new(), bad).unwrap_err(), expected);

    let good = PoolConfig::new().name("kept").byte_limit(1 << 20).ways(2);
    let (mut pool, _) = heap_pool();
    pool.configure(good).unwrap();
    assert_eq!(pool.configure(bad).unwrap_err(), expected);
    assert!(pool.configure(good.growth_factor(f64::NAN)).is_err());
    assert_eq!(pool.config(), good);
    pool.scope().acquire::<u64, _>(&[2, 2][..]);

    let (mut pool, _) = dynamic_heap_pool();
    pool.configure(good).unwrap();
    assert_eq!(pool.configure(bad).unwrap_err(), expected);
    assert_eq!(pool.config(), good);
}

#[test]
fn defaults_are_as_documented() {
    let config = PoolConfig::default();
    assert_eq!(config, PoolConfig::new());
    assert_eq!(config.limit(), usize::MAX);
    let spelled_out = PoolConfig::new()
        .name("pool")
        .byte_limit(usize::MAX)
        .growth_factor(1.5)
        .huge_pages(true)
        .poison(false)
        .fresh(false)
        .ways(4);
    assert_eq!(config, spelled_out);
    assert_eq!(PoolConfig::WARNING_SLOTS, 512);
    assert_ne!(config.huge_pages(false), config);
}

#[test]
fn new_panics_with_the_text_of_the_error_of_its_twin() {
    let (mut pool, _) = heap_pool();
    let scope = pool.scope();
    let error = scope.try_acquire::<u64, _>(usize::MAX).unwrap_err();
    let expected = error.to_string();
    assert_eq!(panic_text(|| scope.acquire::<u64, _>(usize::MAX)), expected);
    assert_eq!(panic_text(|| scope.acquire_zeroed::<u64, _>(usize::MAX)), expected);
    assert_eq!(panic_text(|| scope.acquire_filled(usize::MAX, 1_u64)), expected);
    assert_eq!(panic_text(|| scope.acquire_with(usize::MAX, |index| index as u64)), expected);
    let shape = scope.try_acquire::<u64, _>([usize::MAX]).unwrap_err().to_string();
    assert_ne!(shape, expected);
    assert_eq!(panic_text(|| scope.acquire::<u64, _>([usize::MAX])), shape);
    assert_eq!(panic_text(|| scope.acquire_zeroed::<u64, _>([usize::MAX])), shape);
    assert_eq!(panic_text(|| scope.acquire_filled([usize::MAX], 1_u64)), shape);
    assert_eq!(panic_text(|| scope.acquire_with([usize::MAX], |_| 1_u64)), shape);
    assert_eq!(scope.active_slots(), 0);
}
