//! A block of threads. Its warps run alternately in a random order, and meet at barriers.

use std::sync::Arc;

use super::engine::{Engine, size};
use super::launch::Fault;
use super::step::Flow;
use super::warp::{Warp, lanes};
use crate::code::Code;
use crate::ptx::op::{BarrierVote, Kind, Question};
use crate::report::Mistake;

/// The largest number of instructions that a warp runs before another warp may run.
const TURN: usize = 512;

impl Engine<'_> {
    pub(super) fn run_block(&mut self, warps: &mut [Warp]) -> Result<(), Fault> {
        loop {
            let ready = warps.iter().filter(|warp| warp.runnable() != 0).count();
            if ready == 0 {
                if warps.iter().all(|warp| warp.alive == 0) {
                    return Ok(());
                }
                self.pass_barrier(warps)?;
                continue;
            }
            let chosen = self.random.below(ready);
            let turn = size(1 + self.random.below(TURN));
            if let Some(warp) = warps.iter_mut().filter(|warp| warp.runnable() != 0).nth(chosen) {
                self.run_warp(warp, turn)?;
            }
        }
    }

    /// Runs instructions of a warp until its time slice ends or none of its threads can continue.
    fn run_warp(&mut self, warp: &mut Warp, mut turn: u32) -> Result<(), Fault> {
        let program = Arc::clone(&self.program);
        while turn > 0 {
            let Some(group) = warp.pick(&mut self.random) else { return Ok(()) };
            let (mut at, lanes) = (group.at, group.lanes);
            loop {
                let step = &program.steps[at];
                turn -= 1;
                warp.steps += 1;
                self.steps += 1;
                if warp.steps > self.instructions {
                    return Err(self.without_end(warp, first(lanes), at));
                }
                let active = step.guard.map_or(lanes, |guard| lanes & warp.holds(guard));
                let flow =
                    if active == 0 { Flow::Next } else { self.step(warp, &step.kind, at, active)? };
                match flow {
                    Flow::Next => at += 1,
                    // After a jump backwards, the group may reach threads that it must join.
                    Flow::Jump(to) if active == lanes && to <= at && !group.alone => {
                        warp.place(lanes, to);
                        break;
                    }
                    Flow::Jump(to) if active == lanes => at = to,
                    Flow::Jump(to) => {
                        warp.place(active, to);
                        warp.place(lanes & !active, at + 1);
                        break;
                    }
                    Flow::Placed => {
                        warp.place(lanes & !active, at + 1);
                        break;
                    }
                }
                if at >= group.limit || turn == 0 {
                    warp.place(lanes, at);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Reports that a warp has exceeded its instruction limit.
    pub(super) fn without_end(&self, warp: &Warp, lane: usize, at: usize) -> Fault {
        let what = format!("{} instructions, and no end", self.instructions);
        self.fault((Code::LAUNCH_TIMEOUT, Mistake::KernelFault), warp, lane, at, &what)
    }

    /// Releases the barrier once no thread can continue. All remaining threads must be waiting at
    /// the barrier; otherwise the block is stuck.
    fn pass_barrier(&mut self, warps: &mut [Warp]) -> Result<(), Fault> {
        if let Some(warp) = warps.iter().find(|warp| warp.parked != 0) {
            let lane = first(warp.parked);
            let what = format!(
                "waits for threads of its warp that never come (waiting: {:#010x}, ended: {:#010x})",
                warp.parked,
                warp.all & !warp.alive
            );
            let kind = (Code::LAUNCH_FAILED, Mistake::DivergentBarrier);
            return Err(self.fault(kind, warp, lane, warp.at[lane], &what));
        }
        self.compare_places(warps)?;
        let Some((at, lane, warp)) = a_waiting(warps) else { return Ok(()) };
        if warps.iter().any(|warp| warp.alive != warp.all) {
            let who = self.who(self.block, warps[warp].first_thread + size(lane), Some(at));
            let text = format!(
                "kernel {}, {who}: other threads of the block have ended before they reached it",
                self.program.name
            );
            self.report(Mistake::DivergentBarrier, at, text);
        }
        let program = Arc::clone(&self.program);
        if let Kind::Barrier { votes: Some(votes), .. } = &program.steps[at].kind {
            count_votes(warps, votes);
        }
        self.next_interval();
        for warp in warps {
            let waiting = std::mem::take(&mut warp.waiting);
            warp.place(waiting, at + 1);
            warp.ticks.reset();
        }
        Ok(())
    }

    /// Checks that all waiting threads wait at the same instruction and for the same barrier.
    fn compare_places(&self, warps: &[Warp]) -> Result<(), Fault> {
        let mut places = warps.iter().flat_map(|warp| {
            lanes(warp.waiting).map(move |lane| {
                let id = match self.program.steps[warp.at[lane]].kind {
                    Kind::Barrier { id, .. } => warp.value(id, lane) & 0xFFFF_FFFF,
                    _ => 0,
                };
                (warp, lane, (warp.at[lane], id))
            })
        });
        let Some((_, _, wanted)) = places.next() else { return Ok(()) };
        let Some((warp, lane, _)) = places.find(|(_, _, place)| *place != wanted) else {
            return Ok(());
        };
        let other = self.program.describe(wanted.0);
        let what = format!("other threads of the block wait at {other}");
        let kind = (Code::LAUNCH_FAILED, Mistake::DivergentBarrier);
        Err(self.fault(kind, warp, lane, warp.at[lane], &what))
    }
}

fn a_waiting(warps: &[Warp]) -> Option<(usize, usize, usize)> {
    let waits = |warp: &&Warp| warp.waiting != 0;
    let warp = warps.iter().find(waits)?;
    let lane = first(warp.waiting);
    let index = usize::try_from(warp.first_thread / 32).ok()?;
    Some((warp.at[lane], lane, index))
}

fn count_votes(warps: &mut [Warp], votes: &BarrierVote) {
    let (mut yes, mut all) = (0, 0);
    for warp in warps.iter() {
        yes += (warp.waiting & warp.holds(votes.of)).count_ones();
        all += warp.waiting.count_ones();
    }
    let answer = match votes.question {
        Question::All => u32::from(yes == all),
        Question::Any => u32::from(yes > 0),
        _ => yes,
    };
    for warp in warps {
        for lane in lanes(warp.waiting) {
            warp.set(votes.to, lane, answer.into());
        }
    }
}

fn first(mask: u32) -> usize {
    mask.trailing_zeros() as usize % 32
}
