//! Comparisons of integers and of floating-point numbers, which may be NaN.

use std::cmp::Ordering::{self, Equal, Greater, Less};

use super::float;
use super::integer::Integer;
use super::op::Test;
use super::types::Type;
use half::{bf16, f16};

/// A value that is read from a register and can be compared.
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

/// The set of comparison names that a type supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    /// Untyped bits are only compared for equality.
    Bits,
    Signed,
    /// Unsigned numbers have their own names for less and greater.
    Unsigned,
    /// For floats, either side may be NaN.
    Float,
}

/// Returns `true` if the text is the name of a comparison.
pub(crate) fn is_name(name: &str) -> bool {
    named::<Single>(name, Names::Float).is_some()
        || named::<Whole<u32>>(name, Names::Unsigned).is_some()
}

/// Returns a comparison by its PTX name. Comparisons whose names end in `u` also hold if one side
/// is NaN.
fn named<C: Comparable>(name: &str, names: Names) -> Option<Test> {
    Some(match name {
        "eq" => |a, b| C::order(a, b) == Some(Equal),
        "ne" => |a, b| matches!(C::order(a, b), Some(Less | Greater)),
        _ if names == Names::Bits => return None,
        "lt" => |a, b| C::order(a, b) == Some(Less),
        "le" => |a, b| matches!(C::order(a, b), Some(Less | Equal)),
        "gt" => |a, b| C::order(a, b) == Some(Greater),
        "ge" => |a, b| matches!(C::order(a, b), Some(Greater | Equal)),
        "lo" if names == Names::Unsigned => return named::<C>("lt", names),
        "ls" if names == Names::Unsigned => return named::<C>("le", names),
        "hi" if names == Names::Unsigned => return named::<C>("gt", names),
        "hs" if names == Names::Unsigned => return named::<C>("ge", names),
        _ if names != Names::Float => return None,
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

/// Returns the comparison for a name and a type.
pub(crate) fn test(name: &str, ty: Type, flush: bool) -> Option<Test> {
    match ty {
        Type::B16 => named::<Whole<u16>>(name, Names::Bits),
        Type::B32 => named::<Whole<u32>>(name, Names::Bits),
        Type::B64 => named::<Whole<u64>>(name, Names::Bits),
        Type::U16 => named::<Whole<u16>>(name, Names::Unsigned),
        Type::U32 => named::<Whole<u32>>(name, Names::Unsigned),
        Type::U64 => named::<Whole<u64>>(name, Names::Unsigned),
        Type::S16 => named::<Whole<i16>>(name, Names::Signed),
        Type::S32 => named::<Whole<i32>>(name, Names::Signed),
        Type::S64 => named::<Whole<i64>>(name, Names::Signed),
        Type::F32 if flush => named::<Flushed>(name, Names::Float),
        Type::F32 => named::<Single>(name, Names::Float),
        Type::F64 => named::<Double>(name, Names::Float),
        Type::F16 => named::<Half>(name, Names::Float),
        Type::Bf16 => named::<Brain>(name, Names::Float),
        _ => None,
    }
}
