//! A subscriber of `tracing` that acquires from the very scope whose operation it observes.

use std::cell::{Cell, RefCell};

use pool_facade::prelude::*;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber, subscriber};

use crate::support::{endless_pool, endless_scope};

type Outcome = Result<&'static mut [u8], PoolError<pool_facade::CpuError>>;

thread_local! {
    static SCOPE: Cell<Option<&'static Scope<'static, Cpu>>> = const { Cell::new(None) };
    static OUTCOME: RefCell<Option<Outcome>> = const { RefCell::new(None) };
}

/// The moment at which the subscriber acquires, once.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    NewSpan,
    Enter,
    Exit,
    Event,
}

impl When {
    fn is_now(self, now: Self) {
        if self != now {
            return;
        }
        if let Some(scope) = SCOPE.take() {
            OUTCOME.replace(Some(scope.try_acquire_filled(64, 7)));
        }
    }
}

impl Subscriber for When {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        self.is_now(Self::NewSpan);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.is_now(Self::Event);
    }

    fn enter(&self, _: &Id) {
        self.is_now(Self::Enter);
    }

    fn exit(&self, _: &Id) {
        self.is_now(Self::Exit);
    }
}

/// Runs the operation with a subscriber that acquires then; returns the result of that acquire.
fn outcome<R>(
    when: When,
    scope: &'static Scope<'static, Cpu>,
    operation: impl FnOnce() -> R,
) -> (R, Outcome) {
    SCOPE.set(Some(scope));
    let result = subscriber::with_default(when, operation);
    (result, OUTCOME.take().expect("the subscriber was told"))
}

#[test]
fn h1_growth_reported_to_a_subscriber_that_acquires() {
    for when in [When::NewSpan, When::Enter, When::Exit] {
        for first in [0, 10] {
            let pool = endless_pool(PoolConfig::new());
            pool.scope().acquire_filled(first, 0_u8);
            let scope = endless_scope(pool);
            let (mine, theirs) = outcome(when, scope, || scope.acquire_filled(64, 1_u8));
            assert_eq!(theirs, Err(PoolError::Reentered), "{when:?}");
            let after = scope.acquire_filled(64, 9_u8);
            assert_eq!((&*mine, &*after), (&[1; 64][..], &[9; 64][..]));
        }
    }
}

#[test]
fn h1_trim_reported_to_a_subscriber_that_acquires() {
    for when in [When::NewSpan, When::Enter, When::Event, When::Exit] {
        let pool = endless_pool(PoolConfig::new());
        pool.scope().acquire_filled(64, 1_u8);
        let scope = endless_scope(pool);
        let (released, theirs) = outcome(when, scope, || scope.trim());
        assert_eq!((released.slots, theirs), (1, Err(PoolError::Reentered)), "{when:?}");
        assert_eq!(scope.acquire_filled(64, 9_u8), [9; 64]);
    }
}

#[test]
fn h1_warning_reported_to_a_subscriber_that_acquires() {
    let scope = endless_scope(endless_pool(PoolConfig::new()));
    for _ in 1..PoolConfig::WARNING_SLOTS {
        scope.acquire::<u8, _>(0);
    }
    let (mine, theirs) = outcome(When::Event, scope, || scope.acquire_filled(64, 1_u8));
    assert_eq!(theirs, Err(PoolError::Reentered));
    let after = scope.acquire_filled(64, 9_u8);
    assert_eq!((&*mine, &*after), (&[1; 64][..], &[9; 64][..]));
}

/// Panics at each event, and when a span is left.
struct Panicking;

impl Subscriber for Panicking {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        panic!("told of an event");
    }

    fn enter(&self, _: &Id) {
        panic!("a span was entered");
    }

    fn exit(&self, _: &Id) {}
}

#[test]
fn a_subscriber_that_panics_leaves_the_pool_usable() {
    let pool = endless_pool(PoolConfig::new());
    pool.scope().acquire_filled(8, 0_u8);
    let scope = endless_scope(pool);
    let panics = |operation: &dyn Fn()| {
        let run = || subscriber::with_default(Panicking, operation);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    };
    panics(&|| {
        scope.acquire::<u8, _>(100);
    });
    panics(&|| {
        scope.trim();
    });
    assert_eq!(scope.active_slots(), 0);
    let (first, second) = (scope.acquire_filled(100, 1_u8), scope.acquire_filled(100, 2_u8));
    assert_eq!((&*first, &*second), (&[1; 100][..], &[2; 100][..]));
    assert_eq!(scope.trim().slots, 0);
}
