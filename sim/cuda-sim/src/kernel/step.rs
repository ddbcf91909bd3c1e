//! Executes one instruction for several threads of a warp.

use super::engine::Engine;
use super::launch::Fault;
use super::ticks::LANES;
use super::warp::{Warp, lanes};
use crate::code::Code;
use crate::ptx::op::{Call, Carry, Compare, ComparePair, Guard, Kind, Register};
use crate::report::Mistake;

/// How the threads continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Jump(usize),
    /// The instruction has set the program counter of each thread.
    Placed,
}

/// Calls a function for each lane of a mask. Most masks are full.
#[inline(always)]
fn each(mask: u32, mut function: impl FnMut(usize)) {
    if mask == u32::MAX {
        (0..LANES).for_each(function);
        return;
    }
    let mut left = mask;
    while left != 0 {
        function(left.trailing_zeros() as usize);
        left &= left - 1;
    }
}

impl Engine<'_> {
    pub(super) fn step(
        &mut self,
        warp: &mut Warp,
        kind: &Kind,
        at: usize,
        active: u32,
    ) -> Result<Flow, Fault> {
        match kind {
            Kind::Nothing => {}
            Kind::One { function, to, a } => {
                let a = warp.registers[*a];
                let to = &mut warp.registers[*to];
                each(active, |lane| to[lane] = function(a[lane]));
            }
            Kind::Two { function, to, a, b } => {
                let (a, b) = (warp.registers[*a], warp.registers[*b]);
                let to = &mut warp.registers[*to];
                each(active, |lane| to[lane] = function(a[lane], b[lane]));
            }
            Kind::Three { function, to, a, b, c } => {
                let (a, b) = (warp.registers[*a], warp.registers[*b]);
                let c = warp.registers[*c];
                let to = &mut warp.registers[*to];
                each(active, |lane| to[lane] = function(a[lane], b[lane], c[lane]));
            }
            Kind::Four { function, to, sources } => {
                let [a, b, c, d] = sources.map(|source| warp.registers[source]);
                let to = &mut warp.registers[*to];
                each(active, |lane| to[lane] = function(a[lane], b[lane], c[lane], d[lane]));
            }
            Kind::Select { to, a, b, by } => select(warp, active, *to, [*a, *b], *by),
            Kind::Convert { conversion, to, a } => {
                let a = warp.registers[*a];
                let to = &mut warp.registers[*to];
                each(active, |lane| to[lane] = conversion.apply(a[lane]));
            }
            Kind::ConvertPair { ty, round, to, upper, lower } => {
                let (upper, lower) = (warp.registers[*upper], warp.registers[*lower]);
                let to = &mut warp.registers[*to];
                each(active, |lane| {
                    to[lane] = crate::ptx::convert_pair(*ty, *round, upper[lane], lower[lane]);
                });
            }
            Kind::Compare(wanted) => compare(warp, active, wanted),
            Kind::ComparePair(wanted) => compare_pair(warp, active, wanted),
            Kind::Carry(wanted) => carry(warp, active, wanted),
            Kind::Pack { to, parts, bits } => pack(warp, active, *to, parts, *bits),
            Kind::Unpack { parts, bits, a } => unpack(warp, active, parts, *bits, *a),
            Kind::Clock { to } => {
                let now = self.steps;
                each(active, |lane| warp.registers[*to][lane] = now);
            }
            Kind::Load(wanted) => self.load(warp, wanted, at, active)?,
            Kind::Store(wanted) => self.store(warp, wanted, at, active)?,
            Kind::Atomic(wanted) => self.atomic(warp, wanted, at, active)?,
            Kind::Fence => warp.fenced |= active,
            Kind::Branch { to } => return Ok(Flow::Jump(*to)),
            Kind::BranchIndexed { index, targets } => {
                for lane in lanes(active) {
                    let index = usize::try_from(warp.value(*index, lane) & 0xFFFF_FFFF);
                    let target = index.ok().and_then(|index| targets.get(index).copied());
                    let Some(target) = target else {
                        let what = "the index is beyond the list of labels";
                        return Err(self.failed(warp, lane, at, what));
                    };
                    warp.at[lane] = target;
                }
                return Ok(Flow::Placed);
            }
            Kind::Call(call) => {
                begin_call(warp, call, at, active);
                return Ok(Flow::Jump(call.target));
            }
            Kind::Return => {
                self.end_call(warp, active);
                return Ok(Flow::Placed);
            }
            Kind::Exit => {
                warp.end(active);
                return Ok(Flow::Placed);
            }
            Kind::Trap => {
                let lane = active.trailing_zeros() as usize;
                return Err(self.failed(warp, lane, at, "the kernel stops itself"));
            }
            Kind::AssertFail(wanted) => {
                return Err(self.assertion_failed(warp, wanted, at, active));
            }
            Kind::Print(wanted) => self.print(warp, wanted, at, active)?,
            Kind::Barrier { .. } => {
                warp.waiting |= active;
                warp.place(active, at);
                return Ok(Flow::Placed);
            }
            _ => return self.together(warp, kind, at, active),
        }
        Ok(Flow::Next)
    }

    pub(super) fn failed(&self, warp: &Warp, lane: usize, at: usize, what: &str) -> Fault {
        self.fault((Code::LAUNCH_FAILED, Mistake::KernelFault), warp, lane, at, what)
    }

    /// Returns each thread to its caller. If the kernel itself returns, the thread ends.
    fn end_call(&mut self, warp: &mut Warp, active: u32) {
        let program = std::sync::Arc::clone(&self.program);
        for lane in lanes(active) {
            let Some(from) = warp.calls[lane].pop() else {
                warp.end(1 << lane);
                continue;
            };
            if let Kind::Call(call) = &program.steps[from].kind {
                for (source, target, bytes) in &call.results {
                    warp.local_of(lane).copy_within(*source..source + bytes, *target);
                }
            }
            warp.at[lane] = from + 1;
        }
    }
}

fn begin_call(warp: &mut Warp, call: &Call, at: usize, active: u32) {
    for lane in lanes(active) {
        warp.calls[lane].push(at);
        for (source, target, bytes) in &call.arguments {
            warp.local_of(lane).copy_within(*source..source + bytes, *target);
        }
    }
}

fn select(warp: &mut Warp, active: u32, to: Register, [a, b]: [Register; 2], by: Guard) {
    let chosen = warp.holds(by);
    let (a, b) = (warp.registers[a], warp.registers[b]);
    let to = &mut warp.registers[to];
    each(active, |lane| to[lane] = if chosen >> lane & 1 == 1 { a[lane] } else { b[lane] });
}

fn compare(warp: &mut Warp, active: u32, wanted: &Compare) {
    let (a, b) = (warp.registers[wanted.a], warp.registers[wanted.b]);
    let combine = wanted.combine.map(|(function, guard)| (function, warp.holds(guard)));
    each(active, |lane| {
        let combined = |found: bool| match combine {
            Some((function, with)) => {
                function(u64::from(found), u64::from(with >> lane & 1)) & 1 == 1
            }
            None => found,
        };
        let found = (wanted.test)(a[lane], b[lane]);
        warp.registers[wanted.to][lane] = if combined(found) { wanted.truth } else { 0 };
        if let Some(other) = wanted.other {
            warp.registers[other][lane] = u64::from(combined(!found));
        }
    });
}

fn compare_pair(warp: &mut Warp, active: u32, wanted: &ComparePair) {
    let (a, b) = (warp.registers[wanted.a], warp.registers[wanted.b]);
    let half = |value: u64, first: u32| value >> first & 0xFFFF;
    let to = &mut warp.registers[wanted.to];
    each(active, |lane| {
        let holds = |first| (wanted.test)(half(a[lane], first), half(b[lane], first));
        let part = |first| if holds(first) { wanted.truth << first } else { 0 };
        to[lane] = part(0) | part(16);
    });
}

fn carry(warp: &mut Warp, active: u32, wanted: &Carry) {
    let [a, b, c] = wanted.sources.map(|source| warp.registers[source]);
    let carry = warp.registers[wanted.carry];
    each(active, |lane| {
        let (result, out) = (wanted.function)(a[lane], b[lane], c[lane], carry[lane]);
        warp.registers[wanted.to][lane] = result;
        if let Some(register) = wanted.out {
            warp.registers[register][lane] = out;
        }
    });
}

fn pack(warp: &mut Warp, active: u32, to: Register, parts: &[Register], bits: u32) {
    let mask = (1_u64 << bits) - 1;
    each(active, |lane| {
        let whole = parts.iter().rev();
        let whole = whole.fold(0, |all, part| all << bits | warp.registers[*part][lane] & mask);
        warp.registers[to][lane] = whole;
    });
}

fn unpack(warp: &mut Warp, active: u32, parts: &[Register], bits: u32, a: Register) {
    let mask = (1_u64 << bits) - 1;
    let mut values = warp.registers[a];
    for part in parts {
        let to = &mut warp.registers[*part];
        each(active, |lane| {
            to[lane] = values[lane] & mask;
            values[lane] >>= bits;
        });
    }
}
