//! Random programs in which every callback calls back: hooks fire in allocations, frees, fills,
//! copies, spans, events, descriptors and closures. They do random operations on the scope, the
//! handles and the pools that they can reach, against the naive model.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use fastrand::Rng;
use pool_facade::prelude::*;
use pool_facade::{Compaction, Handle, Handles};

use crate::allocator::{Call, with_hook};
use crate::hooked::{ARMING, Hooked, NOTIFIED, Place, Refused};
use crate::live::Live;

/// The maximum depth of nested callbacks.
const NESTED: usize = 3;
/// The maximum depth of nested scopes.
const SCOPES: usize = 4;
/// Seeds of programs that belong to one `POOL_TEST_SEED`.
const PROGRAMS: u64 = 1_000_000;

/// The objects that a callback may reach, and the model of them.
struct World {
    random: RefCell<Rng>,
    live: RefCell<Live>,
    /// The innermost scope, and how many are around it.
    scope: Cell<Option<NonNull<Scope<'static, Hooked>>>>,
    depth: Cell<usize>,
    handles: Cell<Option<NonNull<Handles<'static, Hooked>>>>,
    handle: Cell<Option<Handle<u8>>>,
    nested: Cell<usize>,
    notified: RefCell<BTreeMap<Place, usize>>,
    refused: Cell<usize>,
    served: Cell<usize>,
}

thread_local! {
    static WORLD: Cell<Option<NonNull<World>>> = const { Cell::new(None) };
}

/// A panic that a program plans; thrown without a message.
struct Planned;

/// The function that every hook calls.
fn notified(place: Place) -> bool {
    let Some(world) = WORLD.get() else { return true };
    // SAFETY: set by `run` for as long as the world lives.
    let world = unsafe { world.as_ref() };
    world.notified(place)
}

fn notified_by_allocator(_: Call) -> bool {
    notified(Place::Allocator)
}

/// Bookkeeping of the test, which calls no hook.
fn quietly<R>(body: impl FnOnce() -> R) -> R {
    with_hook(None, body)
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            random: RefCell::new(Rng::with_seed(seed)),
            live: RefCell::default(),
            scope: Cell::new(None),
            depth: Cell::new(0),
            handles: Cell::new(None),
            handle: Cell::new(None),
            nested: Cell::new(0),
            notified: RefCell::default(),
            refused: Cell::new(0),
            served: Cell::new(0),
        }
    }

    fn below(&self, end: usize) -> usize {
        self.random.borrow_mut().usize(..end)
    }

    fn once_in(&self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Acts, throws or refuses, or does nothing.
    fn notified(&self, place: Place) -> bool {
        quietly(|| *self.notified.borrow_mut().entry(place).or_default() += 1);
        if self.nested.get() < NESTED && self.once_in(4) {
            self.nested.set(self.nested.get() + 1);
            for _ in 0..=self.below(2) {
                self.act(place.never_unwinds());
            }
            self.nested.set(self.nested.get() - 1);
        }
        let may_throw = !place.never_unwinds() && !std::thread::panicking();
        if may_throw && self.nested.get() == 0 && self.once_in(20) {
            quietly(|| resume_unwind(Box::new(Planned)));
        }
        place == Place::Allocator || !self.once_in(12)
    }

    /// Does one operation on any reachable object.
    fn act(&self, without_unwinding: bool) {
        match self.below(8) {
            0 => self.read_a_handle(),
            1 => quietly(|| {
                with_pool!(Cpu, |scope| {
                    scope.acquire_filled(10, 1_u8);
                    scope.trim()
                });
            }),
            _ => {
                let Some(scope) = self.scope.get() else { return };
                // SAFETY: the innermost scope is open, and used by shared references alone.
                let scope = unsafe { scope.as_ref() };
                let operation = || self.operate(scope);
                // A callback in here may panic again; if it must not, the panic ends here.
                match catch_unwind(AssertUnwindSafe(operation)) {
                    Err(thrown) if !without_unwinding || !thrown.is::<Planned>() => {
                        resume_unwind(thrown)
                    }
                    _ => {}
                }
            }
        }
    }

    fn read_a_handle(&self) {
        if let (Some(handles), Some(handle)) = (self.handles.get(), self.handle.get()) {
            // SAFETY: set while the handles are there, and used by shared references alone.
            let handles = unsafe { handles.as_ref() };
            assert_eq!(handles.get(handle).unwrap(), [0xEE; 33]);
        }
    }

    /// One operation on a scope.
    fn operate(&self, scope: &Scope<'_, Hooked>) {
        let length = [0, 1, 7, 60, 500][self.below(5)];
        let dims = [&[2, 3][..], &[7], &[4, 1, 2], &[3, 0], &[]][self.below(5)];
        let closure = |_| {
            let _served = notified(Place::Closure);
            3
        };
        let acquired = match self.below(11) {
            0 => scope.try_acquire(length),
            1 => scope.try_acquire_zeroed(length).inspect(|view| is_all(view, 0)),
            2 => scope.try_acquire_filled(length, 5).inspect(|view| is_all(view, 5)),
            3 => scope.try_acquire_from(&[6; 20]).inspect(|view| is_all(view, 6)),
            4 => scope.try_acquire_with(length.min(5), closure).inspect(|view| is_all(view, 3)),
            5 => scope.try_acquire(dims).map(NdView::into_view),
            6 => scope.try_acquire_filled(dims, 8).map(NdView::into_view),
            7 => {
                scope.trim();
                return;
            }
            8 => {
                scope.compact(&Compaction { minimum_bytes: 0, ..Compaction::default() });
                return;
            }
            9 => return scope.sample_lengths(),
            _ => {
                assert_eq!(scope.stats().active_slots, scope.active_slots());
                return;
            }
        };
        quietly(|| self.note(acquired));
    }

    fn note(&self, acquired: Result<&mut [u8], PoolError<Refused>>) {
        let depth = self.depth.get();
        match acquired {
            Ok(view) => {
                self.served.set(self.served.get() + usize::from(self.nested.get() > 0));
                self.live.borrow_mut().take(view, depth);
            }
            Err(PoolError::Reentered) => {
                assert!(self.nested.get() > 0, "refused, and nobody was in the middle of anything");
                self.refused.set(self.refused.get() + 1);
            }
            Err(
                PoolError::LimitExceeded { .. }
                | PoolError::OutOfMemory { .. }
                | PoolError::Backend { .. },
            ) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// A program in one scope, and in those that it opens.
    fn level(&self, scope: &mut Scope<'_, Hooked>, depth: usize) {
        for _ in 0..self.below(if cfg!(miri) { 5 } else { 9 }) {
            if depth < SCOPES && self.once_in(4) {
                let active = scope.active_slots();
                self.level(&mut scope.scope(), depth + 1);
                quietly(|| self.live.borrow_mut().end(depth + 1));
                assert_eq!(scope.active_slots(), active, "what the inner scope took is given back");
            }
            self.scope.set(Some(NonNull::from(&*scope).cast()));
            self.depth.set(depth);
            let thrown = catch_unwind(AssertUnwindSafe(|| self.operate(scope)));
            self.nested.set(0);
            self.scope.set(None);
            if let Err(thrown) = thrown {
                if !thrown.is::<Planned>() {
                    resume_unwind(thrown);
                }
                quietly(|| drop(thrown));
            }
            self.live.borrow().verify();
        }
    }

    fn config(&self) -> PoolConfig {
        let config = PoolConfig::new().ways(1 + self.below(3));
        let config = config.poison(self.once_in(6)).fresh(self.once_in(6));
        if self.once_in(4) { config.byte_limit(2_000 + self.below(4_000)) } else { config }
    }

    /// A program in a lexical pool, in rounds.
    fn lexical(&self) {
        let Ok(mut pool) = Pool::<Hooked>::with_config((), self.config()) else { return };
        for _ in 0..3 {
            self.level(&mut pool.scope(), 0);
            quietly(|| self.live.borrow_mut().end(0));
        }
        WORLD.set(None);
    }

    /// A program in a scope beside handles.
    fn beside_handles(&self) {
        let pool = quietly(|| {
            WORLD.set(None);
            let mut pool = DynamicPool::<Hooked>::with_config((), self.config()).unwrap();
            self.handle.set(pool.try_acquire_filled(33, 0xEE_u8).ok());
            WORLD.set(Some(NonNull::from(self)));
            pool
        });
        let mut pool = pool;
        {
            let (handles, mut scope) = pool.split();
            self.handles.set(Some(NonNull::from(&handles).cast()));
            self.level(&mut scope, 0);
            self.handles.set(None);
        }
        quietly(|| self.live.borrow_mut().end(0));
        WORLD.set(None);
    }
}

fn is_all(view: &[u8], value: u8) {
    assert!(view.iter().all(|&byte| byte == value), "{view:?}");
}

/// Prints the program that failed.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("program {} of POOL_TEST_SEED={}", self.0 % PROGRAMS, self.0 / PROGRAMS);
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Runs random programs; returns the number of calls at each place, and the numbers of refused and
/// served re-entries.
fn run(program: impl Fn(&World)) -> (BTreeMap<Place, usize>, usize, usize) {
    let cases = number("POOL_TEST_CASES").unwrap_or(if cfg!(miri) { 25 } else { 2_000 });
    let first = number("POOL_TEST_SEED").unwrap_or(0) * PROGRAMS;
    let (mut places, mut refused, mut served) = (BTreeMap::new(), 0, 0);
    for seed in first..first + cases {
        let _named = Named(seed);
        let world = World::new(seed);
        WORLD.set(Some(NonNull::from(&world)));
        NOTIFIED.set(notified);
        ARMING.set(seed % 3 == 0);
        with_hook(Some(notified_by_allocator), || program(&world));
        WORLD.set(None);
        assert_eq!(world.live.borrow().count(), 0);
        for (place, times) in world.notified.take() {
            *places.entry(place).or_default() += times;
        }
        refused += world.refused.get();
        served += world.served.get();
    }
    println!("{cases} programs, {places:?}; re-entries: {refused} refused, {served} served");
    (places, refused, served)
}

/// Checks that hooks ran at every place, and that some re-entries were refused and some served.
fn assert_covered((places, refused, served): (BTreeMap<Place, usize>, usize, usize)) {
    // A few programs on request need not reach every place.
    if number("POOL_TEST_CASES").is_some_and(|cases| cases < 25) {
        return;
    }
    let least = if cfg!(miri) { 8 } else { 11 };
    assert!(places.len() >= least, "{places:?}");
    assert!(refused > 0 && served > 0, "{refused} refused, {served} served");
}

#[cfg(feature = "tracing")]
mod telling {
    //! Spans and events, which run the hook as everything else does.

    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::{Place, notified};

    pub(super) struct Telling;

    impl Subscriber for Telling {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            let _served = notified(Place::Span);
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Event<'_>) {
            let _served = notified(Place::Event);
        }

        fn enter(&self, _: &Id) {
            let _served = notified(Place::Span);
        }

        /// A span may be left while it is unwound: nothing is thrown from here.
        fn exit(&self, _: &Id) {
            let _served = notified(Place::Allocator);
        }
    }
}

#[cfg(feature = "tracing")]
fn with_subscriber<R>(body: impl FnOnce() -> R) -> R {
    tracing::subscriber::with_default(telling::Telling, body)
}

#[cfg(not(feature = "tracing"))]
fn with_subscriber<R>(body: impl FnOnce() -> R) -> R {
    body()
}

#[test]
fn random_programs_whose_callbacks_call_back() {
    assert_covered(with_subscriber(|| run(World::lexical)));
}

#[test]
fn random_programs_beside_handles_whose_callbacks_call_back() {
    assert_covered(with_subscriber(|| run(World::beside_handles)));
}
