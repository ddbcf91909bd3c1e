//! Graphs that can be launched, and how they are made from a graph.

use std::collections::HashMap;

use super::World;
use super::code::{Code, Outcome, unmodelled};
use super::event::Moment;
use super::graph::EdgeData;
use super::graph_memory::Allocation;
use super::handle::Kind;
use super::kernel::KernelCall;
use super::work::Work;

/// An executable graph: a copy, which what happens to the graph later does not change.
#[derive(Debug)]
pub(crate) struct Exec {
    pub(crate) lives: bool,
    graph: usize,
    pub(crate) auto_free: bool,
    flags: u64,
    pub(crate) nodes: Vec<ExecNode>,
    pub(crate) allocations: Vec<Allocation>,
    /// Its last launch, for which the next one waits.
    pub(crate) last: Option<Moment>,
    /// For each node all that come before it.
    pub(crate) before: Vec<Vec<bool>>,
    /// Whether its branches were compared with each other.
    pub(crate) compared: bool,
}

/// A node of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExecNode {
    pub(crate) node: usize,
    pub(crate) work: Work,
    /// Its edges, from places in the vector.
    pub(super) edges: Vec<(usize, EdgeData)>,
    /// Those that it waits for, by their places.
    pub(crate) before: Vec<usize>,
}

/// What comes before a node.
#[derive(Clone, Debug, Default)]
struct Past {
    /// All of it is done, and its memory is seen, when the node begins.
    begun: Vec<bool>,
    /// The same when the node has ended: also what it depends on programmatically.
    ended: Vec<bool>,
}

/// Flags of `cuGraphInstantiateWithFlags`.
const AUTO_FREE: u64 = 1;
const DEVICE_LAUNCH: u64 = 4;
const ALL_FLAGS: u64 = 15;

impl World {
    pub(crate) fn instantiate(&mut self, graph: u64, flags: u64) -> Outcome<u64> {
        let graph = self.graph(graph)?;
        if flags & !ALL_FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if flags & DEVICE_LAUNCH != 0 {
            return Err(unmodelled("graphs that the device launches"));
        }
        let has_memory = !self.graphs[graph].allocations.is_empty();
        let beside = self.execs.iter().any(|exec| exec.lives && exec.graph == graph);
        if has_memory && beside {
            return Err(Code::NOT_SUPPORTED);
        }
        let (nodes, before) = self.copy_nodes(graph)?;
        self.execs.push(Exec {
            lives: true,
            graph,
            auto_free: flags & AUTO_FREE != 0,
            flags,
            nodes,
            allocations: self.graphs[graph].allocations.clone(),
            last: None,
            before,
            compared: false,
        });
        Ok(self.handles.make(Kind::Exec, self.execs.len() - 1))
    }

    /// The nodes so that each comes after those it waits for; an error where they go in a circle.
    pub(super) fn copy_nodes(&self, graph: usize) -> Outcome<(Vec<ExecNode>, Vec<Vec<bool>>)> {
        let mut open = self.graphs[graph].nodes.clone();
        let count = open.len();
        let holds_graphs =
            |node: &usize| matches!(self.nodes[*node].work, Work::Child(_) | Work::Conditional(_));
        if open.iter().any(holds_graphs) {
            return Err(unmodelled("an executable graph with another one in it"));
        }
        let mut places = HashMap::new();
        let (mut nodes, mut pasts) = (Vec::new(), Vec::<Past>::new());
        while !open.is_empty() {
            let left = open.len();
            open.retain(|node| {
                let own = &self.nodes[*node];
                let place = |(node, data): &(usize, EdgeData)| Some((*places.get(node)?, *data));
                let edges: Option<Vec<(usize, EdgeData)>> = own.before.iter().map(place).collect();
                let Some(edges) = edges else { return true };
                let past = past(&own.work, &edges, &pasts, count);
                let before = waits(&past, &edges, &pasts);
                places.insert(*node, nodes.len());
                nodes.push(ExecNode { node: *node, work: own.work.clone(), edges, before });
                pasts.push(past);
                false
            });
            if open.len() == left {
                return Err(Code::INVALID_VALUE);
            }
        }
        Ok((nodes, pasts.into_iter().map(|past| past.begun).collect()))
    }

    /// Gives the copy of a kernel's node other parameters.
    pub(crate) fn set_exec_kernel(
        &mut self,
        exec: u64,
        node: u64,
        call: KernelCall,
    ) -> Outcome<()> {
        let (exec, node) = (self.exec(exec)?, self.node(node)?);
        let own = self.execs[exec].nodes.iter_mut().find(|own| own.node == node);
        match own.map(|own| &mut own.work) {
            Some(Work::Kernel(own)) => {
                *own = call;
                self.execs[exec].compared = false;
                Ok(())
            }
            _ => Err(Code::INVALID_VALUE),
        }
    }

    pub(crate) fn exec(&mut self, handle: u64) -> Outcome<usize> {
        self.initialized()?;
        self.find(Kind::Exec, handle, "use of an executable graph").map_err(|_| Code::INVALID_VALUE)
    }

    /// A launch in flight goes on, and memory that it allocated stays.
    pub(crate) fn destroy_exec(&mut self, handle: u64) -> Outcome<()> {
        let exec = self.exec(handle)?;
        let last = self.execs[exec].last.as_ref();
        let device = last.map(|moment| self.streams[moment.position.stream].device);
        if let Some(sticky) = device.and_then(|device| self.devices[device].sticky) {
            return Err(sticky);
        }
        self.execs[exec].lives = false;
        Ok(())
    }

    pub(crate) fn exec_flags(&mut self, handle: u64) -> Outcome<u64> {
        let exec = self.exec(handle)?;
        Ok(self.execs[exec].flags)
    }
}

/// What comes before a node with these edges. A programmatic edge does not order memory, unless the
/// kernel waits for the one that it depends on.
fn past(work: &Work, edges: &[(usize, EdgeData)], pasts: &[Past], count: usize) -> Past {
    let waits = match work {
        Work::Kernel(call) => call.launch.program.waits_for_dependency,
        _ => false,
    };
    let mut past = Past { begun: vec![false; count], ended: vec![false; count] };
    for (place, data) in edges {
        let mut all = pasts[*place].ended.clone();
        all[*place] = true;
        for (node, comes_before) in all.into_iter().enumerate() {
            past.ended[node] |= comes_before;
            past.begun[node] |= comes_before && (data.is_plain() || waits);
        }
    }
    past
}

/// The nodes after which a node may begin: its edges' ones, and those that these do not wait for.
fn waits(past: &Past, edges: &[(usize, EdgeData)], pasts: &[Past]) -> Vec<usize> {
    let mut waits: Vec<usize> = edges.iter().map(|(place, _)| *place).collect();
    for (place, _) in edges {
        let own = &pasts[*place];
        let loose = own.ended.iter().zip(&own.begun).enumerate();
        waits.extend(loose.filter(|(_, (ended, begun))| **ended && !**begun).map(|(node, _)| node));
    }
    waits.retain(|node| past.begun[*node]);
    waits.sort_unstable();
    waits.dedup();
    waits
}
