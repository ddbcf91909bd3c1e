//! Random programs over a shared pool and a naive model, which holds the bytes and the contents of every array.

use pool_conformance::programs::test_cases;
use pool_conformance::{HeapBackend, Ledger};
use pool_core::{Owned, PoolConfig, PoolError, SharedPool};

/// An array and its model.
struct Live {
    array: Owned<HeapBackend, u32>,
    /// Each element is this number and its index, hashed.
    number: u32,
}

impl Live {
    fn element(number: u32, index: usize) -> u32 {
        number.wrapping_mul(0x9E37_79B9) ^ u32::try_from(index).unwrap()
    }

    fn range(&self) -> std::ops::Range<usize> {
        let start = self.array.as_ptr().addr();
        start..start + size_of_val(&self.array[..])
    }

    fn check(&self) {
        let is_own = |(index, &value): (usize, &u32)| value == Self::element(self.number, index);
        assert!(self.array.iter().enumerate().all(is_own), "array {} changed", self.number);
    }
}

/// The steps of one program.
const STEPS: u32 = if cfg!(miri) { 40 } else { 400 };

fn run(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let ledger = Ledger::default();
    let limit = if random.bool() { usize::MAX } else { random.usize(1000..100_000) };
    let config = PoolConfig::new().byte_limit(limit).poison(random.u8(..4) == 0);
    let pool = SharedPool::<HeapBackend>::with_config(ledger.clone(), config).unwrap();
    let mut live: Vec<Live> = Vec::new();
    let longest = if cfg!(miri) { 80 } else { 5_000 };
    for number in 0..STEPS {
        match random.u8(..10) {
            0..5 => {
                let length = random.usize(..longest) >> random.u32(..8);
                let element = |index| Live::element(number, index);
                let taken = match random.u8(..4) {
                    0 => pool.try_take_with(length, element),
                    1 => pool.try_take_from(&(0..length).map(element).collect::<Vec<_>>()),
                    2 => pool.try_take_zeroed(length).inspect(|array| {
                        assert!(array.iter().all(|&value| value == 0));
                    }),
                    _ => pool.try_take(length),
                };
                match taken {
                    Ok(mut array) => {
                        assert_eq!(array.len(), length);
                        array.iter_mut().enumerate().for_each(|(i, value)| *value = element(i));
                        let new = Live { array, number };
                        let range = new.range();
                        let is_apart = |other: &Live| {
                            let other = other.range();
                            range.end <= other.start || other.end <= range.start
                        };
                        assert!(range.is_empty() || live.iter().all(is_apart), "overlap");
                        live.push(new);
                    }
                    Err(PoolError::LimitExceeded { requested, reserved, .. }) => {
                        assert!(reserved + requested > limit);
                        let held: usize = live.iter().map(|live| live.range().len()).sum();
                        assert!(held + requested > limit / 2, "refused without need");
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            5..8 => {
                if let Some(last) = live.len().checked_sub(1) {
                    live.swap_remove(random.usize(..=last)).check();
                }
            }
            8 => {
                let padded = pool.try_take_with(random.usize(..20), |i| (i == 3, number));
                drop(padded);
            }
            _ => {
                if random.u8(..4) == 0 {
                    pool.trim();
                    let held: usize = ledger.live_bytes();
                    assert_eq!(pool.stats().reserved_bytes, held);
                }
            }
        }
        assert_eq!(pool.stats().active_slots, live.len());
        assert!(ledger.live_bytes() <= limit);
        assert_eq!(pool.stats().reserved_bytes, ledger.live_bytes());
    }
    live.iter().for_each(Live::check);
    if random.bool() {
        drop(pool);
        drop(live);
    } else {
        drop(live);
        drop(pool);
    }
    assert_eq!((ledger.live_blocks(), ledger.faults().len()), (0, 0));
}

#[test]
fn random_programs_of_owned_arrays() {
    let cases = if cfg!(miri) { 3 } else { u64::from(test_cases() / 10) };
    (0..cases).for_each(run);
}
