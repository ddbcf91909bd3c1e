//! Maximum flow by blocking flows on level graphs (Dinic 1970), without recursion.

/// A network of directed edges with capacities.
#[derive(Debug)]
pub(super) struct Network {
    edges_of: Vec<Vec<usize>>,
    /// Edge 2k and its reverse 2k + 1.
    to: Vec<usize>,
    capacity: Vec<u64>,
}

impl Network {
    /// A network of `vertices` without edges.
    pub(super) fn new(vertices: usize) -> Self {
        Self { edges_of: vec![Vec::new(); vertices], to: Vec::new(), capacity: Vec::new() }
    }

    /// Adds an edge.
    pub(super) fn connect(&mut self, from: usize, to: usize, capacity: u64) {
        for (vertex, target, room) in [(from, to, capacity), (to, from, 0)] {
            self.edges_of[vertex].push(self.to.len());
            self.to.push(target);
            self.capacity.push(room);
        }
    }

    /// Pushes as much as possible from `source` to `sink`.
    pub(super) fn maximise(&mut self, source: usize, sink: usize) {
        loop {
            let levels = self.levels(source);
            if levels[sink] == usize::MAX {
                return;
            }
            self.block(source, sink, &levels);
        }
    }

    /// Which vertices more could be pushed to from `source`.
    pub(super) fn reachable(&self, source: usize) -> Vec<bool> {
        self.levels(source).into_iter().map(|level| level != usize::MAX).collect()
    }

    fn levels(&self, source: usize) -> Vec<usize> {
        let mut levels = vec![usize::MAX; self.edges_of.len()];
        levels[source] = 0;
        let mut queue = vec![source];
        let mut next = 0;
        while let Some(&vertex) = queue.get(next) {
            next += 1;
            for &edge in &self.edges_of[vertex] {
                let target = self.to[edge];
                if self.capacity[edge] > 0 && levels[target] == usize::MAX {
                    levels[target] = levels[vertex] + 1;
                    queue.push(target);
                }
            }
        }
        levels
    }

    /// Saturates every path to `sink` along which levels rise by one.
    fn block(&mut self, source: usize, sink: usize, levels: &[usize]) {
        let mut next_edge = vec![0; self.edges_of.len()];
        let mut path: Vec<usize> = Vec::new();
        loop {
            let vertex = path.last().map_or(source, |&edge| self.to[edge]);
            if vertex == sink {
                self.push(&mut path);
                continue;
            }
            let edges = &self.edges_of[vertex];
            let usable = |&edge: &usize| {
                self.capacity[edge] > 0 && levels[self.to[edge]] == levels[vertex] + 1
            };
            let from = next_edge[vertex];
            if let Some(step) = edges[from..].iter().position(usable) {
                next_edge[vertex] = from + step;
                path.push(edges[from + step]);
                continue;
            }
            // A dead end: whoever came here goes on with its next edge.
            next_edge[vertex] = edges.len();
            let Some(edge) = path.pop() else { return };
            next_edge[self.to[edge ^ 1]] += 1;
        }
    }

    /// Sends what fits along `path`, and cuts it back to the first edge that is full.
    fn push(&mut self, path: &mut Vec<usize>) {
        let amount = path.iter().map(|&edge| self.capacity[edge]).min().unwrap_or(0);
        for &edge in &*path {
            self.capacity[edge] -= amount;
            self.capacity[edge ^ 1] += amount;
        }
        let full = path.iter().position(|&edge| self.capacity[edge] == 0).unwrap_or(0);
        path.truncate(full);
    }
}
