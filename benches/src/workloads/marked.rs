//! Marked slots: the cost of slots that hold, or may hold, uninitialised bytes, compared with
//! unmarked slots and vectors.

use std::mem::MaybeUninit;

use pool_facade::HostBackend;
use pool_facade::prelude::*;

use super::on_columns::on_columns;
use super::small::Empty;
use crate::case::{Case, Work};
use crate::column::{escape, touch};

/// Sixteen bytes. Seven of them are padding, so such elements mark their slot.
type Padded = (u8, u64);
/// Sixteen bytes without padding.
type Plain = [f64; 2];

const PADDED: Padded = (1, 2);
const PLAIN: Plain = [1.0, 2.0];

pub(super) fn cases() -> Vec<Case> {
    let room = on_columns!("marked slots", "room for f64, one byte touched":
        "empty" => Empty,
        "caller-kept" => KeptRoom,
        "pool, marked" => MarkedRoom,
        "pool, not marked" => PlainRoom,
        "with_capacity" => NewRoom,
    );
    let written = on_columns!("marked slots", "pairs with padding, all written":
        "empty" => Empty,
        "caller-kept" => KeptPairs,
        "pool, marked" => MarkedPairs,
        "pool, not marked" => PlainPairs,
        "vec![x; n]" => NewPairs,
    );
    let turns = on_columns!("marked slots", "pairs written, then the bytes handed out recycled":
        "empty" => Empty,
        "pool, marked" => MarkedTurns,
        "pool, not marked" => PlainTurns,
        "vec![x; n], vec![0; n]" => NewTurns,
    );
    let beside = on_columns!("marked slots", "three arrays of f64 beside live pairs with padding":
        "empty" => Empty,
        "pool, marked" => MarkedBeside,
        "pool, not marked" => PlainBeside,
        "pool, stacked, marked" => StackedMarkedBeside,
        "pool, stacked, not marked" => StackedPlainBeside,
    );
    [room.to_vec(), written.to_vec(), turns.to_vec(), beside.to_vec()].concat()
}

/// Acquires a pair, and three arrays of numbers that may be read while the pair is live.
#[inline(always)]
fn beside<B, T>(scope: &Scope<'_, B>, pair: T, length: usize)
where
    B: HostBackend + for<'s> PoolBackend<View<'s, f64> = &'s mut [f64]>,
    T: Copy + 'static,
{
    let pairs = scope.acquire_with(1, |_| pair);
    for _ in 0..3 {
        touch(&mut scope.acquire::<f64, _>(length));
    }
    escape(pairs.as_ptr());
}

/// Defines works that share one state. Each work is a single function.
macro_rules! works {
    ($($about:literal $name:ident($state:ty = $new:expr) = |$own:ident, $length:ident| $run:block)+) => {$(
        #[doc = $about]
        #[derive(Debug)]
        pub struct $name($state);

        impl Work for $name {
            fn new() -> Self {
                Self($new)
            }

            #[inline(never)]
            fn run(&mut self, $length: usize, _: usize, _: usize) {
                let $own = &mut self.0;
                $run
            }
        }
    )+};
}

works! {
    "Room that the caller keeps."
    KeptRoom(Vec<MaybeUninit<f64>> = Vec::new()) = |room, length| {
        if room.len() < length {
            room.resize(length, MaybeUninit::uninit());
        }
        touch(&mut &mut room[..length]);
    }
    "Room in a slot that is marked, and written first at every use."
    MarkedRoom(Pool<Cpu> = Pool::new(())) = |pool, length| {
        touch(&mut pool.scope().acquire_uninit::<f64, _>(length));
    }
    "Recycled numbers in a slot that is never marked."
    PlainRoom(Pool<Cpu> = Pool::new(())) = |pool, length| {
        touch(&mut pool.scope().acquire::<f64, _>(length));
    }
    "Room in a new vector."
    NewRoom(() = ()) = |_own, length| {
        touch(&mut Vec::<f64>::with_capacity(length));
    }
    "Pairs in a vector that the caller keeps."
    KeptPairs(Vec<Padded> = Vec::new()) = |pairs, length| {
        pairs.clear();
        pairs.resize(length, PADDED);
        touch(&mut &mut pairs[..]);
    }
    "Pairs in a marked slot."
    MarkedPairs(Pool<Cpu> = Pool::new(())) = |pool, length| {
        touch(&mut pool.scope().acquire_with(length, |_| PADDED));
    }
    "As many bytes in a slot that is not marked."
    PlainPairs(Pool<Cpu> = Pool::new(())) = |pool, length| {
        touch(&mut pool.scope().acquire_with(length, |_| PLAIN));
    }
    "Pairs in a new vector."
    NewPairs(() = ()) = |_own, length| {
        touch(&mut vec![PADDED; length]);
    }
    "Pairs in a slot, and then its bytes, which have to be zeroed."
    MarkedTurns(Pool<Cpu> = Pool::new(())) = |pool, length| {
        touch(&mut pool.scope().acquire_with(length, |_| PADDED));
        touch(&mut pool.scope().acquire::<u64, _>(2 * length));
    }
    "As many bytes in a slot that is not marked, and then its bytes."
    PlainTurns(Pool<Cpu> = Pool::new(())) = |pool, length| {
        touch(&mut pool.scope().acquire_with(length, |_| PLAIN));
        touch(&mut pool.scope().acquire::<u64, _>(2 * length));
    }
    "A pair with padding, and numbers while it is live."
    MarkedBeside(Pool<Cpu> = Pool::new(())) = |pool, length| {
        beside(&pool.scope(), PADDED, length);
    }
    "A pair without padding, and numbers while it is live."
    PlainBeside(Pool<Cpu> = Pool::new(())) = |pool, length| {
        beside(&pool.scope(), PLAIN, length);
    }
    "A pair with padding in a stack, and numbers while it is live."
    StackedMarkedBeside(Pool<Stacked<Cpu>> = Pool::new(())) = |pool, length| {
        beside(&pool.scope(), PADDED, length);
    }
    "A pair without padding in a stack, and numbers while it is live."
    StackedPlainBeside(Pool<Stacked<Cpu>> = Pool::new(())) = |pool, length| {
        beside(&pool.scope(), PLAIN, length);
    }
    "Pairs in a new vector, and then another one of zeros."
    NewTurns(() = ()) = |_own, length| {
        touch(&mut vec![PADDED; length]);
        touch(&mut vec![0_u64; 2 * length]);
    }
}
