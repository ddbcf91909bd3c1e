//! `tracing` subscribers that use a growing pool, through a leaked scope, in the event of its
//! growth. They are refused, and no two views share memory.

use std::cell::{Cell, RefCell};

use pool_core::{Pool, PoolError, PoolView, Scope, error_chain};
use pool_cuda::{Cuda, CudaDevice, CudaError, DeviceViewMut, record_use};
use tracing::{Event, Metadata, Subscriber, span, subscriber};

use crate::support::{orders, pool, start, start_anew};

/// The number of elements in a subscriber's array.
const N: usize = 1000;

thread_local! {
    static SCOPE: Cell<Option<&'static Scope<'static, Cuda>>> = const { Cell::new(None) };
    static VIEWS: RefCell<Vec<DeviceViewMut<'static, u8>>> = const { RefCell::new(Vec::new()) };
    static REFUSED: Cell<usize> = const { Cell::new(0) };
}

/// A subscriber that acquires in every event.
struct Acquiring;

impl Acquiring {
    fn acquire() {
        // The subscriber does not acquire in events of its own acquires.
        let Some(scope) = SCOPE.take() else { return };
        match scope.try_acquire_filled(N, 9_u8) {
            Ok(view) => VIEWS.with_borrow_mut(|views| views.push(view)),
            Err(PoolError::Reentered) => REFUSED.set(REFUSED.get() + 1),
            Err(error) => panic!("{}", error_chain(&error)),
        }
        SCOPE.set(Some(scope));
    }
}

impl Subscriber for Acquiring {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        Self::acquire();
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &Event<'_>) {
        Self::acquire();
    }

    fn enter(&self, _: &span::Id) {
        Self::acquire();
    }

    fn exit(&self, _: &span::Id) {
        Self::acquire();
    }
}

/// Grows slots of a leaked pool, trims the pool, and continues.
fn use_a_leaked_pool(device: &CudaDevice) -> Result<(), PoolError<CudaError>> {
    let pool: &'static mut Pool<Cuda> = Box::leak(Box::new(pool(device)));
    let other = device.context().new_stream().unwrap();
    {
        let scope = pool.scope();
        scope.try_acquire_filled(N, 1_u8)?;
    }
    let scope: &'static Scope<'static, Cuda> = Box::leak(Box::new(pool.scope()));
    SCOPE.set(Some(scope));
    let mut views = Vec::new();
    for (value, length) in (1_u8..).zip([N, 5 * N, N / 10, 100 * N, 3 * N]) {
        let view = scope.try_acquire_filled(length, value)?;
        record_use(&view, &other).unwrap();
        views.push(view);
        scope.trim();
    }
    SCOPE.set(None);
    for (value, view) in (1_u8..).zip(&views) {
        assert!(view.copy_to_vec().unwrap().iter().all(|found| *found == value), "of view {value}");
    }
    views.extend(VIEWS.take());
    let mut ranges: Vec<_> =
        views.iter().map(|view| view.address()..view.address() + view.len() as u64).collect();
    ranges.sort_by_key(|range| range.start);
    for pair in ranges.windows(2) {
        assert!(pair[0].end <= pair[1].start, "two views of the same memory: {pair:x?}");
    }
    Ok(())
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_subscriber_that_enters_the_pool_that_grows_is_refused() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, cuda_sim_control::Settings::default(), seed);
        let device = Cuda::device(0).unwrap();
        subscriber::with_default(Acquiring, || use_a_leaked_pool(&device)).unwrap();
        assert!(REFUSED.take() > 0, "there was no event of growth");
        simulator.assert_clean();
    }
}
