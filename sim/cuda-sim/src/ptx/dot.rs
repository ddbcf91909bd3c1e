//! `dp4a` and `dp2a`: dot products of small integers that are packed into registers.

use super::function::Three;

/// Returns a bit field of a register by its first bit and its width, signed or unsigned.
fn part<const SIGNED: bool>(bits: u64, first: u32, width: u32) -> i64 {
    let free = 64 - width;
    let raised = bits >> first << free;
    if SIGNED {
        i64::from_ne_bytes(raised.to_ne_bytes()) >> free
    } else {
        i64::from_ne_bytes((raised >> free).to_ne_bytes())
    }
}

fn low_word(sum: i64) -> u64 {
    u64::from_ne_bytes(sum.to_ne_bytes()) & 0xFFFF_FFFF
}

fn four<const A: bool, const B: bool>(a: u64, b: u64, c: u64) -> u64 {
    let product = |index: u32| part::<A>(a, 8 * index, 8) * part::<B>(b, 8 * index, 8);
    low_word((0..4).map(product).sum::<i64>() + part::<true>(c, 0, 32))
}

fn two<const A: bool, const B: bool, const HIGH: bool>(a: u64, b: u64, c: u64) -> u64 {
    let start = if HIGH { 16 } else { 0 };
    let product = |index: u32| part::<A>(a, 16 * index, 16) * part::<B>(b, start + 8 * index, 8);
    low_word((0..2).map(product).sum::<i64>() + part::<true>(c, 0, 32))
}

/// Returns `dp4a` for the signedness of its two operands.
pub(crate) fn of_four(signs: (bool, bool)) -> Three {
    match signs {
        (false, false) => four::<false, false>,
        (false, true) => four::<false, true>,
        (true, false) => four::<true, false>,
        (true, true) => four::<true, true>,
    }
}

/// Returns `dp2a` for the signedness of its two operands, and for the half of the second operand
/// that it reads.
pub(crate) fn of_two(signs: (bool, bool), high: bool) -> Three {
    match (signs, high) {
        ((false, false), false) => two::<false, false, false>,
        ((false, true), false) => two::<false, true, false>,
        ((true, false), false) => two::<true, false, false>,
        ((true, true), false) => two::<true, true, false>,
        ((false, false), true) => two::<false, false, true>,
        ((false, true), true) => two::<false, true, true>,
        ((true, false), true) => two::<true, false, true>,
        ((true, true), true) => two::<true, true, true>,
    }
}
