//! Fills and copies say in the graph which memory they name. What neither the graph owns nor an operation
//! of the capture put there came past the capture, and is refused: by a safe call of another library, on a
//! stream where a scope was open, so that its coming was not noticed.

use std::collections::HashMap;

use super::error::CaptureError;
use crate::captured::{Contents, GraphMemory, HostBuffer};

/// Where a stream stood before and after an operation, by handles of nodes.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) before: Vec<u64>,
    pub(super) after: Vec<u64>,
}

/// What a graph owns, and what its operations answer for.
pub(super) struct Known<'a> {
    pub(super) memory: &'a GraphMemory,
    pub(super) host: &'a [Option<HostBuffer>],
    pub(super) operations: &'a [Span],
    /// The places of nodes, by handle.
    pub(super) numbers: &'a HashMap<u64, usize>,
}

impl Known<'_> {
    /// Checks that nothing else is named.
    pub(super) fn check(&self, contents: &Contents) -> Result<(), CaptureError> {
        let named = contents.accesses.iter().chain(&contents.host_accesses);
        let mut foreign = named.filter(|access| !self.owns(access)).peekable();
        if foreign.peek().is_none() {
            return Ok(());
        }
        let mut followers = vec![Vec::new(); contents.order.nodes];
        for edge in &contents.order.edges {
            if let Some(followers) = followers.get_mut(edge.from) {
                followers.push(edge.to);
            }
        }
        let stranger = foreign.find(|&&(node, ..)| !self.is_of_an_operation(node, &followers));
        stranger.map_or(Ok(()), |&(_, address, bytes)| {
            Err(CaptureError::ForeignMemory { address, bytes })
        })
    }

    fn owns(&self, &(_, address, bytes): &(usize, u64, u64)) -> bool {
        self.memory.leases.iter().any(|lease| lease.contains(address, bytes))
            || self.host.iter().flatten().any(|buffer| buffer.contains(address, bytes))
    }

    /// Whether a node came in between the beginning and the end of some operation.
    fn is_of_an_operation(&self, node: usize, followers: &[Vec<usize>]) -> bool {
        let mut reached = vec![false; followers.len()];
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            if reached.get(node) == Some(&false) {
                reached[node] = true;
                open.extend(&followers[node]);
            }
        }
        let reaches = |handle: &u64| {
            let place = self.numbers.get(handle);
            place.is_some_and(|&place| reached.get(place) == Some(&true))
        };
        let answers_for =
            |span: &Span| span.after.iter().any(reaches) && !span.before.iter().any(reaches);
        self.operations.iter().any(answers_for)
    }
}
