//! A naive model of a finished graph: the driver's nodes and edges, a matrix of all pairs of nodes,
//! and for each region of the arena the nodes that may use it. It shares no code with the pool.

use std::collections::HashMap;
use std::ptr;

use cudarc::driver::sys;
use pool_driver::versioned::{EdgeData, graph_edges};

/// Bytes of the arena that a body uses as one region.
#[derive(Clone, Debug, Default)]
pub(super) struct Life {
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// The stream's last nodes when the region was taken.
    pub(super) taken_at: Vec<u64>,
    /// The nodes that the body added to use the region, with `true` for a write.
    pub(super) uses: Vec<(u64, bool)>,
    /// For each loan, the stream's last nodes when the loan was returned.
    pub(super) returned_at: Vec<Vec<u64>>,
    /// `true` if the region belongs to a scope, or is lent to a forgotten guard. It may then be
    /// used until the end of the graph.
    pub(super) is_kept: bool,
    /// The stream of the scope's pool that owns the region.
    pub(super) pool: Option<usize>,
}

/// The order in which nodes complete.
pub(super) struct Order {
    numbers: HashMap<u64, usize>,
    /// For each node, one bit per earlier node.
    before: Vec<Vec<u64>>,
}

impl Order {
    /// # Safety
    ///
    /// The graph must be live.
    pub(super) unsafe fn of(graph: sys::CUgraph) -> Self {
        let mut count = 0;
        // SAFETY: the graph is live (caller), and the output variables outlive the calls, here and
        // below.
        unsafe { sys::cuGraphGetNodes(graph, ptr::null_mut(), &raw mut count) }.result().unwrap();
        let mut nodes = vec![ptr::null_mut(); count];
        if count > 0 {
            // SAFETY: as above, with an array of `count` entries.
            let read = unsafe { sys::cuGraphGetNodes(graph, nodes.as_mut_ptr(), &raw mut count) };
            read.result().unwrap();
        }
        let numbers: HashMap<u64, usize> =
            nodes.iter().map(|node| node.addr() as u64).zip(0..).collect();
        let (none, mut edges) = (ptr::null_mut(), 0);
        // SAFETY: as above, with null pointers instead of arrays.
        unsafe { graph_edges(graph, none, none, ptr::null_mut(), &mut edges) }.unwrap();
        let (mut from, mut data) = (vec![ptr::null_mut(); edges], vec![EdgeData::default(); edges]);
        let mut to = from.clone();
        if edges > 0 {
            let (from, to, data) = (from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr());
            // SAFETY: as above, with arrays of `edges` entries.
            unsafe { graph_edges(graph, from, to, data, &mut edges) }.unwrap();
        }
        let number = |node: &sys::CUgraphNode| numbers[&(node.addr() as u64)];
        let full = from.iter().zip(&to).zip(&data).filter(|(_, data)| data.kind == 0);
        let edges: Vec<_> = full.map(|((from, to), _)| (number(from), number(to))).collect();
        let mut before = vec![vec![0_u64; nodes.len().div_ceil(64)]; nodes.len()];
        let mut changes = true;
        while changes {
            changes = false;
            for &(from, to) in &edges {
                let mut row = before[from].clone();
                row[from / 64] |= 1 << (from % 64);
                for (word, new) in before[to].iter_mut().zip(row) {
                    changes |= new & !*word > 0;
                    *word |= new;
                }
            }
        }
        Self { numbers, before }
    }

    pub(super) fn is_before(&self, earlier: u64, later: u64) -> bool {
        let earlier = self.numbers[&earlier];
        self.before[self.numbers[&later]][earlier / 64] >> (earlier % 64) & 1 == 1
    }

    fn is_or_is_before(&self, earlier: u64, later: u64) -> bool {
        earlier == later || self.is_before(earlier, later)
    }

    /// Returns the nodes that may use a region: its recorded users, and all nodes between taking
    /// and returning the region.
    fn may_use(&self, life: &Life) -> Vec<u64> {
        let is_over = |node: u64| {
            let mut cuts = life.returned_at.iter().flatten();
            life.is_kept || cuts.any(|&last| self.is_or_is_before(node, last))
        };
        let is_taken = |node: u64| life.taken_at.iter().all(|&cut| self.is_before(cut, node));
        let between = self.numbers.keys().copied().filter(|&node| is_taken(node) && is_over(node));
        life.uses.iter().map(|&(node, _)| node).chain(between).collect()
    }

    /// Returns two regions that share bytes and whose lifetimes are not ordered.
    pub(super) fn unordered(&self, lives: &[Life]) -> Option<(usize, usize)> {
        let may_use: Vec<Vec<u64>> = lives.iter().map(|life| self.may_use(life)).collect();
        let is_before = |one: usize, other: usize| {
            let is_done = |&node: &u64| {
                lives[other].taken_at.iter().any(|&cut| self.is_or_is_before(node, cut))
            };
            may_use[one].iter().all(is_done)
        };
        pairs(lives).find(|&(one, other)| {
            let are_used = !may_use[one].is_empty() && !may_use[other].is_empty();
            are_used && !is_before(one, other) && !is_before(other, one)
        })
    }

    /// Returns two regions that share bytes and whose uses by nodes of the body are not ordered.
    /// This is a race, or data is overwritten before it is read.
    pub(super) fn clashing(&self, lives: &[Life]) -> Option<(usize, usize)> {
        let is_before = |one: usize, other: usize| {
            let all =
                |node: u64| lives[other].uses.iter().all(|&(use_, _)| self.is_before(node, use_));
            lives[one].uses.iter().all(|&(node, _)| all(node))
        };
        pairs(lives).find(|&(one, other)| !is_before(one, other) && !is_before(other, one))
    }

    /// Returns two unordered uses of the same bytes that are not both reads.
    pub(super) fn race(&self, uses: &[(u64, bool)]) -> Option<(u64, u64)> {
        let each = uses.iter().enumerate();
        let mut pairs =
            each.flat_map(|(at, &one)| uses[at + 1..].iter().map(move |&other| (one, other)));
        let races = |&((one, writes), (other, also)): &((u64, bool), (u64, bool))| {
            let is_ordered = self.is_or_is_before(one, other) || self.is_before(other, one);
            (writes || also) && !is_ordered
        };
        pairs.find(races).map(|((one, _), (other, _))| (one, other))
    }

    /// Returns a region with a use that is not ordered after the region was taken.
    pub(super) fn early(&self, lives: &[Life]) -> Option<usize> {
        lives.iter().position(|life| {
            let mut uses = life.uses.iter();
            uses.any(|&(node, _)| !life.taken_at.iter().all(|&cut| self.is_before(cut, node)))
        })
    }
}

/// Returns the pairs of regions that share bytes.
fn pairs(lives: &[Life]) -> impl Iterator<Item = (usize, usize)> {
    let share = |&(one, other): &(usize, usize)| {
        let (one, other) = (&lives[one], &lives[other]);
        one.address < other.address + other.bytes && other.address < one.address + one.bytes
    };
    (0..lives.len())
        .flat_map(|one| (one + 1..lives.len()).map(move |other| (one, other)))
        .filter(share)
}
