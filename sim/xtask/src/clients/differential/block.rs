//! Operations by all threads of a block: barriers, and exchanges between two barriers.

use super::collective::{Collective, Member, Party, QUESTIONS};
use super::prelude::bits_of;
use super::program::THREADS;
use super::values::{TYPES, Type};

/// Pairs of barriers: the one that C++ provides, and instructions that no C++ function provides.
const BARRIERS: [[&str; 2]; 2] = [
    ["__syncthreads();"; 2],
    [
        "asm volatile(\"bar.sync 3;\" ::: \"memory\");",
        "asm volatile(\"barrier.cta.sync 4;\" ::: \"memory\");",
    ],
];

/// Returns all operations of blocks.
pub(super) fn operations() -> Vec<Collective> {
    let mut all = Vec::new();
    for (question, holds) in QUESTIONS {
        for (text, answer) in [
            (
                format!("value = __syncthreads_count({question});"),
                (|yes, _| yes) as fn(usize, usize) -> usize,
            ),
            (format!("value = __syncthreads_and({question}) != 0;"), |yes, all| {
                usize::from(yes == all)
            }),
            (format!("value = __syncthreads_or({question}) != 0;"), |yes, _| usize::from(yes > 0)),
        ] {
            all.push(Collective::of_all(
                Party::Block,
                &text,
                Type::U32,
                Type::U32,
                move |values| {
                    let yes = values.iter().filter(|value| holds(**value)).count();
                    answer(yes, values.len()) as u64
                },
            ));
        }
    }
    for [before, after] in BARRIERS {
        for ty in TYPES {
            all.push(exchange(ty, before, after).in_family(before));
        }
    }
    let text = "if (i == 0) slots[0] = 0; __syncthreads(); atomicAdd(&slots[0], a0); __syncthreads(); value = slots[0]; \
                __syncthreads();";
    all.push(Collective::of_all(Party::Block, text, Type::U64, Type::U64, |values| {
        values.iter().fold(0, |sum, value| sum.wrapping_add(*value))
    }));
    all
}

/// Returns an operation in which each thread reads what another thread has written.
fn exchange(ty: Type, before: &str, after: &str) -> Collective {
    let (name, bits) = (ty.names().0, bits_of(ty.bits()));
    let text = format!(
        "slots[i] = as<{bits}>(a0); {before} value = as<{name}>(({bits})slots[a1 % {THREADS}u]); {after}"
    );
    Collective::new(Party::Block, &text, &[ty, Type::U32], ty, |members: &[Member]| {
        let from = |member: &Member| {
            let place = usize::try_from(member.operands[1] % THREADS as u64).unwrap_or(0);
            members.get(place).map(|other| other.operands[0])
        };
        members.iter().map(from).collect()
    })
}
