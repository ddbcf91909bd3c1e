//! Instructions of several threads of a warp: shuffles, votes and synchronisation.
//!
//! Such an instruction lists its participants. Threads that reach it early wait, and it executes
//! once every participant that has not ended has reached it.

use super::engine::Engine;
use super::launch::Fault;
use super::step::Flow;
use super::warp::{Warp, lanes};
use crate::ptx::op::{Kind, Question, Register, Shuffle, ShuffleMode, Vote};

/// The value that a lane reads from a lane that does not take part. PTX leaves this value
/// undefined.
const NOBODY: u64 = 0xA5A5_A5A5;

impl Engine<'_> {
    pub(super) fn together(
        &mut self,
        warp: &mut Warp,
        kind: &Kind,
        at: usize,
        active: u32,
    ) -> Result<Flow, Fault> {
        if let Kind::ActiveMask { to } = kind {
            for lane in lanes(active) {
                warp.set(*to, lane, active.into());
            }
            return Ok(Flow::Next);
        }
        let Some(mask) = mask_of(kind) else { return Ok(Flow::Next) };
        let (mut left, mut done) = (active, 0);
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            let wanted = mask_bits(warp, mask, lane);
            let class = lanes(left).filter(|lane| mask_bits(warp, mask, *lane) == wanted);
            let class = class.fold(0, |all, lane| all | 1 << lane);
            left &= !class;
            if wanted & class != class {
                let what = format!("a thread that is not in its own mask {wanted:#010x}");
                return Err(self.failed(warp, lane, at, &what));
            }
            if wanted & warp.alive == class {
                perform(warp, kind, class);
                warp.ticks.meet(class | (wanted & warp.all & !warp.alive), warp.all);
                done |= class;
            }
        }
        warp.parked &= !done;
        if done == active {
            return Ok(Flow::Next);
        }
        warp.parked |= active & !done;
        warp.place(done, at + 1);
        warp.place(active & !done, at);
        Ok(Flow::Placed)
    }
}

fn mask_of(kind: &Kind) -> Option<Register> {
    match kind {
        Kind::WarpBarrier { mask } | Kind::Match { mask, .. } | Kind::Reduce { mask, .. } => {
            Some(*mask)
        }
        Kind::Shuffle(shuffle) => Some(shuffle.mask),
        Kind::Vote(vote) => Some(vote.mask),
        _ => None,
    }
}

/// Returns the threads that a lane waits for. Lanes outside the block are ignored.
fn mask_bits(warp: &Warp, mask: Register, lane: usize) -> u32 {
    u32::try_from(warp.value(mask, lane) & 0xFFFF_FFFF).unwrap_or(0) & warp.all
}

fn perform(warp: &mut Warp, kind: &Kind, class: u32) {
    match kind {
        Kind::Shuffle(wanted) => shuffle(warp, wanted, class),
        Kind::Vote(wanted) => vote(warp, wanted, class),
        Kind::Match { all, wide, to, agrees, a, .. } => {
            let bits = if *wide { u64::MAX } else { 0xFFFF_FFFF };
            matching(warp, class, *all, *to, *agrees, (*a, bits));
        }
        Kind::Reduce { function, to, a, .. } => {
            let values = warp.registers[*a];
            let all = lanes(class).map(|lane| values[lane]).reduce(*function).unwrap_or(0);
            lanes(class).for_each(|lane| warp.set(*to, lane, all));
        }
        _ => {}
    }
}

fn shuffle(warp: &mut Warp, wanted: &Shuffle, class: u32) {
    let values = warp.registers[wanted.a];
    let mut results = Vec::with_capacity(32);
    for lane in lanes(class) {
        let (b, c) = (warp.value(wanted.b, lane) & 31, warp.value(wanted.c, lane));
        let (source, inside) = source(wanted.mode, lane as u64, b, c);
        let present = class >> source & 1 == 1;
        let value = if present { values[source] & 0xFFFF_FFFF } else { NOBODY };
        results.push((lane, value, inside));
    }
    for (lane, value, inside) in results {
        warp.set(wanted.to, lane, value);
        if let Some(register) = wanted.inside {
            warp.set(register, lane, inside.into());
        }
    }
}

/// Returns the source lane of a value, and `true` if that lane is inside the segment, as the PTX
/// manual defines it.
fn source(mode: ShuffleMode, lane: u64, b: u64, c: u64) -> (usize, bool) {
    let (clamp, segments) = (c & 31, c >> 8 & 31);
    let last = (lane & segments) | (clamp & !segments);
    let first = lane & segments;
    let (wanted, inside) = match mode {
        ShuffleMode::Up => {
            let inside = lane >= b && lane - b >= last;
            (lane.wrapping_sub(b), inside)
        }
        ShuffleMode::Down => (lane + b, lane + b <= last),
        ShuffleMode::Butterfly => (lane ^ b, lane ^ b <= last),
        ShuffleMode::Index => {
            let wanted = first | (b & !segments);
            (wanted, wanted <= last)
        }
    };
    let source = if inside { wanted } else { lane };
    (usize::try_from(source & 31).unwrap_or(0), inside)
}

fn vote(warp: &mut Warp, wanted: &Vote, class: u32) {
    let yes = class & warp.holds(wanted.of);
    let answer = match wanted.question {
        Question::All => u32::from(yes == class),
        Question::Any => u32::from(yes != 0),
        Question::Uniform => u32::from(yes == class || yes == 0),
        Question::Ballot => yes,
        Question::Count => yes.count_ones(),
    };
    lanes(class).for_each(|lane| warp.set(wanted.to, lane, answer.into()));
}

fn matching(
    warp: &mut Warp,
    class: u32,
    all: bool,
    to: Register,
    agrees: Option<Register>,
    (a, bits): (Register, u64),
) {
    let values = warp.registers[a];
    for lane in lanes(class) {
        let equal = lanes(class).filter(|other| (values[*other] ^ values[lane]) & bits == 0);
        let equal = equal.fold(0_u32, |mask, other| mask | 1 << other);
        let whole = equal == class;
        warp.set(to, lane, if all && !whole { 0 } else { equal.into() });
        if let Some(agrees) = agrees {
            warp.set(agrees, lane, whole.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ShuffleMode, source};

    #[test]
    fn shuffles_come_from_where_the_manual_says() {
        // `__shfl_up_sync(.., 1)` on whole warps, then on segments of 8.
        assert_eq!(source(ShuffleMode::Up, 5, 1, 0), (4, true));
        assert_eq!(source(ShuffleMode::Up, 0, 1, 0), (0, false));
        assert_eq!(source(ShuffleMode::Up, 8, 1, 0x1800), (8, false));
        assert_eq!(source(ShuffleMode::Down, 31, 1, 31), (31, false));
        assert_eq!(source(ShuffleMode::Down, 7, 1, 0x181F), (7, false));
        assert_eq!(source(ShuffleMode::Butterfly, 3, 16, 31), (19, true));
        assert_eq!(source(ShuffleMode::Index, 13, 2, 0x181F), (10, true));
    }
}
