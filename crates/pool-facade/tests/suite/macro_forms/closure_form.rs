//! The form that rustfmt formats: it reads as a closure, and is none.

use pool_facade::LocalPool;
use pool_facade::prelude::*;

use super::{Refused, idle_pools, returns_its_pool};

/// A backend named through another type.
trait Itself {
    type Type;
}

impl Itself for Cpu {
    type Type = Self;
}

#[test]
fn backends_are_named_before_the_scopes() {
    fn generic<B: LocalPool>(n: usize) -> usize {
        with_pool!(B, |scope| {
            scope.acquire_zeroed::<f32, _>(n);
            scope.active_slots()
        })
    }
    let values = returns_its_pool(|| {
        [
            with_pool!(|scope| { scope.acquire_zeroed::<u8, _>(1).len() }),
            with_pool!(|scope| scope.acquire_zeroed::<u8, _>(2).len()),
            with_pool!(Cpu, |scope| scope.acquire_zeroed::<u8, _>(3).len()),
            with_pool!(<Cpu as Itself>::Type, |scope| { scope.acquire_zeroed::<u8, _>(4).len() },),
            generic::<Cpu>(5),
            try_with_pool!(|scope| scope.acquire_zeroed::<u8, _>(6).len()).unwrap(),
            try_with_pool!(Cpu, |scope| { scope.acquire_zeroed::<u8, _>(7).len() }).unwrap(),
        ]
    });
    assert_eq!(values, [1, 2, 3, 4, 1, 6, 7]);
}

#[test]
fn several_pools() {
    let (sum, tried, pools) = std::thread::spawn(|| {
        let sum = with_pool!(Cpu, Cpu, Cpu, |left, middle, right| {
            let (a, b) = (left.acquire_filled(2, 1_u64), right.acquire_filled(2, 2_u64));
            a.iter().chain(b.iter()).sum::<u64>() + middle.active_slots() as u64
        });
        let tried = try_with_pool!(Cpu, Cpu, |left, right| {
            right.try_acquire_from(left.try_acquire_filled(3, 5_u64).unwrap()).unwrap().len()
        });
        (sum, tried, idle_pools())
    })
    .join()
    .unwrap();
    assert_eq!((sum, tried, pools), (6, Ok(3), 3));
}

/// `return`, `?` and `break` leave the same function or loop as without the macro: there is no
/// closure.
#[test]
fn the_block_stands_in_the_function() {
    fn early(n: usize) -> usize {
        with_pool!(|scope| {
            if scope.acquire_zeroed::<u8, _>(n).len() > 3 {
                return 100;
            }
        });
        n
    }
    fn question(n: usize) -> Result<usize, Refused> {
        let length = with_pool!(|scope| scope.try_acquire_zeroed::<u64, _>(n)?.len());
        Ok(length + 1)
    }
    fn labels() -> u32 {
        let mut rounds = 0;
        'rounds: loop {
            with_pool!(Cpu, |scope| {
                rounds += 1;
                if rounds < 3 {
                    continue 'rounds;
                }
                let mut inner = scope.scope();
                inner.scope().acquire_zeroed::<u8, _>(1);
                break 'rounds;
            });
        }
        rounds
    }
    let found = returns_its_pool(|| {
        (early(3), early(4), question(5), question(usize::MAX).is_err(), labels())
    });
    assert_eq!(found, (3, 100, Ok(6), true, 3));
}

/// Variables are moved and borrowed as in any block.
#[test]
fn nothing_is_captured() {
    let owned = String::from("moved");
    let mut count = 0;
    let moved = with_pool!(|scope| {
        count += scope.acquire_from(owned.as_bytes()).len();
        owned
    });
    assert_eq!((moved.as_str(), count), ("moved", 5));
}
