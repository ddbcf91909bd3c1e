//! Runs the [sweep](crate::sweep) over random programs on two devices, and over copies between two
//! pools.

use pool_core::{Pool, PoolView, PoolViewMut, Scope};
use pool_cuda::{Cuda, DeviceViewMut};

use crate::random::take_in_spite_of_failures;
use crate::support::start;
use crate::sweep::{Programs, sweep};

const N: usize = 2000;

/// Copies between two pools, on one device or on two, and overwrites the source after each copy.
/// This extends `gone.rs`.
fn copies(number: u64, arm: &dyn Fn()) -> (usize, usize) {
    let devices = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
    let on = |ordinal: usize| Pool::<Cuda>::new(devices[ordinal].new_stream().unwrap());
    let mut pools = [on(0), on(usize::from(number % 2 == 1))];
    let other = devices[0].context().new_stream().unwrap();
    let [one, two] = pools.each_mut().map(Pool::scope);
    let mut views = [acquire(&one, 1), acquire(&two, 2), acquire(&one, 3)];
    arm();
    let (mut errors, mut wrong) = (0, 0);
    for round in 0..8_u32 {
        let (to, from) = ((round as usize + 1) % 3, round as usize % 3);
        let [(to, is), (from, value)] = views.get_disjoint_mut([to, from]).unwrap();
        *is = None;
        match to.copy_from(from.as_view()) {
            Ok(()) => *is = *value,
            Err(_) => errors += 1,
        }
        if number.is_multiple_of(3) && round % 3 == 1 && other.memset_zeros(from).is_ok() {
            *value = Some(0);
        }
        *value = None;
        match from.fill_with_value(10 + round) {
            Ok(()) => *value = Some(10 + round),
            Err(_) => errors += 1,
        }
    }
    for (view, value) in &views {
        match (view.copy_to_vec(), value) {
            (Ok(found), Some(value)) => wrong += usize::from(found != [*value; N]),
            (Ok(_), None) => {}
            (Err(_), _) => errors += 1,
        }
    }
    (errors, wrong)
}

fn acquire<'s>(scope: &'s Scope<'_, Cuda>, value: u32) -> (DeviceViewMut<'s, u32>, Option<u32>) {
    (scope.try_acquire_filled(N, value).unwrap(), Some(value))
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn ordering_calls_that_fail_in_eager_programs() {
    let kinds = [
        Programs { name: "two devices", devices: 2, run: &take_in_spite_of_failures },
        Programs { name: "copies", devices: 2, run: &copies },
    ];
    sweep(start(), &kinds);
}
