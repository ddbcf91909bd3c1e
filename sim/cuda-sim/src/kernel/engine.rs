//! A launch in progress: its memory, the order in which its blocks run, and its reports.

use std::collections::HashSet;
use std::sync::Arc;

use super::cells::{Cells, LAST_INTERVAL, Race};
use super::global::Global;
use super::launch::{Ending, Fault, GlobalMemory, Launch, Wrong};
use super::order::Order;
use super::printed::Buffer;
use super::stamp::Stamp;
use super::ticks::LANES;
use super::warp::Warp;
use crate::code::Code;
use crate::ptx::Program;
use crate::ptx::op::Special;
use crate::random::Random;
use crate::report::Mistake;

/// A launch in progress.
pub(super) struct Engine<'a> {
    pub(super) launch: &'a Launch,
    pub(super) program: Arc<Program>,
    pub(super) random: Random,
    pub(super) global: Global<'a>,
    pub(super) shared: Vec<u8>,
    pub(super) shared_cells: Cells,
    pub(super) order: Order,
    /// A counter of barriers and blocks. All accesses of a block between two barriers share one
    /// number.
    pub(super) interval: u32,
    /// The number of the block that is running.
    pub(super) block: u64,
    pub(super) steps: u64,
    /// The number of instructions that a warp may execute in one block.
    pub(super) instructions: u64,
    reports: Vec<(Mistake, String)>,
    /// Lines that failed assertions have printed.
    pub(super) messages: Vec<String>,
    /// Output that threads have printed, in order.
    pub(super) printed: Buffer,
    reported: HashSet<(Option<usize>, usize, &'static str)>,
    /// The invalid conversions that were reported, identified by the position of the call and their
    /// text.
    pub(super) conversions: HashSet<(usize, Vec<u8>)>,
}

impl<'a> Engine<'a> {
    pub(super) fn new(
        launch: &'a Launch,
        memory: &'a mut dyn GlobalMemory,
        random: Random,
        instructions: u64,
    ) -> Self {
        let shared = launch.program.shared_bytes + launch.dynamic_shared;
        Self {
            launch,
            program: Arc::clone(&launch.program),
            random,
            global: Global::new(memory),
            shared: vec![0; shared],
            shared_cells: Cells::new(shared),
            order: Order::default(),
            interval: 0,
            block: 0,
            steps: 0,
            instructions,
            reports: Vec::new(),
            messages: Vec::new(),
            printed: Buffer::default(),
            reported: HashSet::new(),
            conversions: HashSet::new(),
        }
    }

    /// Runs every block.
    pub(super) fn run(mut self) -> Ending {
        let fault = self.run_blocks().err();
        let touched = self.global.close();
        let mut reports = self.reports;
        let code = fault.map(|fault| {
            reports.push((fault.mistake, fault.text));
            fault.code
        });
        let mut printed = self.printed.take();
        printed.sort_by_key(|printed| (printed.block, printed.thread));
        let (messages, steps) = (self.messages, self.steps);
        Ending { reports, printed, messages, fault: code, touched, steps }
    }

    fn run_blocks(&mut self) -> Result<(), Fault> {
        let threads: u32 = self.launch.block.iter().product();
        let mut warps: Vec<Warp> = (0..threads.div_ceil(32))
            .map(|warp| Warp::new(warp * 32, threads, &self.program))
            .collect();
        warps.iter_mut().for_each(|warp| self.fill_specials(warp));
        let count: u64 = self.launch.grid.iter().map(|extent| u64::from(*extent)).product();
        // Every block runs once in a random order, because the stride and the count have no common
        // divisor.
        let (start, stride) = (self.draw(count), self.stride(count));
        let mut block = start;
        for _ in 0..count {
            self.begin_block(block, &mut warps);
            self.run_block(&mut warps)?;
            block = (block + stride) % count;
        }
        Ok(())
    }

    fn draw(&mut self, count: u64) -> u64 {
        self.random.below(usize::try_from(count).unwrap_or(usize::MAX)) as u64
    }

    fn stride(&mut self, count: u64) -> u64 {
        let mut stride = self.draw(count).max(1);
        while common_divisor(stride, count) != 1 {
            stride += 1;
        }
        stride
    }

    fn begin_block(&mut self, block: u64, warps: &mut [Warp]) {
        self.block = block;
        self.next_interval();
        self.order.begin(self.interval, block);
        // No block may rely on what another block left in shared memory.
        self.shared.fill(0xA5);
        let place = place(block, self.launch.grid);
        for warp in warps {
            warp.reset();
            for (register, special) in &self.program.specials {
                if let Special::Block(axis) = special {
                    warp.registers[*register] = [place[*axis].into(); LANES];
                }
            }
        }
    }

    /// Fills the special registers of a warp. The block number is filled in when the block starts.
    fn fill_specials(&self, warp: &mut Warp) {
        for (register, special) in &self.program.specials {
            for (lane, value) in warp.registers[*register].iter_mut().enumerate() {
                *value = self.special(*special, warp.first_thread, size(lane));
            }
        }
    }

    pub(super) fn next_interval(&mut self) {
        self.interval = (self.interval + 1).min(LAST_INTERVAL);
        self.order.pass_barrier();
    }

    fn special(&self, special: Special, first: u32, lane: u32) -> u64 {
        let (block, grid) = (self.launch.block, self.launch.grid);
        let bit = 1_u32 << lane;
        u64::from(match special {
            Special::Thread(axis) => place(u64::from(first + lane), block)[axis],
            Special::Threads(axis) => block[axis],
            Special::Block(_) | Special::Zero => 0,
            Special::Blocks(axis) => grid[axis],
            Special::Lane => lane,
            Special::Warp => first / 32,
            Special::Warps => block.iter().product::<u32>().div_ceil(32),
            Special::LanesEqual => bit,
            Special::LanesBelow => bit - 1,
            Special::LanesUpTo => bit | (bit - 1),
            Special::LanesAbove => !(bit | (bit - 1)),
            Special::LanesFrom => !(bit - 1),
            Special::DynamicShared => size(self.launch.dynamic_shared),
            Special::TotalShared => size(self.shared.len()),
        })
    }

    /// Returns the stamp for an access by a thread of a warp.
    pub(super) fn stamp(&self, warp: &Warp, lane: usize, strong: bool, at: usize) -> Stamp {
        let thread = warp.first_thread + size(lane);
        Stamp::new(self.interval, thread, warp.ticks.now(), strong, at)
    }

    /// Describes a block, a thread and an instruction.
    pub(super) fn who(&self, block: u64, thread: u32, step: Option<usize>) -> String {
        let [x, y, z] = place(block, self.launch.grid);
        let [i, j, k] = place(thread.into(), self.launch.block);
        let step = step.map_or("an instruction far on".to_owned(), |at| self.program.describe(at));
        format!("block ({x}, {y}, {z}), thread ({i}, {j}, {k}), {step}")
    }

    /// Reports a fault at a thread's instruction. The fault ends the launch.
    pub(super) fn fault(
        &self,
        (code, mistake): (Code, Mistake),
        warp: &Warp,
        lane: usize,
        at: usize,
        what: &str,
    ) -> Fault {
        let thread = warp.first_thread + size(lane);
        let who = self.who(self.block, thread, Some(at));
        let text = format!("kernel {}, {who}: {what}", self.program.name);
        Fault { code, mistake, text }
    }

    pub(super) fn wrong(&self, wrong: &Wrong, warp: &Warp, lane: usize, at: usize) -> Fault {
        let kind = (Code::ILLEGAL_ADDRESS, wrong.mistake);
        self.fault(kind, warp, lane, at, &wrong.text)
    }

    /// Reports two accesses of this launch that race, once for each pair of instructions.
    pub(super) fn report_race(
        &mut self,
        (old, old_writes): Race,
        (new, writes): (Stamp, bool),
        space: &'static str,
        place: &str,
    ) {
        let step = new.step().unwrap_or(usize::MAX);
        if !self.reported.insert((old.step(), step, space)) {
            return;
        }
        let does = |writes| if writes { "writes" } else { "reads" };
        let first = self.who(self.order.block_of(old), old.thread(), old.step());
        let second = self.who(self.block, new.thread(), new.step());
        let text = format!(
            "kernel {}, {second}, {} {place} of {space} memory; nothing orders it after {first}, \
             which {} there",
            self.program.name,
            does(writes),
            does(old_writes),
        );
        self.reports.push((Mistake::Race, text));
    }

    pub(super) fn report(&mut self, mistake: Mistake, at: usize, text: String) {
        if self.reported.insert((None, at, "")) {
            self.report_again(mistake, text);
        }
    }

    /// Reports a mistake, even if it was already reported for the same instruction.
    pub(super) fn report_again(&mut self, mistake: Mistake, text: String) {
        self.reports.push((mistake, text));
    }
}

impl std::fmt::Debug for Engine<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = &self.program.name;
        formatter.debug_struct("Engine").field("kernel", name).finish_non_exhaustive()
    }
}

/// Converts a linear number into coordinates on three axes.
pub(super) fn place(number: u64, extents: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = extents.map(|extent| u64::from(extent.max(1)));
    [number % x, number / x % y, number / x / y].map(|axis| u32::try_from(axis).unwrap_or(0))
}

/// Converts a size that is known to fit 32 bits.
pub(super) fn size(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
