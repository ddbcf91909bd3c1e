//! Processes the events of one device, one by one. The device tracks the live buffers, the peak,
//! and the memory that each simulator holds.

use std::collections::{BTreeMap, HashMap};

use crate::log::{Action, Event, Place, Pool};
use crate::policy::{Allocator, Full, Simulator};

use super::books::{Books, Change, Live};
use super::curve::Curve;
use super::fault::{Fault, FaultKind};

/// The number of buffers that are listed, both for the peak and for the end of the log.
pub(crate) const NAMED: usize = 10;
/// The number of faults and failures that are stored. All further faults and failures are only
/// counted.
const KEPT: usize = 100;
/// The maximum number of buffers whose lifetimes are stored for planning, which is the planner's
/// limit.
pub(crate) const MOST_LIFETIMES: usize = 1 << 20;

/// A count of events, and the first of these events.
#[derive(Debug)]
pub(crate) struct Counted<T> {
    pub(crate) first: Vec<T>,
    pub(crate) count: u64,
}

impl<T> Counted<T> {
    fn new() -> Self {
        Self { first: Vec::new(), count: 0 }
    }

    fn add(&mut self, one: T) {
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push(one);
        }
    }
}

/// The maximum number of bytes that were live at one time.
#[derive(Debug, Default)]
pub(crate) struct Peak {
    pub(crate) bytes: u64,
    /// The event that reached the peak.
    pub(crate) event: Option<Event>,
    /// The bytes at the peak that their owners had released, but that other streams could still
    /// use.
    pub(crate) late: u64,
    /// The largest buffers at the peak.
    pub(crate) largest: Vec<Live>,
}

/// An event after which the log reports fewer held bytes than live bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shortfall {
    pub(crate) event: Event,
    pub(crate) held: u64,
    pub(crate) live: u64,
}

/// The lifetime of a buffer, measured in events of its device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lifetime {
    pub(crate) lower: u64,
    pub(crate) upper: u64,
    pub(crate) bytes: u64,
}

/// An allocator that replays the log.
#[derive(Debug)]
pub(crate) struct Simulation {
    pub(crate) allocator: Allocator,
    simulator: Box<dyn Simulator>,
    /// The maximum number of bytes that the allocator held.
    pub(crate) held: u64,
    /// The total size of all live buffers in the simulated allocator, and the size of each of them.
    taken: u64,
    taken_by: HashMap<u64, u64>,
    /// The bytes of live buffers at the peak that exceed the requested bytes.
    pub(crate) padding: u64,
    /// The maximum number of bytes that each pool held, if the allocator has private pools.
    pub(crate) held_by: BTreeMap<Pool, u64>,
    /// The first event for which there was no room. The simulation ends at this event.
    pub(crate) failed: Option<Event>,
}

impl Simulation {
    fn change(&mut self, change: Change, stream: u64) {
        if self.failed.is_some() {
            return;
        }
        match change {
            Change::Freed(live) => {
                self.simulator.free(live.number, stream);
                self.taken -= self.taken_by.remove(&live.number).unwrap_or(0);
            }
            Change::Allocated(Live { number, event, .. }) => {
                let Pool(first, second) = event.pool;
                let pool = (first, second);
                let placed = self.simulator.allocate(pool, number, event.stream, event.asked());
                if placed == Err(Full) {
                    self.failed = Some(event);
                } else {
                    let taken = self.simulator.taken(number);
                    self.taken = self.taken.saturating_add(taken);
                    self.taken_by.insert(number, taken);
                }
                self.held = self.held.max(self.simulator.held());
                if let Some(held) = self.simulator.held_by(pool) {
                    let most = self.held_by.entry(event.pool).or_default();
                    *most = held.max(*most);
                }
            }
        }
    }
}

/// The buffers of one pool.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PoolUse {
    pub(crate) buffers: u64,
    live: u64,
    /// The maximum number of bytes that were live at one time.
    pub(crate) peak: u64,
}

/// One device of a log.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) books: Books,
    pub(crate) peak: Peak,
    /// `true` if the largest buffers at the peak have not been looked up yet.
    is_rising: bool,
    /// The live buffers, by size and address.
    by_size: BTreeMap<(u64, u64), Live>,
    /// The number of allocations on each stream.
    pub(crate) streams: HashMap<u64, u64>,
    /// The buffers of each pool.
    pub(crate) pools: BTreeMap<Pool, PoolUse>,
    /// The number of buffers that were freed on a stream other than the one on which they were
    /// allocated.
    pub(crate) freed_elsewhere: u64,
    /// The number of buffers whose bytes became free after their owners had released them, because
    /// other streams used them.
    pub(crate) freed_late: u64,
    requested: Option<u64>,
    /// The sizes of buffers that were released but are not free yet. The keys are the addresses of
    /// the buffers.
    late: HashMap<u64, u64>,
    late_bytes: u64,
    /// The bytes that the log's own allocator holds, and their peak, if the log reports them.
    pub(crate) reserved: Option<(u64, u64)>,
    /// The first event after which the log reports fewer held bytes than live bytes.
    pub(crate) shortfall: Option<Shortfall>,
    pub(crate) faults: Counted<Fault>,
    pub(crate) failures: Counted<Event>,
    /// The lifetimes of buffers that were freed, or `None` if there are too many.
    pub(crate) lifetimes: Option<Vec<Lifetime>>,
    pub(crate) simulations: Vec<Simulation>,
    pub(crate) curve: Curve,
    capacity: u64,
    /// The first event after which the live bytes exceed the capacity.
    pub(crate) over: Option<Event>,
}

impl Device {
    /// Creates a device without events. `initial` is the initial size of RMM's pool in bytes.
    pub(crate) fn new(allocators: &[Allocator], capacity: u64, initial: u64) -> Self {
        let simulation = |&allocator: &Allocator| {
            let simulator = allocator.simulator(capacity, initial)?;
            let (held, taken, padding) = (simulator.held(), 0, 0);
            let (taken_by, held_by) = (HashMap::new(), BTreeMap::new());
            Some(Simulation {
                allocator,
                simulator,
                held,
                taken,
                taken_by,
                padding,
                held_by,
                failed: None,
            })
        };
        Self {
            books: Books::default(),
            peak: Peak::default(),
            is_rising: false,
            by_size: BTreeMap::new(),
            streams: HashMap::new(),
            pools: BTreeMap::new(),
            freed_elsewhere: 0,
            freed_late: 0,
            requested: None,
            late: HashMap::new(),
            late_bytes: 0,
            reserved: None,
            shortfall: None,
            faults: Counted::new(),
            failures: Counted::new(),
            lifetimes: Some(Vec::new()),
            simulations: allocators.iter().filter_map(simulation).collect(),
            curve: Curve::new(),
            capacity,
            over: None,
        }
    }

    /// Processes the next event.
    pub(crate) fn event(&mut self, event: Event) {
        self.note_frees(&event);
        match event.action {
            Action::Fail => self.failures.add(event),
            Action::Reserve | Action::Release => self.reserve(event),
            Action::ReleasePool => {
                let Pool(first, second) = event.pool;
                let running = self.simulations.iter_mut().filter(|one| one.failed.is_none());
                running.for_each(|one| one.simulator.release_pool((first, second)));
            }
            _ => {}
        }
        let (mut changes, mut faults) = (Vec::new(), Vec::new());
        self.books.enter(event, &mut |change| changes.push(change), &mut |kind: FaultKind| {
            faults.push(Fault { kind, event });
        });
        faults.into_iter().for_each(|fault| self.faults.add(fault));
        changes.into_iter().for_each(|change| self.change(change, event));
        if self.over.is_none() && self.books.bytes() > self.capacity {
            self.over = Some(event);
        }
        self.compare(event);
        if !is_recorded(&event) {
            return;
        }
        let reserved = self.reserved.map_or(0, |(now, _)| now);
        let held = self.simulations.iter().map(|one| one.simulator.held());
        self.curve.note([self.books.bytes(), reserved].into_iter().chain(held));
    }

    /// Compares the live bytes with the bytes that the log's own allocator holds.
    fn compare(&mut self, event: Event) {
        let held = self.reserved.map_or(u64::MAX, |(now, _)| now);
        let live = self.books.bytes();
        if held < live && self.shortfall.is_none() {
            self.shortfall = Some(Shortfall { event, held, live });
        }
    }

    /// Returns the bytes that the log's own allocator holds, and their peak, if the log reports all
    /// of them.
    pub(crate) fn held(&self) -> Option<(u64, u64)> {
        self.reserved.filter(|_| self.shortfall.is_none())
    }

    /// Ends the log. Buffers that are still live remain live until the end.
    pub(crate) fn end(&mut self) {
        self.look_up_peak();
        let end = self.books.events() + 1;
        let left: Vec<Live> = self.books.live().copied().collect();
        left.into_iter().for_each(|live| self.keep_lifetime(live, end));
    }

    fn change(&mut self, change: Change, event: Event) {
        match change {
            Change::Allocated(live) => {
                *self.streams.entry(event.stream).or_default() += 1;
                let pool = self.pools.entry(event.pool).or_default();
                pool.buffers += 1;
                pool.live += live.event.asked();
                pool.peak = pool.peak.max(pool.live);
                self.by_size.insert((live.event.asked(), live.event.address), live);
                if self.books.bytes() > self.peak.bytes {
                    self.peak.bytes = self.books.bytes();
                    self.peak.late = self.late_bytes;
                    self.peak.event = Some(event);
                    self.is_rising = true;
                }
            }
            Change::Freed(live) => {
                self.look_up_peak();
                if let Some(pool) = self.pools.get_mut(&live.event.pool) {
                    pool.live -= live.event.asked();
                }
                self.by_size.remove(&(live.event.asked(), live.event.address));
                let is_elsewhere =
                    event.action == Action::Free && event.stream != live.event.stream;
                self.freed_elsewhere += u64::from(is_elsewhere);
                self.keep_lifetime(live, self.books.events() - 1);
            }
        }
        self.simulations.iter_mut().for_each(|one| one.change(change, event.stream));
    }

    /// Looks up the largest live buffers before the first of them is freed.
    fn look_up_peak(&mut self) {
        if !std::mem::take(&mut self.is_rising) {
            return;
        }
        for one in &mut self.simulations {
            one.padding = one.taken.saturating_sub(self.peak.bytes);
        }
        self.peak.largest = self.by_size.values().rev().take(NAMED).copied().collect();
    }

    fn keep_lifetime(&mut self, live: Live, upper: u64) {
        let Some(lifetimes) = &mut self.lifetimes else { return };
        if lifetimes.len() == MOST_LIFETIMES {
            self.lifetimes = None;
            return;
        }
        // If a buffer is replaced immediately, it is live during its own event.
        let upper = upper.max(live.since + 1);
        lifetimes.push(Lifetime { lower: live.since, upper, bytes: live.event.asked() });
    }

    fn note_frees(&mut self, event: &Event) {
        // If a free is completed immediately after it is requested, both events count as a single
        // free.
        if let Some(address) = self.requested.take() {
            let is_late = event.action != Action::Free || event.address != address;
            self.freed_late += u64::from(is_late);
            let bytes = self.books.at(address).filter(|_| is_late).map(|live| live.event.asked());
            if let Some(bytes) = bytes {
                self.late_bytes += bytes - self.late.insert(address, bytes).unwrap_or(0);
            }
        }
        if matches!(event.action, Action::Free | Action::Allocate) {
            self.late_bytes -= self.late.remove(&event.address).unwrap_or(0);
        }
        if event.action == Action::RequestFree {
            self.requested = Some(event.address);
        }
    }

    fn reserve(&mut self, event: Event) {
        let (now, most) = self.reserved.unwrap_or((0, 0));
        let now = if event.action == Action::Reserve {
            now.saturating_add(event.bytes)
        } else {
            now.saturating_sub(event.bytes)
        };
        self.reserved = Some((now, most.max(now)));
    }
}

/// Returns `true` if an event happened during the recording and may therefore be named.
pub(crate) fn is_recorded(event: &Event) -> bool {
    event.place != Place::Before
}
