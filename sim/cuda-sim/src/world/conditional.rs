//! Conditional nodes: added to a graph by hand and read back. What they choose from are graphs of their own, which
//! live as long as the graph that the node is in. None is made executable.

use super::World;
use super::code::{Code, Outcome};
use super::handle::Kind;
use super::work::Work;

/// What a conditional node does with its bodies, as CUDA numbers it.
pub(super) const IF: u32 = 0;
pub(super) const WHILE: u32 = 1;
pub(super) const SWITCH: u32 = 2;

/// What decides which body of a node is run. It is of one graph, and for one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition {
    graph: usize,
    is_taken: bool,
}

/// What a conditional node is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) condition: u64,
    pub(crate) kind: u32,
    /// How many bodies there are to be.
    pub(crate) bodies: u32,
}

impl Choice {
    fn is_valid(self) -> bool {
        match self.kind {
            IF => matches!(self.bodies, 1 | 2),
            WHILE => self.bodies == 1,
            SWITCH => (1..=1 << 16).contains(&self.bodies),
            _ => false,
        }
    }
}

impl World {
    /// A condition for one node of a graph; 0 is none.
    pub(crate) fn create_condition(&mut self, graph: u64) -> Outcome<u64> {
        let graph = self.graph(graph)?;
        self.conditions.push(Condition { graph, is_taken: false });
        Ok(self.conditions.len() as u64)
    }

    /// Adds a conditional node; its handle, and where those of its bodies are.
    pub(crate) fn add_conditional(
        &mut self,
        graph: u64,
        after: &[u64],
        choice: Choice,
    ) -> Outcome<(u64, u64)> {
        let graph = self.graph(graph)?;
        let after = self.nodes_of(graph, after)?;
        let place = usize::try_from(choice.condition).ok().and_then(|number| number.checked_sub(1));
        let condition = place.and_then(|place| self.conditions.get_mut(place));
        let free = condition.filter(|condition| condition.graph == graph && !condition.is_taken);
        let Some(condition) = free.filter(|_| choice.is_valid()) else {
            return Err(Code::INVALID_VALUE);
        };
        condition.is_taken = true;
        let bodies: Vec<u64> = (0..choice.bodies)
            .map(|_| {
                let body = self.new_graph();
                self.graphs[body].parent = Some(graph);
                self.handles.make(Kind::Graph, body)
            })
            .collect();
        let shown = bodies.as_ptr().expose_provenance() as u64;
        let node = self.new_node(graph, &after, Work::Conditional(bodies));
        Ok((self.handles.make(Kind::Node, node), shown))
    }

    /// Whether a graph is there: a body is as long as the graph that it is in.
    pub(crate) fn graph_lives(&self, graph: usize) -> bool {
        let mut next = Some(graph);
        while let Some(own) = next.map(|graph| &self.graphs[graph]) {
            if !own.lives {
                return false;
            }
            // The one that a graph is in was made before it.
            next = own.parent;
        }
        true
    }
}
