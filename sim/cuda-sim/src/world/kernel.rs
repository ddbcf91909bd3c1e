//! Kernel launches. A launch is checked when it is called, runs in stream order, and is then
//! compared with all other accesses.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::module::{SHARED_AT_MOST, THREADS, most_threads};
use super::state::kernel::{KernelCall, KernelPlace, ReadyKernel, Shape};
use super::state::launch::GraphRun;
use super::state::memory::{Memory, Origin, Region, Regions};
use super::state::peer::Reach;
use super::state::position::Position;
use super::state::shadow::Actor;
use super::state::work::Work;
use super::{HostMemory, World};
use crate::code::{Code, Outcome};
use crate::kernel::{self, Extent, GlobalMemory, Launch, Touched, Wrong};
use crate::ptx::op::Parameter;
use crate::report::Mistake;

/// The largest grid extent along each axis.
const GRID: [u32; 3] = [i32::MAX.unsigned_abs(), 65_535, 65_535];

impl World {
    /// Returns the layout of a kernel's parameters, for callers that must pass them.
    pub(crate) fn parameters_of(&mut self, function: u64) -> Outcome<(Vec<Parameter>, usize)> {
        let function = self.function(function)?;
        let program = &self.functions[function].program;
        Ok((program.parameters.clone(), program.parameter_bytes))
    }

    /// Checks the parameters of a launch.
    pub(crate) fn kernel_call(
        &mut self,
        function: u64,
        shape: Shape,
        parameters: Vec<u8>,
    ) -> Outcome<KernelCall> {
        let function = self.function(function)?;
        let own = &self.functions[function];
        let Shape { grid, block, shared } = shape;
        let threads = block.iter().fold(1_u32, |all, extent| all.saturating_mul(*extent));
        let grid_fits = grid.iter().zip(GRID).all(|(extent, most)| (1..=most).contains(extent));
        let block_fits = threads > 0 && threads <= THREADS && block[2] <= 64;
        let exact = own.program.exact_threads.is_none_or(|exact| exact == block);
        let dynamic_shared = shared as usize;
        let all_shared = own.program.shared_bytes + dynamic_shared;
        if !grid_fits || !block_fits || !exact || threads > most_threads(&own.program) {
            return Err(Code::INVALID_VALUE);
        }
        if dynamic_shared > own.dynamic_limit || all_shared > SHARED_AT_MOST {
            return Err(Code::INVALID_VALUE);
        }
        let program = Arc::clone(&own.program);
        let launch = Launch { program, grid, block, dynamic_shared, parameters };
        Ok(KernelCall { function, launch: Arc::new(launch) })
    }

    pub(crate) fn launch_kernel(
        &mut self,
        thread: u64,
        stream: u64,
        call: KernelCall,
        programmatic: bool,
    ) -> Outcome<()> {
        let stream = self.stream(thread, stream)?;
        let device = self.modules[self.functions[call.function].module].device;
        if device != self.streams[stream].device {
            return Err(Code::INVALID_HANDLE);
        }
        self.refuse_legacy_beside_captures(stream)?;
        if programmatic && self.capturing(stream)?.is_some() {
            self.capture_dependent(stream, Work::Kernel(call));
            return Ok(());
        }
        self.put(stream, Work::Kernel(call), "cuLaunchKernel")
    }

    /// Returns the handle of the kernel that the call launches.
    pub(crate) fn function_handle(&self, call: &KernelCall) -> u64 {
        self.handles.make(super::state::handle::Kind::Function, call.function)
    }

    /// Runs a launch, and compares its accesses with others.
    pub(crate) fn run_kernel(
        &mut self,
        ready: &ReadyKernel,
        place: KernelPlace,
        graph: Option<&mut GraphRun>,
    ) {
        self.pending_kernels = self.pending_kernels.saturating_sub(1);
        let device = self.streams[place.position.stream].device;
        // A broken context runs no further work.
        if self.devices[device].sticky.is_some() {
            return;
        }
        let random = self.random.branch();
        let reach = self.reach_of(device);
        let (regions, visible) = (&*ready.regions, &*ready.visible);
        let (host, borrowed) = (&*self.host, HashMap::new());
        let memory = &mut self.memory;
        let mut memory = View { memory, host, regions, visible, reach: &reach, borrowed };
        let ending = kernel::run(&ready.launch, &mut memory, random, self.instructions);
        ending.printed.into_iter().for_each(|one| self.devices[device].printed.push(one));
        ending.messages.iter().for_each(|line| eprintln!("{line}"));
        for (mistake, text) in &ending.reports {
            self.reports.add(*mistake, text);
        }
        if let Some(code) = ending.fault {
            self.devices[device].sticky = Some(code);
        }
        self.time += 1000 + ending.steps;
        if let (Some(run), Some(node)) = (graph, place.node) {
            for text in run.compare(node, &ending.touched) {
                self.reports.add(Mistake::Race, &text);
            }
        }
        self.note_touched(ready, place, &ending.touched);
    }

    fn note_touched(&mut self, ready: &ReadyKernel, place: KernelPlace, touched: &[Touched]) {
        let Position { stream, number } = place.position;
        let mut clock = place.clock;
        // This is the moment that was assigned to the launch when it was submitted.
        let stamp = clock.tick(stream + 1);
        let clock = Arc::new(clock);
        let kernel = Some(Arc::from(ready.name()));
        let actor = Actor { stream, number, what: "kernel", kernel, node: place.node };
        for touched in touched {
            for (ranges, writes) in [(&touched.reads, false), (&touched.writes, true)] {
                self.note_ranges(touched.block, ranges, writes, &actor, (&clock, stamp));
            }
        }
    }
}

/// The memory that a single launch can access.
struct View<'a> {
    memory: &'a mut Memory,
    regions: &'a Regions,
    visible: &'a [Region],
    reach: &'a Reach,
    host: &'a dyn HostMemory,
    /// Page-locked host memory that the launch has accessed, by block.
    borrowed: HashMap<usize, Borrowed>,
}

/// Host memory that a kernel has borrowed.
struct Borrowed {
    start: u64,
    /// The contents when the memory was borrowed.
    before: Vec<u8>,
}

impl GlobalMemory for View<'_> {
    fn around(&mut self, address: u64, bytes: usize) -> Result<Extent, Wrong> {
        let inside = |region: &&Region| region.start <= address && address < region.end();
        let own = self.visible.iter().find(inside);
        let wrong = |mistake, text: String| Err(Wrong { mistake, text });
        let Some(region) = own.or_else(|| self.regions.at(address)) else {
            let trouble = self.regions.trouble(address, bytes);
            return wrong(trouble.mistake, trouble.text);
        };
        if let Origin::Mapped { allowed: false, .. } = region.origin {
            let text = format!("{bytes} bytes at {address:#x}: no access was allowed");
            return wrong(Mistake::WildAddress, text);
        }
        if !self.reach.allows(region) {
            let why = self.reach.refusal(region);
            let text = format!("{bytes} bytes at {address:#x}: {why}");
            return wrong(Mistake::WildAddress, text);
        }
        if address.saturating_add(bytes as u64) > region.end() {
            let text = format!("{bytes} bytes at {address:#x}: {region} ends before");
            return wrong(Mistake::OutOfBounds, text);
        }
        if region.origin.is_of_the_host() && !self.borrowed.contains_key(&region.block) {
            let mut before = vec![0; region.len];
            self.host.read(region.start, &mut before);
            self.borrowed.insert(region.block, Borrowed { start: region.start, before });
        }
        Ok(Extent { start: region.start, bytes: region.len, block: region.block })
    }

    fn take(&mut self, block: usize) -> Vec<u8> {
        if let Some(borrowed) = self.borrowed.get(&block) {
            return borrowed.before.clone();
        }
        std::mem::take(&mut self.memory.blocks[block].bytes)
    }

    fn give(&mut self, block: usize, bytes: Vec<u8>) {
        if let Some(Borrowed { start, before }) = self.borrowed.remove(&block) {
            // The host may have written bytes that the kernel did not change, so only changed bytes
            // are written back.
            for range in changed(&before, &bytes) {
                self.host.write(start + range.start as u64, &bytes[range]);
            }
            return;
        }
        self.memory.blocks[block].bytes = bytes;
    }
}

/// Returns the ranges in which two byte strings of the same length differ.
pub(super) fn changed(before: &[u8], after: &[u8]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (place, _) in before.iter().zip(after).enumerate().filter(|(_, (old, new))| old != new) {
        match ranges.last_mut().filter(|range| range.end == place) {
            Some(range) => range.end += 1,
            None => ranges.push(place..place + 1),
        }
    }
    ranges
}
