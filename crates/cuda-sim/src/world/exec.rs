//! Graphs that can be launched: made from a graph, and changed to another of the same shape.

use std::collections::HashMap;

use super::World;
use super::code::{Code, Outcome, unmodelled};
use super::event::Moment;
use super::graph_memory::Allocation;
use super::handle::Kind;
use super::work::{NodeKind, Work};

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

/// A node of it; those that it waits for by their places in the vector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExecNode {
    pub(crate) node: usize,
    pub(crate) work: Work,
    pub(crate) before: Vec<usize>,
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
    fn copy_nodes(&self, graph: usize) -> Outcome<(Vec<ExecNode>, Vec<Vec<bool>>)> {
        let mut open = self.graphs[graph].nodes.clone();
        let count = open.len();
        let mut places = HashMap::new();
        let (mut nodes, mut before) = (Vec::new(), Vec::<Vec<bool>>::new());
        while !open.is_empty() {
            let left = open.len();
            open.retain(|node| {
                let own = &self.nodes[*node];
                let waits: Option<Vec<usize>> =
                    own.before.iter().map(|(node, _)| places.get(node).copied()).collect();
                let Some(waits) = waits else { return true };
                let mut all = vec![false; count];
                for place in &waits {
                    all[*place] = true;
                    for (mine, theirs) in all.iter_mut().zip(&before[*place]) {
                        *mine |= theirs;
                    }
                }
                places.insert(*node, nodes.len());
                nodes.push(ExecNode { node: *node, work: own.work.clone(), before: waits });
                before.push(all);
                false
            });
            if open.len() == left {
                return Err(Code::INVALID_VALUE);
            }
        }
        Ok((nodes, before))
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

    /// Takes the parameters of another graph of the same shape. The error tells which result
    /// CUDA names for it: 2 the topology, 3 a node's type, 6 a change that is not supported.
    pub(crate) fn update_exec(&mut self, exec: u64, graph: u64) -> Outcome<Result<(), u32>> {
        let (exec, graph) = (self.exec(exec)?, self.graph(graph)?);
        let (nodes, before) = self.copy_nodes(graph)?;
        let old = &self.execs[exec];
        if old.nodes.len() != nodes.len() {
            return Ok(Err(2));
        }
        let memory =
            |node: &ExecNode| matches!(node.work.kind(), NodeKind::Allocate | NodeKind::Free);
        if old.nodes.iter().chain(&nodes).any(memory) {
            return Ok(Err(6));
        }
        for (old, new) in old.nodes.iter().zip(&nodes) {
            if old.work.kind() != new.work.kind() {
                return Ok(Err(3));
            }
            if old.before != new.before {
                return Ok(Err(2));
            }
        }
        let own = &mut self.execs[exec];
        (own.nodes, own.before, own.compared) = (nodes, before, false);
        Ok(Ok(()))
    }
}
