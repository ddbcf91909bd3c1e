//! The warning of a missing scope: once at 512, 1,024, 2,048 … slots, through `tracing`.

use std::fmt;
use std::sync::{Arc, Mutex};

use pool_conformance::HeapBackend;
use pool_core::{Pool, PoolConfig};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber, subscriber};

use crate::support::{dynamic_heap_pool, heap_pool_with, take};

/// Collects events, as `level target: field=value …`, and the names of spans.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Reported>>>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Reported {
    warning: bool,
    span: Option<&'static str>,
    pool: String,
    slots: Option<u64>,
    message: String,
}

impl Visit for Reported {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "slots" {
            self.slots = Some(value);
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "pool" {
            value.clone_into(&mut self.pool);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        }
    }
}

impl Subscriber for Collector {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut reported =
            Reported { span: Some(attributes.metadata().name()), ..Reported::default() };
        attributes.record(&mut reported);
        self.0.lock().unwrap().push(reported);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let warning = *event.metadata().level() == Level::WARN;
        let mut reported = Reported { warning, ..Reported::default() };
        event.record(&mut reported);
        self.0.lock().unwrap().push(reported);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Collector {
    /// Returns the events during `body`, on this thread.
    fn during(body: impl FnOnce()) -> Vec<Reported> {
        let collector = Self::default();
        // With only one subscriber, tracing asks the default one of the thread that first meets a
        // span, and keeps the result for all threads. That may be a thread of another test, without
        // a subscriber. With two it asks both.
        let _another = Dispatch::new(Self::default());
        subscriber::with_default(collector.clone(), body);
        let reported = collector.0.lock().unwrap();
        reported.clone()
    }

    /// The slots of the warnings during `body`.
    fn warnings(body: impl FnOnce()) -> Vec<u64> {
        let warnings = Self::during(body).into_iter().filter(|reported| reported.warning);
        warnings
            .map(|reported| reported.slots.expect("a warning has the number of slots"))
            .collect()
    }
}

/// Takes `count` slots in one scope.
fn take_slots(pool: &mut Pool<HeapBackend>, count: usize) {
    take(&pool.scope(), count, 0);
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: hundreds of slots, of which other tests take as many")]
fn the_512th_slot_warns_once_and_so_do_its_doublings() {
    let (mut pool, _) = heap_pool_with(PoolConfig::new().name("leaky"));
    assert_eq!(Collector::warnings(|| take_slots(&mut pool, 511)), []);
    let reported = Collector::during(|| take_slots(&mut pool, 512));
    let warnings: Vec<_> = reported.into_iter().filter(|reported| reported.warning).collect();
    let expected = Reported {
        warning: true,
        span: None,
        pool: "leaky".to_owned(),
        slots: Some(512),
        message:
            "the pool has handed out 512 slots at once: is a scope missing around a loop body?"
                .to_owned(),
    };
    assert_eq!(warnings, [expected]);
    for _ in 0..2 {
        assert_eq!(Collector::warnings(|| take_slots(&mut pool, 1023)), [], "said already");
    }
    assert_eq!(Collector::warnings(|| take_slots(&mut pool, 2500)), [1024, 2048]);
    assert_eq!(Collector::warnings(|| take_slots(&mut pool, 2500)), []);
    assert_eq!(Collector::warnings(|| take_slots(&mut pool, 4096)), [4096]);
    pool.clear();
    assert_eq!(Collector::warnings(|| take_slots(&mut pool, 600)), [512], "as new after a clear");
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: hundreds of slots, of which other tests take as many")]
fn many_scopes_of_few_slots_never_warn() {
    let (mut pool, _) = heap_pool_with(PoolConfig::new());
    let warnings = Collector::warnings(|| {
        for _ in 0..600 {
            take_slots(&mut pool, 3);
        }
    });
    assert_eq!(warnings, []);
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: hundreds of slots, of which other tests take as many")]
fn dynamic_pools_warn_as_well() {
    let (mut pool, _) = dynamic_heap_pool();
    let warnings = Collector::warnings(|| {
        for _ in 0..2 {
            for _ in 0..1100 {
                pool.acquire::<u64>(0);
            }
            pool.reset();
        }
    });
    assert_eq!(warnings, [512, 1024]);
}

#[test]
fn growth_and_trim_are_spans_and_a_hot_acquire_is_silent() {
    let (mut pool, _) = heap_pool_with(PoolConfig::new().name("traced"));
    let acquire = |pool: &mut Pool<HeapBackend>| take(&pool.scope(), 1, 10);
    let reported = Collector::during(|| acquire(&mut pool));
    assert_eq!(reported.len(), 1);
    assert_eq!((reported[0].span, &*reported[0].pool), (Some("pool_growth"), "traced"));

    let reported = Collector::during(|| (0..10).for_each(|_| acquire(&mut pool)));
    assert_eq!(reported, []);

    let reported = Collector::during(|| assert_eq!(pool.trim().slots, 1));
    assert_eq!(reported.len(), 2);
    assert_eq!((reported[0].span, &*reported[0].pool), (Some("pool_trim"), "traced"));
    assert_eq!(
        (&*reported[1].message, reported[1].slots, reported[1].warning),
        ("trimmed", Some(1), false)
    );
}
