//! Executable graphs, and their instantiation from a graph.

use super::World;
use super::state::exec::Exec;
use super::state::graph_memory::Allocation;
use super::state::handle::Kind;
use super::state::kernel::KernelCall;
use super::state::work::Work;
use crate::code::{Code, Outcome, unmodelled};

/// Flags of `cuGraphInstantiateWithFlags`.
const AUTO_FREE: u64 = 1;

const DEVICE_LAUNCH: u64 = 4;

const ALL_FLAGS: u64 = 15;

impl World {
    pub(crate) fn instantiate(&mut self, thread: u64, graph: u64, flags: u64) -> Outcome<u64> {
        let graph = self.graph(graph)?;
        self.refuse_unsafe_call(thread)?;
        if flags & !ALL_FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if flags & AUTO_FREE != 0 && flags & DEVICE_LAUNCH != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if flags & DEVICE_LAUNCH != 0 {
            return Err(unmodelled("graphs that the device launches"));
        }
        let graphs = self.all_graphs_in(graph);
        let allocations = graphs.iter().flat_map(|graph| &self.graphs[*graph].allocations);
        let allocations: Vec<Allocation> = allocations.cloned().collect();
        let has_memory = !allocations.is_empty();
        let beside = self.execs.iter().any(|exec| exec.lives && exec.graph == graph);
        if has_memory && beside {
            return Err(Code::NOT_SUPPORTED);
        }
        let (nodes, before) = self.copy_nodes(graph)?;
        self.refuse_unloaded(self.unloaded_kernel(&nodes), "cuGraphInstantiate")?;
        self.execs.push(Exec {
            lives: true,
            graph,
            auto_free: flags & AUTO_FREE != 0,
            flags,
            nodes,
            allocations,
            last: None,
            before,
            compared: false,
        });
        Ok(self.handles.make(Kind::Exec, self.execs.len() - 1))
    }

    /// Sets different parameters for the executable graph's copy of a kernel node.
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

    /// Destroys an executable graph, even after a fault. A launch in flight continues, and the
    /// memory that it allocated remains allocated.
    pub(crate) fn destroy_exec(&mut self, handle: u64) -> Outcome<()> {
        let exec = self.exec(handle)?;
        self.execs[exec].lives = false;
        Ok(())
    }

    pub(crate) fn exec_flags(&mut self, handle: u64) -> Outcome<u64> {
        let exec = self.exec(handle)?;
        Ok(self.execs[exec].flags)
    }
}
