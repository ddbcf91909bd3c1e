//! The whole state of the simulated driver, in safe Rust, protected by a single lock.
//!
//! Streams, events, graphs and other objects are entries of vectors and are identified by their
//! index. Entries are never removed, so stale handles are detected. The C interface translates
//! pointers and handles, and holds the lock; see `crate::abi`.

#![forbid(unsafe_code)]

mod allocate;
mod capture;
mod child;
mod conditional;
mod copy;
mod device;
mod event;
mod exec;
mod flat;
mod graph;
mod graph_memory;
mod kernel;
mod launch;
mod library;
mod link;
mod module;
mod pages;
mod peer;
mod pointer;
mod pool;
mod printed;
mod schedule;
mod state;
mod stream;
mod transfer;
mod update;
mod work;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::code::{Code, Outcome};
use crate::random::Random;
use crate::report::Mistake;
use state::clock::{Clock, HOST};

pub(crate) use state::capture::Mode;
pub(crate) use state::child::Ownership;
pub(crate) use state::conditional::Choice;
pub(crate) use state::copy::{Copy, Corner, End, Volume};
pub(crate) use state::graph::EdgeData;
pub(crate) use state::handle::Kind;
pub(crate) use state::host_call::HostCall;
pub(crate) use state::kernel::{KernelCall, Shape};
pub(crate) use state::link::{Input, Log};
pub(crate) use state::memory::{PAGE, is_device_address};
pub(crate) use state::pointer::Fact;
pub(crate) use state::schedule::{Goal, Step};
pub(crate) use state::stream::Order;
pub(crate) use state::work::{Fill, NodeKind, Work};

/// The host: its memory, which copies read and write, and its standard output.
pub(crate) trait HostMemory: Send {
    /// Reads memory that a caller of the driver owns.
    fn read(&self, address: u64, into: &mut [u8]);
    /// Writes memory that a caller of the driver owns.
    fn write(&self, address: u64, from: &[u8]);
    /// Allocates page-locked memory.
    fn allocate(&self, bytes: usize) -> Option<u64>;
    /// Frees page-locked memory.
    fn free(&self, address: u64, bytes: usize);
    /// Prints kernel output.
    fn print(&self, text: &[u8]);
}

/// The settings that a test may choose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) seed: u64,
    pub(crate) devices: usize,
    /// The memory of each device, in bytes.
    pub(crate) bytes: usize,
    /// The CUDA version that the driver reports, as 1000 × major + 10 × minor.
    pub(crate) driver_version: i32,
    /// `true` if devices can access each other's memory.
    pub(crate) peers: bool,
    /// `true` to choose the other alternative wherever the documentation leaves the behaviour open.
    pub(crate) other_answers: bool,
    /// The number of instructions that a warp may execute in one block.
    pub(crate) instructions: u64,
    /// `true` if each report is printed immediately.
    pub(crate) prints_reports: bool,
}

/// CUDA 13.0, the version of the bindings.
const DRIVER_VERSION: i32 = 13_000;

/// The default limit of instructions per warp and block. A warp that exceeds it is treated as an
/// endless loop.
pub(crate) const INSTRUCTIONS: u64 = 1 << 23;

/// The driver's state for one host thread.
#[derive(Debug, Default)]
pub(crate) struct Thread {
    /// The devices whose contexts were pushed; the last one is current.
    contexts: Vec<usize>,
    mode: Mode,
}

/// The simulated driver.
pub(crate) struct World {
    initialized: bool,
    /// The CUDA version that the driver reports.
    pub(crate) driver_version: i32,
    handles: state::handle::Handles,
    random: Random,
    host: Box<dyn HostMemory>,
    pub(crate) log: state::log::Log,
    pub(crate) reports: crate::report::Reports,
    threads: HashMap<u64, Thread>,
    peers: state::peer::Peers,
    /// `true` to choose the other alternative wherever the documentation leaves the behaviour open.
    other_answers: bool,
    /// The number of instructions that a warp may execute in one block.
    instructions: u64,
    devices: Vec<state::device::Device>,
    memory: state::memory::Memory,
    pools: Vec<state::pool::Pool>,
    pages: Vec<state::pages::Pages>,
    reserved: Vec<state::pages::Reserved>,
    streams: Vec<state::stream::Stream>,
    events: Vec<state::event::Event>,
    captures: Vec<state::capture::Capture>,
    /// The result of the last query of each stream's capture. Callers may read it until the next
    /// query.
    shown: HashMap<usize, (Vec<u64>, Vec<u64>)>,
    graphs: Vec<state::graph::Graph>,
    nodes: Vec<state::graph::Node>,
    execs: Vec<state::exec::Exec>,
    graph_memory: state::graph_memory::GraphMemory,
    modules: Vec<state::module::Module>,
    functions: Vec<state::module::Function>,
    libraries: Vec<state::library::Library>,
    kernels: Vec<state::library::Kernel>,
    links: Vec<state::link::Link>,
    /// The number of launches whose accesses are not known yet.
    pending_kernels: usize,
    /// The parameters of kernel nodes. Callers may read them until the next query.
    shown_parameters: HashMap<usize, (Vec<u8>, Vec<u64>)>,
    conditions: Vec<state::conditional::Condition>,
    /// The work that the host knows to have finished.
    host_clock: Clock,
    /// Objects that had not been freed when their context ended.
    lost: Vec<String>,
    /// The time of the simulated device, in nanoseconds.
    time: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 0,
            devices: 1,
            bytes: 1 << 30,
            driver_version: DRIVER_VERSION,
            peers: true,
            other_answers: false,
            instructions: INSTRUCTIONS,
            prints_reports: false,
        }
    }
}

impl World {
    pub(crate) fn new(settings: Settings, host: Box<dyn HostMemory>) -> Self {
        let pool = |device| state::pool::Pool::new(device, 0, true);
        let bytes = settings.bytes.min(state::memory::LARGEST);
        let device = |index| state::device::Device::new(bytes, index);
        let count = settings.devices.clamp(1, 4);
        let mut host_clock = Clock::default();
        host_clock.tick(HOST);
        Self {
            initialized: false,
            driver_version: settings.driver_version,
            handles: state::handle::Handles::default(),
            random: Random::new(settings.seed),
            host,
            log: state::log::Log::default(),
            reports: crate::report::Reports::new(settings.prints_reports),
            threads: HashMap::new(),
            peers: state::peer::Peers::new(settings.peers),
            other_answers: settings.other_answers,
            instructions: settings.instructions,
            devices: (0..count).map(device).collect(),
            memory: state::memory::Memory::default(),
            pools: (0..count).map(pool).collect(),
            pages: Vec::new(),
            reserved: Vec::new(),
            streams: Vec::new(),
            events: Vec::new(),
            captures: Vec::new(),
            shown: HashMap::new(),
            graphs: Vec::new(),
            nodes: Vec::new(),
            execs: Vec::new(),
            graph_memory: state::graph_memory::GraphMemory::default(),
            modules: Vec::new(),
            functions: Vec::new(),
            libraries: Vec::new(),
            kernels: Vec::new(),
            links: Vec::new(),
            pending_kernels: 0,
            shown_parameters: HashMap::new(),
            conditions: Vec::new(),
            host_clock,
            lost: Vec::new(),
            time: 0,
        }
    }

    /// Returns an empty world that rejects all handles of this one. Fails while a host function is
    /// running.
    pub(crate) fn next(&self, settings: Settings, host: Box<dyn HostMemory>) -> Option<Self> {
        if self.streams.iter().any(|stream| stream.busy) {
            return None;
        }
        let handles = self.handles.next();
        Some(Self { handles, ..Self::new(settings, host) })
    }

    /// Restarts the random generator with another seed.
    pub(crate) fn draw_anew(&mut self, seed: u64) {
        self.random = Random::new(seed);
    }

    pub(crate) fn initialize(&mut self) {
        self.initialized = true;
    }

    pub(crate) fn device_count(&self) -> Outcome<usize> {
        self.initialized()?;
        Ok(self.devices.len())
    }

    pub(crate) fn total_bytes(&self, device: usize) -> usize {
        self.devices[device].limit
    }

    pub(crate) fn context_flags(&mut self, device: usize) -> &mut u32 {
        &mut self.devices[device].flags
    }

    /// Returns the start and the length of the device or page-locked allocation that contains an
    /// address.
    pub(crate) fn address_range(&self, address: u64) -> Option<(u64, usize)> {
        let region = self.memory.around(address)?;
        Some((region.start, region.len))
    }

    pub(crate) fn has_one_holder(&self, device: usize) -> bool {
        self.devices[device].retained == 1
    }

    pub(crate) fn is_retained(&self, device: usize) -> bool {
        self.devices[device].retained > 0
    }

    /// Reports a mistake with an address, and returns the driver's code for it.
    fn refuse(&mut self, trouble: &state::memory::Trouble, what: &str) -> Code {
        self.reports.add(trouble.mistake, &format!("{what}: {}", trouble.text));
        Code::INVALID_VALUE
    }

    /// Returns the index that a handle refers to. Reports the handle of a destroyed object.
    fn find(&mut self, kind: Kind, handle: u64, what: &str) -> Outcome<usize> {
        let index = self.handles.index(kind, handle).ok_or(Code::INVALID_HANDLE)?;
        let lives = match kind {
            Kind::Context => Some(self.devices.get(index).is_some()),
            Kind::Stream => self.streams.get(index).map(|stream| stream.lives),
            Kind::Event => self.events.get(index).map(|event| event.lives),
            Kind::Graph => self.graphs.get(index).map(|_| self.graph_lives(index)),
            Kind::Node => self.nodes.get(index).map(|node| node.lives),
            Kind::Exec => self.execs.get(index).map(|exec| exec.lives),
            Kind::Pool => self.pools.get(index).map(|pool| pool.lives),
            Kind::Pages => self.pages.get(index).map(|pages| pages.lives),
            Kind::Module => self.modules.get(index).map(|module| module.lives),
            Kind::Function => self.functions.get(index).map(|function| function.lives),
            Kind::Library => self.libraries.get(index).map(|library| library.lives),
            Kind::Kernel => {
                let kernel = self.kernels.get(index);
                kernel.map(|kernel| self.libraries[kernel.library].lives)
            }
            Kind::Link => self.links.get(index).map(|link| link.lives),
        };
        match lives {
            Some(true) => Ok(index),
            Some(false) => {
                let text = format!("{what}: {kind:?} {index} was destroyed before");
                self.reports.add(Mistake::StaleHandle, &text);
                Err(Code::INVALID_HANDLE)
            }
            None => Err(Code::INVALID_HANDLE),
        }
    }

    /// Returns all objects that have not been freed, with one line for each.
    pub(crate) fn leaks(&self) -> String {
        let lost = self.lost.iter().cloned();
        lost.chain(self.leaks_of(None)).collect::<Vec<_>>().join("\n")
    }

    /// Returns the objects of one device that have not been freed. Graphs, pools and pages belong
    /// to no device.
    fn leaks_of(&self, device: Option<usize>) -> Vec<String> {
        let concerns = |own: usize| device.is_none_or(|device| device == own);
        let regions = self.memory.live().filter(|region| {
            concerns(region.device) && region.origin != state::memory::Origin::Module
        });
        let mut lines: Vec<String> = regions.map(ToString::to_string).collect();
        let mut living = |name: &str, count: usize| {
            if count > 0 {
                lines.push(format!("{count} of kind {name}"));
            }
        };
        let streams = self.streams.iter().filter(|own| own.lives && own.is_made_by_the_user());
        living("stream", streams.filter(|own| concerns(own.device)).count());
        let events = self.events.iter().filter(|own| own.lives);
        living("event", events.filter(|own| concerns(own.device)).count());
        let modules = self.modules.iter().filter(|own| own.lives && !own.is_of_a_library);
        living("module", modules.filter(|own| concerns(own.device)).count());
        if device.is_none() {
            let graphs = (0..self.graphs.len()).filter(|graph| self.graph_lives(*graph));
            living("graph", graphs.filter(|graph| self.graphs[*graph].parent.is_none()).count());
            living("library", self.libraries.iter().filter(|own| own.lives).count());
            living("link", self.links.iter().filter(|own| own.lives).count());
            living("executable graph", self.execs.iter().filter(|own| own.lives).count());
            living("memory pool", self.pools.iter().filter(|own| own.is_private()).count());
            living("pages", self.pages.iter().filter(|own| own.lives).count());
            living("reserved range", self.reserved.iter().filter(|own| own.lives).count());
        }
        lines
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (streams, graphs) = (self.streams.len(), self.graphs.len());
        formatter
            .debug_struct("World")
            .field("streams", &streams)
            .field("graphs", &graphs)
            .finish_non_exhaustive()
    }
}
