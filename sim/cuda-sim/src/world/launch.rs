//! A graph launch. It is a single operation of its stream, and its nodes run in a random order.

use std::collections::HashMap;

use super::World;
use super::state::event::{Mark, Moment};
use super::state::launch::{GraphRun, range};
use super::state::memory::{Piece, Region, Trouble};
use super::state::shadow::overlap;
use super::state::stream::Body;
use super::state::work::{Access, Unit, Work};
use crate::code::{Code, Outcome};
use crate::report::Mistake;

impl World {
    /// Launches a graph. A stream that is being captured refuses the launch, which invalidates the
    /// capture; with the other answers, the launch becomes a child graph.
    pub(crate) fn launch(&mut self, thread: u64, exec: u64, stream: u64) -> Outcome<()> {
        let stream = self.stream(thread, stream)?;
        let exec = self.exec(exec)?;
        if let Some((capture, _)) = self.capturing(stream)? {
            if self.other_answers {
                return self.capture_child(stream, exec);
            }
            self.invalidate(capture);
            return Err(Code::CAPTURE_UNSUPPORTED);
        }
        self.refuse_legacy_beside_captures(stream)?;
        self.free_before_launch(exec, stream)?;
        let regions = self.back_allocations(exec)?;
        self.refuse_unloaded(self.unloaded_kernel(&self.execs[exec].nodes), "cuGraphLaunch")?;
        let device = self.streams[stream].device;
        let (units, accesses) = self.prepare_nodes(exec, &regions, device);
        self.compare_branches(exec, &accesses);
        let before: Vec<Vec<usize>> =
            self.execs[exec].nodes.iter().map(|node| node.before.clone()).collect();
        let ordered = self.execs[exec].before.clone();
        let run = GraphRun::new(units, &before, &accesses, ordered);
        let after = self.moments_before(exec);
        let accesses: Vec<Access> = accesses.into_iter().flatten().collect();
        let body = Body::Graph(Box::new(run));
        let moment = self.submit(stream, "cuGraphLaunch", &accesses, &after, body);
        self.after_launch(exec, &regions, &moment);
        Ok(())
    }

    /// Reserves the memory that a launch needs. Nothing else has to be uploaded.
    pub(crate) fn upload(&mut self, thread: u64, exec: u64, stream: u64) -> Outcome<()> {
        let stream = self.stream(thread, stream)?;
        let exec = self.exec(exec)?;
        self.capturing(stream)?.map_or(Ok(()), |_| Err(Code::CAPTURE_UNSUPPORTED))?;
        self.refuse_unloaded(self.unloaded_kernel(&self.execs[exec].nodes), "cuGraphUpload")?;
        self.back_allocations(exec).map(drop)
    }

    /// Handles memory that the previous launch left allocated. Frees it if the graph was
    /// instantiated with the flag for this; otherwise fails.
    fn free_before_launch(&mut self, exec: usize, stream: usize) -> Outcome<()> {
        let allocations = self.execs[exec].allocations.clone();
        let kept = allocations.iter().filter(|allocation| allocation.free.is_none());
        let live: Vec<Region> =
            kept.filter_map(|allocation| self.memory.starting_at(allocation.address)).collect();
        if !live.is_empty() && !self.execs[exec].auto_free {
            return Err(Code::INVALID_VALUE);
        }
        for region in live {
            // The free is ordered after the launch that allocated the memory, whatever stream that
            // launch used.
            if let Some(last) = self.execs[exec].last.clone() {
                let body = Body::Unit(Unit::Nothing);
                self.submit(stream, "cuGraphLaunch", &[], &[last], body);
            }
            self.free_in_order(stream, region, "cuGraphLaunch");
        }
        Ok(())
    }

    fn back_allocations(&mut self, exec: usize) -> Outcome<Vec<Region>> {
        let allocations = self.execs[exec].allocations.clone();
        allocations.iter().map(|allocation| self.back_allocation(allocation)).collect()
    }

    /// Returns the units and accesses of all nodes. A node with an invalid address fails when it
    /// runs.
    fn prepare_nodes(
        &mut self,
        exec: usize,
        regions: &[Region],
        device: usize,
    ) -> (Vec<Unit>, Vec<Vec<Access>>) {
        let mut prepared = (Vec::new(), Vec::new());
        let nodes = self.execs[exec].nodes.iter().map(|node| node.node);
        let places: HashMap<usize, usize> = nodes.zip(0..).collect();
        for index in 0..self.execs[exec].nodes.len() {
            let (unit, mut accesses) = match self.prepare_node(exec, index, (regions, &places)) {
                Ok(prepared) => prepared,
                Err(trouble) => {
                    self.refuse(&trouble, &format!("cuGraphLaunch, node {index}"));
                    (Unit::Fault(device), Vec::new())
                }
            };
            for access in &mut accesses {
                access.node = Some(index);
            }
            prepared.0.push(unit);
            prepared.1.push(accesses);
        }
        prepared
    }

    fn prepare_node(
        &self,
        exec: usize,
        index: usize,
        (regions, places): (&[Region], &HashMap<usize, usize>),
    ) -> Result<(Unit, Vec<Access>), Trouble> {
        let own = &self.execs[exec];
        let node = &own.nodes[index];
        let region_of = |address: u64| regions.iter().find(|region| region.start == address);
        match &node.work {
            Work::Allocate { address, .. } | Work::Free { address } => {
                let Some(region) = region_of(*address) else {
                    return Ok((Unit::Nothing, Vec::new()));
                };
                Ok((Unit::Poison(region.block), vec![whole(region)]))
            }
            work => {
                // The memory that a node can see was allocated before it, and not freed before it.
                let comes_before = |other: usize| {
                    places.get(&other).is_some_and(|&place| own.before[index][place])
                };
                let sees =
                    |(allocation, _): &(&super::state::graph_memory::Allocation, &Region)| {
                        comes_before(allocation.node) && !allocation.free.is_some_and(comes_before)
                    };
                let pairs = own.allocations.iter().zip(regions).filter(sees);
                let visible: Vec<Region> = pairs.map(|(_, region)| *region).collect();
                self.prepare(work, &visible)
            }
        }
    }

    /// Reports branches of a graph that access the same bytes without being ordered.
    fn compare_branches(&mut self, exec: usize, accesses: &[Vec<Access>]) {
        if std::mem::replace(&mut self.execs[exec].compared, true) {
            return;
        }
        let before = &self.execs[exec].before;
        for (later, own) in accesses.iter().enumerate() {
            for (earlier, others) in accesses.iter().enumerate().take(later) {
                // The nodes are sorted, so a later node never precedes an earlier node.
                if before[later][earlier] {
                    continue;
                }
                let pairs = own.iter().flat_map(|one| others.iter().map(move |two| (one, two)));
                for (one, two) in pairs.filter(|(one, two)| races(one, two)) {
                    let text = format!(
                        "nodes {earlier} and {later} of one graph touch block {} at bytes {}.. and \
                         {}.., and no edge orders them",
                        one.piece.block, two.piece.start, one.piece.start
                    );
                    self.reports.add(Mistake::Race, &text);
                }
            }
        }
    }

    /// Returns the moments of the last launch, and of the events that nodes wait for.
    fn moments_before(&self, exec: usize) -> Vec<Moment> {
        let own = &self.execs[exec];
        let waits = own.nodes.iter().filter_map(|node| match node.work {
            Work::Wait(event) => match &self.events[event].mark {
                Mark::At(moment) => Some(moment.clone()),
                Mark::Never | Mark::Captured(..) => None,
            },
            _ => None,
        });
        own.last.iter().cloned().chain(waits).collect()
    }

    fn after_launch(&mut self, exec: usize, regions: &[Region], moment: &Moment) {
        let time = self.time;
        let works: Vec<Work> =
            self.execs[exec].nodes.iter().map(|node| node.work.clone()).collect();
        for work in works {
            if let Work::Record(event) = work {
                let event = &mut self.events[event];
                event.record += 1;
                event.mark = Mark::At(moment.clone());
                event.time = Some(time);
            }
        }
        let allocations = self.execs[exec].allocations.clone();
        for (allocation, region) in allocations.iter().zip(regions) {
            self.note_launch(allocation.address, moment);
            if allocation.free.is_none() {
                self.memory.insert(*region);
            } else {
                self.memory.remember_freed(*region);
            }
        }
        self.execs[exec].last = Some(moment.clone());
    }
}

fn whole(region: &Region) -> Access {
    let piece = Piece { block: region.block, start: 0, len: region.len };
    Access { piece, writes: true, node: None }
}

fn races(one: &Access, two: &Access) -> bool {
    let overlaps = overlap(&range(&one.piece), &range(&two.piece));
    one.piece.block == two.piece.block && overlaps && (one.writes || two.writes)
}
