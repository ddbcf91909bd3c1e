//! Additions and subtractions with a carry, for integers that are wider than a register.

use super::integer::{Integer, by_integer};
use super::op::Carried;
use super::types::Type;

/// Returns the sum of two numbers and a carry, together with the carry out.
fn sum<I: Integer>(a: I, b: I, carry: u64) -> (u64, u64) {
    let whole = u128::from(a.bits()) + u128::from(b.bits()) + u128::from(carry & 1);
    let low = u64::try_from(whole & u128::from(u64::MAX)).unwrap_or(0);
    (I::get(low).put(), u64::from(whole >> I::BITS & 1 == 1))
}

fn add<I: Integer>(a: u64, b: u64, _: u64, carry: u64) -> (u64, u64) {
    sum(I::get(a), I::get(b), carry)
}

/// Subtracts with a borrow. The carry in and the carry out both represent the borrow.
fn subtract<I: Integer>(a: u64, b: u64, _: u64, borrow: u64) -> (u64, u64) {
    let (a, b) = (I::get(a), I::get(b));
    let less = u128::from(b.bits()) + u128::from(borrow & 1);
    let without = a.subtract(b).subtract(I::get(borrow & 1));
    (without.put(), u64::from(u128::from(a.bits()) < less))
}

fn multiply_low<I: Integer>(a: u64, b: u64, c: u64, carry: u64) -> (u64, u64) {
    sum(I::get(a).multiply(I::get(b)), I::get(c), carry)
}

fn multiply_high<I: Integer>(a: u64, b: u64, c: u64, carry: u64) -> (u64, u64) {
    sum(I::get(a).multiply_high(I::get(b)), I::get(c), carry)
}

/// Returns a function of three numbers and a carry, for a type of 32 or 64 bits. The name is PTX's,
/// without the `c` for the carry.
pub(crate) fn function(name: &str, half: Option<&str>, ty: Type) -> Option<Carried> {
    if !matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64) {
        return None;
    }
    Some(match (name, half) {
        ("add", None) => by_integer!(ty, add),
        ("sub", None) => by_integer!(ty, subtract),
        ("mad", Some("lo")) => by_integer!(ty, multiply_low),
        ("mad", Some("hi")) => by_integer!(ty, multiply_high),
        _ => return None,
    })
}
