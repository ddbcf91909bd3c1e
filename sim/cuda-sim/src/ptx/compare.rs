//! Comparisons: of whole numbers, and of numbers with a point that may be none.

use std::cmp::Ordering::{self, Equal, Greater, Less};

use super::float;
use super::integer::Integer;
use super::op::Test;
use super::types::Type;
use half::{bf16, f16};

/// What can be compared, read from a register.
trait Comparable {
    fn order(a: u64, b: u64) -> Option<Ordering>;
}

struct Whole<I>(I);
struct Single;
struct Flushed;
struct Double;
struct Half;
struct Brain;

impl<I: Integer> Comparable for Whole<I> {
    fn order(a: u64, b: u64) -> Option<Ordering> {
        Some(I::get(a).cmp(&I::get(b)))
    }
}

impl Comparable for Single {
    fn order(a: u64, b: u64) -> Option<Ordering> {
        float::single(a, false).partial_cmp(&float::single(b, false))
    }
}

impl Comparable for Flushed {
    fn order(a: u64, b: u64) -> Option<Ordering> {
        float::single(a, true).partial_cmp(&float::single(b, true))
    }
}

impl Comparable for Double {
    fn order(a: u64, b: u64) -> Option<Ordering> {
        f64::from_bits(a).partial_cmp(&f64::from_bits(b))
    }
}

impl Comparable for Half {
    fn order(a: u64, b: u64) -> Option<Ordering> {
        let [a, b] = [a, b].map(|bits| f16::from_bits((bits & 0xFFFF) as u16));
        a.partial_cmp(&b)
    }
}

impl Comparable for Brain {
    fn order(a: u64, b: u64) -> Option<Ordering> {
        let [a, b] = [a, b].map(|bits| bf16::from_bits((bits & 0xFFFF) as u16));
        a.partial_cmp(&b)
    }
}

/// Comparisons by their names in PTX; those that end in `u` hold where one side is no number.
fn named<C: Comparable>(name: &str, is_float: bool) -> Option<Test> {
    Some(match name {
        "eq" => |a, b| C::order(a, b) == Some(Equal),
        "ne" => |a, b| matches!(C::order(a, b), Some(Less | Greater)),
        "lt" | "lo" => |a, b| C::order(a, b) == Some(Less),
        "le" | "ls" => |a, b| matches!(C::order(a, b), Some(Less | Equal)),
        "gt" | "hi" => |a, b| C::order(a, b) == Some(Greater),
        "ge" | "hs" => |a, b| matches!(C::order(a, b), Some(Greater | Equal)),
        _ if !is_float => return None,
        "equ" => |a, b| !matches!(C::order(a, b), Some(Less | Greater)),
        "neu" => |a, b| C::order(a, b) != Some(Equal),
        "ltu" => |a, b| !matches!(C::order(a, b), Some(Greater | Equal)),
        "leu" => |a, b| C::order(a, b) != Some(Greater),
        "gtu" => |a, b| !matches!(C::order(a, b), Some(Less | Equal)),
        "geu" => |a, b| C::order(a, b) != Some(Less),
        "num" => |a, b| C::order(a, b).is_some(),
        "nan" => |a, b| C::order(a, b).is_none(),
        _ => return None,
    })
}

/// The comparison of a name and a type.
pub(crate) fn test(name: &str, ty: Type, flush: bool) -> Option<Test> {
    match ty {
        Type::U16 | Type::B16 => named::<Whole<u16>>(name, false),
        Type::U32 | Type::B32 => named::<Whole<u32>>(name, false),
        Type::U64 | Type::B64 => named::<Whole<u64>>(name, false),
        Type::S16 => named::<Whole<i16>>(name, false),
        Type::S32 => named::<Whole<i32>>(name, false),
        Type::S64 => named::<Whole<i64>>(name, false),
        Type::F32 if flush => named::<Flushed>(name, true),
        Type::F32 => named::<Single>(name, true),
        Type::F64 => named::<Double>(name, true),
        Type::F16 => named::<Half>(name, true),
        Type::Bf16 => named::<Brain>(name, true),
        _ => None,
    }
}
