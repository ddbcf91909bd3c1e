//! Operations by the threads of a warp, as the CUDA C++ Programming Guide defines them.

use super::collective::{Collective, Member, Party, QUESTIONS};
use super::prelude::bits_of;
use super::values::Type;

/// The number of threads in a warp.
pub(super) const LANES: usize = 32;
const WIDTHS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// The types that are shuffled.
const SHUFFLED: [Type; 9] = [
    Type::U32,
    Type::S32,
    Type::U64,
    Type::S64,
    Type::F16,
    Type::Bf16,
    Type::F32,
    Type::F64,
    Type::F16x2,
];

/// How a shuffle selects its source lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// The modes, with their names in C++ and PTX.
const MODES: [(&str, &str, Mode); 4] = [
    ("_up", "up", Mode::Up),
    ("_down", "down", Mode::Down),
    ("_xor", "bfly", Mode::Butterfly),
    ("", "idx", Mode::Index),
];

/// Returns all operations of warps.
pub(super) fn operations() -> Vec<Collective> {
    let mut all = Vec::new();
    shuffles(&mut all);
    votes(&mut all);
    matches(&mut all);
    sums(&mut all);
    exchanges(&mut all);
    // It is undefined which other threads are active.
    let text =
        "unsigned active = __activemask(); value = (active >> lane & 1u) | (active & ~whole);";
    all.push(Collective::new(Party::Lanes, text, &[], Type::U32, |members| {
        vec![Some(1); members.len()]
    }));
    all
}

/// Returns the source lane for a lane in groups of `width`, or `None` if the lane keeps its own
/// value.
fn source(mode: Mode, lane: usize, by: u64, width: usize) -> Option<usize> {
    let by = usize::try_from(by % 32).unwrap_or(0);
    let first = lane - lane % width;
    match mode {
        Mode::Up => lane.checked_sub(by).filter(|from| *from >= first),
        Mode::Down => Some(lane + by).filter(|from| *from < first + width),
        // Lanes of earlier groups can be read, but lanes of later groups cannot.
        Mode::Butterfly => Some(lane ^ by).filter(|from| *from < first + width),
        Mode::Index => Some(first + by % width),
    }
}

/// Returns the result for each lane. If the source lane does not take part, the result is
/// undefined.
fn shuffled(members: &[Member], mode: Mode, width: usize) -> Vec<Option<u64>> {
    let of = |lane: usize| members.iter().find(|member| member.place == lane);
    let result = |member: &Member| {
        let from = source(mode, member.place, member.operands[1], width).unwrap_or(member.place);
        of(from).map(|other| other.operands[0])
    };
    members.iter().map(result).collect()
}

fn shuffles(all: &mut Vec<Collective>) {
    for (suffix, name, mode) in MODES {
        for width in WIDTHS {
            for ty in SHUFFLED {
                let text = format!("value = __shfl{suffix}_sync(m, a0, a1, {width});");
                let operands = [ty, Type::U32];
                let shuffle = move |members: &[Member]| shuffled(members, mode, width);
                let shuffle = Collective::new(Party::Lanes, &text, &operands, ty, shuffle);
                all.push(shuffle.in_family(name));
            }
            // No C++ function returns this predicate.
            let clamp = ((32 - width) << 8) | if mode == Mode::Up { 0 } else { 31 };
            let text = format!(
                "asm volatile(\"{{ .reg .pred p; .reg .b32 r; shfl.sync.{name}.b32 r|p, %1, %2, {clamp}, %3; \
                 selp.u32 %0, 1, 0, p; }}\" : \"=r\"(value) : \"r\"(a0), \"r\"(a1), \"r\"(m));"
            );
            let inside = move |member: &Member| {
                Some(u64::from(source(mode, member.place, member.operands[1], width).is_some()))
            };
            let inside = move |members: &[Member]| members.iter().map(inside).collect();
            let operands = [Type::U32; 2];
            let inside = Collective::new(Party::Lanes, &text, &operands, Type::U32, inside);
            all.push(inside.in_family(&format!("whether {name} is inside")));
        }
    }
}

/// Returns the mask of the members for which `holds` returns `true`.
fn mask(members: &[Member], holds: impl Fn(&Member) -> bool) -> u64 {
    members.iter().filter(|member| holds(member)).map(|member| 1_u64 << member.place).sum()
}

fn votes(all: &mut Vec<Collective>) {
    for (question, holds) in QUESTIONS {
        for (name, agree) in [
            ("all", (|yes, all| yes == all) as fn(usize, usize) -> bool),
            ("any", |yes, _| yes > 0),
            ("uni", |yes, all| yes == 0 || yes == all),
        ] {
            let text = format!("value = __{name}_sync(m, {question}) != 0;");
            all.push(Collective::of_all(
                Party::Lanes,
                &text,
                Type::U32,
                Type::U32,
                move |values| {
                    let yes = values.iter().filter(|value| holds(**value)).count();
                    u64::from(agree(yes, values.len()))
                },
            ));
        }
        let text = format!("value = __ballot_sync(m, {question});");
        all.push(Collective::new(
            Party::Lanes,
            &text,
            &[Type::U32],
            Type::U32,
            move |members: &[Member]| {
                let ballot = mask(members, |member| holds(member.operands[0]));
                vec![Some(ballot); members.len()]
            },
        ));
        // The number of earlier members for which the predicate holds, such as a position in a
        // list.
        let text = format!(
            "unsigned before; asm(\"mov.u32 %0, %%lanemask_lt;\" : \"=r\"(before)); value = \
             __popc(__ballot_sync(m, {question}) & before);"
        );
        all.push(Collective::new(
            Party::Lanes,
            &text,
            &[Type::U32],
            Type::U32,
            move |members: &[Member]| {
                let yes = |member: &&Member| holds(member.operands[0]);
                let rank = |index: usize| members[..index].iter().filter(yes).count() as u64;
                (0..members.len()).map(|index| Some(rank(index))).collect()
            },
        ));
    }
}

fn matches(all: &mut Vec<Collective>) {
    // The keys have few different values, so some of them are equal.
    for key in
        ["a0 % 3u", "(unsigned long long)(a0 % 3u) << 31", "(float)(a0 % 3u)", "-(double)(a0 % 3u)"]
    {
        let text = format!("value = __match_any_sync(m, {key});");
        let matching = |members: &[Member]| {
            let equal =
                |one: &Member| mask(members, |other| other.operands[0] % 3 == one.operands[0] % 3);
            members.iter().map(|one| Some(equal(one))).collect()
        };
        let matching = Collective::new(Party::Lanes, &text, &[Type::U32], Type::U32, matching);
        all.push(matching.in_family("match.any"));
    }
    for (question, holds) in QUESTIONS {
        for keys in ["5u : 6u", "5ull << 40 : 6ull << 40", "0.5f : 0.25f"] {
            let text = format!(
                "int same; unsigned those = __match_all_sync(m, {question} ? {keys}, &same); value = (unsigned long \
                 long)(same != 0) << 32 | those;"
            );
            let matching = move |members: &[Member]| {
                let yes = mask(members, |member| holds(member.operands[0]));
                let everybody = mask(members, |_| true);
                let agree = yes == 0 || yes == everybody;
                vec![Some(if agree { 1 << 32 | everybody } else { 0 }); members.len()]
            };
            let matching = Collective::new(Party::Lanes, &text, &[Type::U32], Type::U64, matching);
            all.push(matching.in_family(&format!("match.all of {question}")));
        }
    }
}

/// A reduction of all members' numbers to a single number.
type Reduction = Box<dyn Fn(&[u64]) -> u64>;

/// Adds the operations `__reduce_…_sync`.
fn sums(all: &mut Vec<Collective>) {
    let signed = |bits: &u64| Type::S32.whole(*bits);
    let mut push = |name: &str, ty: Type, function: Reduction| {
        let text = format!("value = __reduce_{name}_sync(m, a0);");
        all.push(Collective::of_all(Party::Lanes, &text, ty, ty, function));
    };
    for ty in [Type::U32, Type::S32] {
        push("add", ty, Box::new(|values| values.iter().sum()));
    }
    push("min", Type::U32, Box::new(|values| values.iter().copied().fold(u64::MAX, u64::min)));
    push("max", Type::U32, Box::new(|values| values.iter().copied().fold(0, u64::max)));
    let least = move |values: &[u64]| values.iter().copied().min_by_key(signed).unwrap_or(0);
    push("min", Type::S32, Box::new(least));
    let greatest = move |values: &[u64]| values.iter().copied().max_by_key(signed).unwrap_or(0);
    push("max", Type::S32, Box::new(greatest));
    push("and", Type::U32, Box::new(|values| values.iter().fold(u64::MAX, |a, b| a & b)));
    push("or", Type::U32, Box::new(|values| values.iter().fold(0, |a, b| a | b)));
    push("xor", Type::U32, Box::new(|values| values.iter().fold(0, |a, b| a ^ b)));
}

/// Adds exchanges through shared memory between two synchronisations: each member reads what the
/// next member has written.
fn exchanges(all: &mut Vec<Collective>) {
    for ty in [Type::U16, Type::U32, Type::U64, Type::F32] {
        let (name, bits) = (ty.names().0, bits_of(ty.bits()));
        let text = format!(
            "slots[i] = as<{bits}>(a0); __syncwarp(m); unsigned above = m & ~((2u << lane) - 1u); value = \
             as<{name}>(({bits})slots[i - lane + __ffs(above ? above : m) - 1]); __syncwarp(m);"
        );
        let exchange = Collective::new(Party::Lanes, &text, &[ty], ty, |members: &[Member]| {
            let next = members.iter().cycle().skip(1);
            next.take(members.len()).map(|member| Some(member.operands[0])).collect()
        });
        all.push(exchange.in_family("exchange in a warp"));
    }
}

#[cfg(test)]
mod tests {
    use super::{LANES, Member, Mode, mask, shuffled};

    fn members(lanes: impl Iterator<Item = usize>, by: u64) -> Vec<Member> {
        let member = |place| Member { place, operands: vec![100 + place as u64, by] };
        lanes.map(member).collect()
    }

    /// Tests the examples from the guide, which use groups of eight lanes.
    #[test]
    fn shuffles_stay_in_their_groups() {
        let all = members(0..LANES, 3);
        let of = |mode, lane: usize| shuffled(&all, mode, 8)[lane].map(|value| value - 100);
        assert_eq!([of(Mode::Up, 10), of(Mode::Up, 12)], [Some(10), Some(9)]);
        assert_eq!([of(Mode::Down, 12), of(Mode::Down, 13)], [Some(15), Some(13)]);
        assert_eq!([of(Mode::Index, 0), of(Mode::Index, 31)], [Some(3), Some(27)]);
        let far = members(0..LANES, 8);
        let of = |lane: usize| shuffled(&far, Mode::Butterfly, 8)[lane].map(|value| value - 100);
        assert_eq!([of(9), of(1)], [Some(1), Some(1)]);
    }

    #[test]
    fn what_is_read_of_a_stranger_is_not_defined() {
        let even = members((0..LANES).step_by(2), 1);
        assert!(shuffled(&even, Mode::Butterfly, 32).iter().all(Option::is_none));
        assert_eq!(mask(&even, |member| member.place < 6), 0b1_0101);
    }
}
