//! Conditional nodes: added to a graph by hand and read back. What they choose from are graphs of their own, which
//! live as long as the graph that the node is in. None is made executable.

use super::World;
use super::state::conditional::{Choice, Condition};
use super::state::handle::Kind;
use super::state::work::Work;
use crate::code::{Code, Outcome};

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
