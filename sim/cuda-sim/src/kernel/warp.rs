//! A warp: its threads' registers, program counters and waits.

use super::ticks::{LANES, Ticks};
use crate::ptx::op::{Guard, Place, Program, Register};
use crate::random::Random;

/// Threads of a warp and their state; bit n of a mask is lane n.
#[derive(Debug)]
pub(super) struct Warp {
    /// The number of its first thread in the block.
    pub(super) first_thread: u32,
    pub(super) registers: Vec<[u64; LANES]>,
    pub(super) at: [usize; LANES],
    /// Lanes that the block fills.
    pub(super) all: u32,
    /// Lanes that have not ended.
    pub(super) alive: u32,
    /// Lanes at a barrier of the block.
    pub(super) waiting: u32,
    /// Lanes at an instruction that other lanes of the warp must reach.
    pub(super) parked: u32,
    /// Lanes that have passed a fence.
    pub(super) fenced: u32,
    /// The call stack of each lane.
    pub(super) calls: Vec<Vec<usize>>,
    /// The lanes' own memory, in the order of the lanes.
    pub(super) local: Vec<u8>,
    pub(super) ticks: Ticks,
    /// Instructions executed so far.
    pub(super) steps: u64,
    /// Bytes of printed text that do not fill a step yet.
    pub(super) printed: usize,
}

/// Threads at one instruction, and the next instruction where other threads are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) at: usize,
    pub(super) lanes: u32,
    pub(super) limit: usize,
    /// `true` if no other thread of the warp may go on.
    pub(super) alone: bool,
}

/// One turn in this number goes to threads that are not the furthest back.
const DETOUR: usize = 16;

/// Returns the lanes of a mask.
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

impl Warp {
    pub(super) fn new(first_thread: u32, threads: u32, program: &Program) -> Self {
        let mut registers = vec![[0; LANES]; program.registers];
        for (register, bits) in &program.constants {
            registers[*register] = [*bits; LANES];
        }
        let count = threads.saturating_sub(first_thread).min(32);
        Self {
            first_thread,
            registers,
            at: [0; LANES],
            all: u32::MAX.checked_shr(32 - count).unwrap_or(0),
            alive: 0,
            waiting: 0,
            parked: 0,
            fenced: 0,
            calls: vec![Vec::new(); LANES],
            local: vec![0; program.local_bytes * LANES],
            ticks: Ticks::new(),
            steps: 0,
            printed: 0,
        }
    }

    /// Starts a new block.
    pub(super) fn reset(&mut self) {
        self.at = [0; LANES];
        self.alive = self.all;
        (self.waiting, self.parked, self.fenced, self.steps) = (0, 0, 0, 0);
        self.printed = 0;
        self.calls.iter_mut().for_each(Vec::clear);
        // Memory that a thread has not written is not zero.
        self.local.fill(0xA5);
        self.ticks.reset();
    }

    pub(super) fn runnable(&self) -> u32 {
        self.alive & !self.waiting & !self.parked
    }

    /// Picks the threads that run next: those furthest back, so that they reach the others. Now and
    /// then it picks others, so that no thread waits forever.
    pub(super) fn pick(&self, random: &mut Random) -> Option<Group> {
        let runnable = self.runnable();
        let first = lanes(runnable).next()?;
        let start = self.at[first];
        if lanes(runnable).all(|lane| self.at[lane] == start) && self.parked == 0 {
            return Some(Group { at: start, lanes: runnable, limit: usize::MAX, alone: true });
        }
        let mut at = lanes(runnable).map(|lane| self.at[lane]).min()?;
        if random.below(DETOUR) == 0 {
            let count = usize::try_from(runnable.count_ones()).unwrap_or(1);
            let lane = lanes(runnable).nth(random.below(count))?;
            at = self.at[lane];
        }
        let present = runnable | self.parked;
        let mut group = Group { at, lanes: 0, limit: usize::MAX, alone: false };
        for lane in lanes(present) {
            let place = self.at[lane];
            if place == at {
                group.lanes |= 1 << lane;
            } else if place > at {
                group.limit = group.limit.min(place);
            }
        }
        Some(group)
    }

    pub(super) fn place(&mut self, mask: u32, at: usize) {
        for lane in lanes(mask) {
            self.at[lane] = at;
        }
    }

    /// Returns the lanes for which a guard holds.
    pub(super) fn holds(&self, guard: Guard) -> u32 {
        let values = &self.registers[guard.register];
        let mut mask = 0;
        for (lane, value) in values.iter().enumerate() {
            mask |= u32::from(value & 1 == 1) << lane;
        }
        if guard.negated { !mask } else { mask }
    }

    /// Ends these lanes. Lanes that wait for them check again.
    pub(super) fn end(&mut self, mask: u32) {
        self.alive &= !mask;
        self.parked = 0;
    }

    pub(super) fn address(&self, place: Place, lane: usize) -> u64 {
        let base = place.base.map_or(0, |register| self.registers[register][lane]);
        let base = if place.wide { base } else { base & 0xFFFF_FFFF };
        base.wrapping_add_signed(place.offset)
    }

    pub(super) fn value(&self, register: Register, lane: usize) -> u64 {
        self.registers[register][lane]
    }

    pub(super) fn set(&mut self, register: Register, lane: usize, value: u64) {
        self.registers[register][lane] = value;
    }

    pub(super) fn local_of(&mut self, lane: usize) -> &mut [u8] {
        let bytes = self.local.len() / LANES;
        &mut self.local[lane * bytes..(lane + 1) * bytes]
    }
}
