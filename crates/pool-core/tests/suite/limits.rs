//! The limits of a pool: blocks beyond them are refused, and memory in use is unharmed.

use pool_conformance::Refusal;
use pool_core::{PoolConfig, PoolError};

use crate::support::{address, assert_stamped, heap_pool, heap_pool_with, panic_text, stamp, take};

#[test]
fn limit_trim_retry_three_scopes_open() {
    let limit = 10 * 1024;
    let (mut pool, ledger) = heap_pool_with(PoolConfig::new().byte_limit(limit));
    ledger.refuse(Refusal::Above(limit));
    let mut outer = pool.scope();
    let first = outer.acquire::<u64, _>(127);
    stamp(first, 1);
    let mut middle = outer.scope();
    let second = middle.acquire::<u64, _>(127);
    stamp(second, 2);
    {
        // Idle afterwards: 4 blocks of 2 KiB, and with the two in use the limit is reached.
        let deeper = middle.scope();
        take(&deeper, 4, 255);
        assert_eq!(deeper.stats().reserved_bytes, limit);
    }
    let inner = middle.scope();
    let third = inner.acquire::<u64, _>(100);
    stamp(third, 3);
    assert_eq!(ledger.live_blocks(), 6);

    // 3 KiB fit only when the three idle blocks are freed; the one in slot 2 is in use.
    let fourth = inner.acquire::<u64, _>(383);
    stamp(fourth, 4);
    assert_eq!((ledger.live_blocks(), ledger.live_bytes()), (4, 7 * 1024));

    let error = inner.try_acquire::<u64, _>(384).unwrap_err();
    let expected = PoolError::LimitExceeded { requested: 3136, reserved: 7 * 1024, limit };
    assert_eq!(error, expected);
    assert_eq!(panic_text(|| inner.acquire::<u64, _>(384)), error.to_string());
    assert_eq!(inner.active_slots(), 4);

    let fifth = inner.acquire::<u64, _>(383);
    stamp(fifth, 5);
    assert_eq!(inner.stats().reserved_bytes, limit);
    for (view, owner) in [first, second, third, fourth, fifth].into_iter().zip(1..) {
        assert_stamped(view, owner);
    }
    assert_eq!(ledger.refused(), 0, "at no moment were more bytes live than the limit allows");
}

#[test]
fn limit_counts_the_old_block_as_free_when_its_slot_grows() {
    let (mut pool, ledger) = heap_pool_with(PoolConfig::new().byte_limit(2048));
    ledger.refuse(Refusal::Above(2048));
    pool.scope().acquire::<u64, _>(127);
    // Old and new together are above the limit, the new one alone is not.
    assert_eq!(pool.scope().acquire::<u64, _>(255).len(), 255);
    assert_eq!((ledger.live_bytes(), ledger.refused()), (2048, 0));
    let error = pool.scope().try_acquire::<u64, _>(256).unwrap_err();
    assert_eq!(error, PoolError::LimitExceeded { requested: 2112, reserved: 0, limit: 2048 });
    assert_eq!(ledger.live_bytes(), 0, "the retry freed what was idle");
    assert_eq!(pool.scope().acquire::<u64, _>(255).len(), 255);
}

#[test]
fn limit_lowered_below_what_is_reserved() {
    let (mut pool, ledger) = heap_pool();
    let held = address(pool.scope().acquire::<u64, _>(1000));
    pool.configure(PoolConfig::new().byte_limit(100)).unwrap();
    assert_eq!(pool.stats().byte_limit, 100);
    assert_eq!(address(pool.scope().acquire::<u64, _>(1000)), held, "what is there stays");
    {
        let scope = pool.scope();
        let own = scope.acquire::<u64, _>(1000);
        stamp(own, 1);
        assert!(matches!(
            scope.try_acquire::<u64, _>(1),
            Err(PoolError::LimitExceeded { requested: 64, limit: 100, .. })
        ));
        assert_eq!(scope.acquire::<u64, _>(0).len(), 0);
        assert_stamped(own, 1);
    }
    pool.trim();
    assert_eq!(pool.scope().acquire::<u64, _>(1).len(), 1);
    assert_eq!(ledger.live_bytes(), 64);
}

#[test]
fn limit_zero_refuses_every_block_but_no_empty_view() {
    let (mut pool, ledger) = heap_pool_with(PoolConfig::new().byte_limit(0));
    let scope = pool.scope();
    assert_eq!(
        scope.try_acquire::<u8, _>(1).unwrap_err(),
        PoolError::LimitExceeded { requested: 64, reserved: 0, limit: 0 }
    );
    assert_eq!(scope.acquire::<u8, _>(0).len(), 0);
    assert_eq!(scope.acquire::<(), _>(10).len(), 10);
    assert_eq!((scope.active_slots(), ledger.allocations()), (2, 0));
}
