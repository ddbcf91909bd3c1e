//! Memory that graphs allocate. Addresses are fixed when a node is added, and bytes are allocated
//! at launch.

use super::World;
use super::state::event::Moment;
use super::state::graph_memory::{Allocation, Physical};
use super::state::memory::{LARGEST, Origin, PAGE, Region, UNIT};
use crate::code::{Code, Outcome, unmodelled};

impl World {
    /// Returns an address for a node with these predecessors: an address that a predecessor has
    /// freed, or a new one.
    pub(crate) fn address_in_graph(
        &mut self,
        graph: usize,
        after: &[usize],
        bytes: usize,
    ) -> Outcome<u64> {
        if bytes > LARGEST {
            return Err(Code::OUT_OF_MEMORY);
        }
        let len = bytes.next_multiple_of(UNIT);
        let mut before = self.ancestors(graph, after);
        before.extend(after);
        let allocations = &self.graphs[graph].allocations;
        let is_free = |address: u64| {
            let mut all = allocations.iter().filter(|other| other.address == address);
            all.all(|other| other.free.is_some_and(|free| before.contains(&free)))
        };
        let fits = |other: &&Allocation| other.bytes.next_multiple_of(UNIT) == len;
        let reusable = allocations.iter().filter(fits).find(|other| is_free(other.address));
        Ok(match reusable {
            Some(other) => other.address,
            None => self.memory.fresh_address(len),
        })
    }

    pub(crate) fn allocated_in_graph(
        &mut self,
        graph: usize,
        address: u64,
        bytes: usize,
        device: usize,
        node: usize,
    ) {
        let allocation = Allocation { address, bytes, device, node, free: None };
        self.graphs[graph].allocations.push(allocation);
    }

    /// Returns `true` if the graph allocates this address and does not free it yet.
    pub(crate) fn can_free_in_graph(&self, graph: usize, address: u64) -> bool {
        let allocations = &self.graphs[graph].allocations;
        allocations.iter().any(|own| own.address == address && own.free.is_none())
    }

    pub(crate) fn freed_in_graph(&mut self, graph: usize, address: u64, node: usize) {
        let allocations = &mut self.graphs[graph].allocations;
        let open = |own: &&mut Allocation| own.address == address && own.free.is_none();
        if let Some(allocation) = allocations.iter_mut().find(open) {
            allocation.free = Some(node);
        }
    }

    /// Returns the bytes for a graph's allocation. The first launch takes them from the device.
    pub(crate) fn back_allocation(&mut self, allocation: &Allocation) -> Outcome<Region> {
        let Allocation { address, bytes, device, .. } = *allocation;
        let len = bytes.next_multiple_of(UNIT);
        let block = match self.graph_memory.blocks.get(&address) {
            Some(physical) => physical.block,
            None => {
                let limit = self.devices[device].limit;
                if len > limit || self.taken(device) + len.next_multiple_of(PAGE) > limit {
                    return Err(Code::OUT_OF_MEMORY);
                }
                let block = self.memory.block(len);
                let physical = Physical { block, device, len, last: None };
                self.graph_memory.blocks.insert(address, physical);
                let reserved = self.graph_memory_reserved(device) as u64;
                self.graph_memory.high = self.graph_memory.high.max(reserved);
                block
            }
        };
        Ok(Region { start: address, len: bytes, block, device, origin: Origin::Graph })
    }

    /// Records that a launch uses the bytes at this address until `moment`.
    pub(crate) fn note_launch(&mut self, address: u64, moment: &Moment) {
        if let Some(physical) = self.graph_memory.blocks.get_mut(&address) {
            physical.last = Some(moment.clone());
        }
    }

    pub(crate) fn graph_memory_reserved(&self, device: usize) -> usize {
        let blocks = self.graph_memory.blocks.values();
        let bytes: usize = blocks.filter(|own| own.device == device).map(|own| own.len).sum();
        bytes.next_multiple_of(PAGE)
    }

    /// Releases unused memory.
    pub(crate) fn trim_graph_memory(&mut self, ordinal: i32) -> Outcome<()> {
        let device = self.device(ordinal)?;
        let unused = |(address, own): &(&u64, &Physical)| {
            let idle = own.last.as_ref().is_none_or(|moment| self.is_done(moment.position));
            own.device == device && idle && self.memory.starting_at(**address).is_none()
        };
        let unused: Vec<u64> =
            self.graph_memory.blocks.iter().filter(unused).map(|(address, _)| *address).collect();
        for address in unused {
            if let Some(physical) = self.graph_memory.blocks.remove(&address) {
                self.memory.drop_block(physical.block);
            }
        }
        Ok(())
    }

    /// Returns an attribute: the used bytes, the reserved bytes, or the peak of either.
    pub(crate) fn graph_memory_attribute(&self, ordinal: i32, attribute: u32) -> Outcome<u64> {
        let device = self.device(ordinal)?;
        let of_graph = |region: &&Region| region.origin == Origin::Graph && region.device == device;
        let used: usize = self.memory.live().filter(of_graph).map(|region| region.len).sum();
        match attribute {
            0 => Ok(used as u64),
            2 => Ok(self.graph_memory_reserved(device) as u64),
            3 => Ok(self.graph_memory.high),
            _ => Err(unmodelled("the high mark of used graph memory")),
        }
    }
}
