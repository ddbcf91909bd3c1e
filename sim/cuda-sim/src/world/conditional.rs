//! Conditional nodes can be added to a graph explicitly and read back. Their bodies are separate
//! graphs that live as long as the graph that contains the node. The simulator cannot instantiate a
//! graph that contains a conditional node.

use super::World;
use super::state::conditional::{Choice, Condition};
use super::state::handle::Kind;
use super::state::work::Work;
use crate::code::{Code, Outcome};

impl World {
    /// Creates a condition for one node of a graph. The number 0 means that there is no condition.
    pub(crate) fn create_condition(&mut self, graph: u64) -> Outcome<u64> {
        let graph = self.graph(graph)?;
        self.conditions.push(Condition { graph, is_taken: false });
        Ok(self.conditions.len() as u64)
    }

    /// Adds a conditional node. Returns its handle and the handles of its bodies.
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

    /// Returns `true` if a graph is alive. A body lives as long as the graph that contains it.
    pub(crate) fn graph_lives(&self, graph: usize) -> bool {
        let mut next = Some(graph);
        while let Some(own) = next.map(|graph| &self.graphs[graph]) {
            if !own.lives {
                return false;
            }
            // A graph is always created after the graph that contains it.
            next = own.parent;
        }
        true
    }
}
