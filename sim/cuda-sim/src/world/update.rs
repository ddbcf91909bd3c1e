//! Updates. An update replaces the parameters of an executable graph with those of another graph of
//! the same shape, or is refused. The simulator refuses every change that CUDA allows a driver to
//! refuse, because a program that relies on such changes only works on some drivers.
//!
//! - The number of nodes, their edges and their kinds (driver API, `cuGraphExecUpdate`).
//! - Memsets: "Changing other aspects of the memset (width, height, element size or pitch) may cause the update to be
//!   rejected", and "Zero sized operations are not supported" (`cuGraphExecMemsetNodeSetParams`).
//! - Copies: "Changing either the source or destination memory type" (`cuGraphExecUpdate`). Copies
//!   of several rows stay unchanged: "either the original or new memory operands are
//!   multidimensional" (`cuGraphExecMemcpyNodeSetParams`).
//! - Both: the device of an operand; kernels: the context of the function (`cuGraphExecUpdate`).

use super::World;
use super::state::copy::{Copy, End};
use super::state::exec::ExecNode;
use super::state::handle::Kind;
use super::state::update::UpdateRefusal;
use super::state::work::{NodeKind, Work};
use crate::code::Outcome;

const TOPOLOGY_CHANGED: u32 = 2;

const NODE_TYPE_CHANGED: u32 = 3;

const FUNCTION_CHANGED: u32 = 4;

const PARAMETERS_CHANGED: u32 = 5;

const NOT_SUPPORTED: u32 = 6;

impl World {
    /// Copies the parameters of another graph of the same shape into the executable graph. On
    /// failure, returns the reason and changes nothing.
    pub(crate) fn update_exec(
        &mut self,
        exec: u64,
        graph: u64,
    ) -> Outcome<Result<(), UpdateRefusal>> {
        let (exec, graph) = (self.exec(exec)?, self.graph(graph)?);
        let (nodes, before) = self.copy_nodes(graph)?;
        self.refuse_unloaded(self.unloaded_kernel(&nodes), "cuGraphExecUpdate")?;
        if let Some(refused) = self.compare_nodes(exec, &nodes) {
            return Ok(Err(refused));
        }
        let own = &mut self.execs[exec];
        (own.nodes, own.before, own.compared) = (nodes, before, false);
        own.graph = graph;
        Ok(Ok(()))
    }

    /// Returns the first change that is not allowed. The nodes in it belong to the other graph.
    fn compare_nodes(&self, exec: usize, nodes: &[ExecNode]) -> Option<UpdateRefusal> {
        let old = &self.execs[exec].nodes;
        let handle = |node: &ExecNode| self.handles.make(Kind::Node, node.node);
        let refusal =
            |result: u32, node: u64, from: u64| Some(UpdateRefusal { result, node, from });
        if old.len() != nodes.len() {
            return refusal(TOPOLOGY_CHANGED, 0, 0);
        }
        let memory =
            |node: &&ExecNode| matches!(node.work.kind(), NodeKind::Allocate | NodeKind::Free);
        if let Some(node) = nodes.iter().find(memory) {
            return refusal(NOT_SUPPORTED, handle(node), 0);
        }
        for (old, new) in old.iter().zip(nodes) {
            if old.work.kind() != new.work.kind() {
                return refusal(NODE_TYPE_CHANGED, handle(new), 0);
            }
            if old.edges.len() != new.edges.len() {
                return refusal(TOPOLOGY_CHANGED, handle(new), 0);
            }
            let mut edges = old.edges.iter().zip(&new.edges);
            if let Some((_, (from, _))) = edges.find(|(old, new)| old != new) {
                return refusal(TOPOLOGY_CHANGED, handle(new), handle(&nodes[*from]));
            }
            if let Some(result) = self.compare_parameters(&old.work, &new.work) {
                return refusal(result, handle(new), 0);
            }
        }
        None
    }

    /// Returns why a node refuses the parameters of another node of the same kind.
    fn compare_parameters(&self, old: &Work, new: &Work) -> Option<u32> {
        match (old, new) {
            (Work::Fill(old), Work::Fill(new)) => {
                let keeps = old.has_shape_of(new)
                    && new.width > 0
                    && new.height > 0
                    && self.may_replace(old.address, new.address);
                (!keeps).then_some(PARAMETERS_CHANGED)
            }
            (Work::Copy(old), Work::Copy(new)) => {
                (!self.may_replace_copy(old, new)).then_some(PARAMETERS_CHANGED)
            }
            (Work::Kernel(old), Work::Kernel(new)) => {
                let device = |function: usize| {
                    let module = self.functions[function].module;
                    self.modules[module].device
                };
                (device(old.function) != device(new.function)).then_some(FUNCTION_CHANGED)
            }
            _ => None,
        }
    }

    fn may_replace_copy(&self, old: &Copy, new: &Copy) -> bool {
        let ends = |old: &End, new: &End| match (old, new) {
            (End::Device(old), End::Device(new)) => self.may_replace(*old, *new),
            (End::Device(_), _) | (_, End::Device(_)) => false,
            _ => true,
        };
        let is_row = old.volume.is_none() && new.volume.is_none();
        let may_change = new.bytes > 0 && ends(&old.from, &new.from) && ends(&old.to, &new.to);
        if is_row { may_change } else { old == new }
    }

    /// Returns `false` only if the two addresses are known to be on different devices.
    fn may_replace(&self, old: u64, new: u64) -> bool {
        let device = |address: u64| self.memory.around(address).map(|region| region.device);
        device(old).zip(device(new)).is_none_or(|(old, new)| old == new)
    }
}
