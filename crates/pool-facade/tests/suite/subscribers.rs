//! Subscribers of `tracing` that use pools of the thread themselves, while a guard works on the idle ones.

use pool_facade::Compaction;
use pool_facade::prelude::*;
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber, subscriber};

use crate::support::{idle_pools, make_idle, on_fresh_thread};

/// Takes two pools whenever a span is opened.
struct Working;

impl Subscriber for Working {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        with_pool!(Cpu, Cpu, |one, other| {
            assert_eq!((one.active_slots(), other.active_slots()), (0, 0));
        });
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Each of these visits the pools that are idle when it begins, and no others.
#[test]
fn what_is_done_to_idle_pools_ends_though_a_subscriber_makes_more() {
    on_fresh_thread(|| {
        make_idle(3);
        let mut guard = local::<Cpu>();
        // With only one subscriber, tracing asks the default one of the thread that first meets a
        // span, and keeps the result for all threads. That may be a thread of another test, without
        // a subscriber. With two it asks both.
        let _another = Dispatch::new(Working);
        subscriber::with_default(Working, || {
            assert_eq!(guard.trim().slots, 3);
            guard.compact(&Compaction::default());
            guard.clear();
            assert_eq!(guard.stats().reserved_bytes, 0);
        });
        drop(guard);
        assert_eq!(idle_pools(), 7, "three, and two that each of trim and clear saw made");
    });
}
