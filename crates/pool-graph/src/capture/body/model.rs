//! A model of the order in which a capture's operations run. The model is built from the body's
//! operations and the waits between its streams, rather than from information that the driver
//! reports. A dry run takes the order of its operations only from this model. A capture uses the
//! model to determine which waits are still necessary.

use std::collections::BTreeSet;

/// A capture's streams and the operations on them. The capture begins on the first stream.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    lines: Vec<Line>,
    operations: usize,
    edges: Vec<(usize, usize)>,
    /// The index of each operation's stream.
    #[cfg(feature = "record")]
    streams: Vec<u32>,
}

/// A model of one of the capture's streams.
#[derive(Clone, Debug, Default)]
struct Line {
    /// `true` once the stream has become part of the capture.
    begun: bool,
    /// The operations on which the stream's next operation depends.
    frontier: BTreeSet<usize>,
    /// For each of the capture's streams, the number of operations on it that precede this stream's
    /// next operation.
    seen: Vec<usize>,
}

impl Model {
    /// Creates a model with `streams` streams and no operations. `streams` must be at least 1.
    pub(crate) fn new(streams: usize) -> Self {
        let line = |number| Line { begun: number == 0, seen: vec![0; streams], ..Line::default() };
        Self {
            lines: (0..streams).map(line).collect(),
            operations: 0,
            edges: Vec::new(),
            #[cfg(feature = "record")]
            streams: Vec::new(),
        }
    }

    /// Adds an operation to a stream and returns its number.
    pub(crate) fn operation(&mut self, stream: usize) -> usize {
        let operation = self.operations;
        self.operations += 1;
        let line = &mut self.lines[stream];
        self.edges.extend(line.frontier.iter().map(|&before| (before, operation)));
        line.frontier = BTreeSet::from([operation]);
        line.seen[stream] += 1;
        #[cfg(feature = "record")]
        self.streams.push(u32::try_from(stream).unwrap_or(u32::MAX));
        operation
    }

    /// Returns `true` if a wait is needed to order the next operation on `later` after all
    /// operations on `earlier`.
    pub(crate) fn must_wait(&self, later: usize, earlier: usize) -> bool {
        let (later_line, earlier_line) = (&self.lines[later], &self.lines[earlier]);
        let behind = later_line.seen.iter().zip(&earlier_line.seen).any(|(own, other)| own < other);
        later != earlier && earlier_line.begun && (behind || !later_line.begun)
    }

    /// Records that `later` is about to wait for `earlier`. The driver might still refuse the wait.
    /// If `later` is already part of the capture, the model records the order but still requires
    /// another wait when the order matters.
    pub(crate) fn is_to_wait(&mut self, later: usize, earlier: usize) {
        if self.lines[later].begun {
            self.come_behind(later, earlier);
        } else {
            self.wait(later, earlier);
        }
    }

    /// Records that `later` has waited for `earlier`.
    pub(crate) fn wait(&mut self, later: usize, earlier: usize) {
        self.come_behind(later, earlier);
        let seen = self.lines[earlier].seen.clone();
        let later = &mut self.lines[later];
        later.begun = true;
        for (own, other) in later.seen.iter_mut().zip(seen) {
            *own = (*own).max(other);
        }
    }

    /// Orders the next operation on `later` after all operations on `earlier`.
    fn come_behind(&mut self, later: usize, earlier: usize) {
        let frontier = self.lines[earlier].frontier.clone();
        self.lines[later].frontier.extend(frontier);
    }

    pub(crate) fn has_begun(&self, stream: usize) -> bool {
        self.lines[stream].begun
    }

    pub(crate) fn operations(&self) -> usize {
        self.operations
    }

    /// Returns the index of each operation's stream.
    #[cfg(feature = "record")]
    pub(crate) fn streams(&self) -> &[u32] {
        &self.streams
    }

    pub(crate) fn edges(&self) -> &[(usize, usize)] {
        &self.edges
    }
}

#[cfg(test)]
mod tests {
    use super::Model;

    #[test]
    fn a_wait_is_needed_once() {
        let mut model = Model::new(3);
        let first = model.operation(0);
        assert!(model.must_wait(1, 0) && !model.has_begun(1));
        model.wait(1, 0);
        assert!(!model.must_wait(1, 0) && !model.must_wait(0, 1) && !model.must_wait(0, 0));
        let branch = model.operation(1);
        assert!(model.must_wait(0, 1));
        assert!(!model.must_wait(0, 2), "nothing is on it");
        model.wait(2, 1);
        assert!(!model.must_wait(2, 0), "it came before the branch");
        let main = model.operation(0);
        model.wait(0, 1);
        let joined = model.operation(0);
        let edges = [(first, branch), (first, main), (branch, joined), (main, joined)];
        assert_eq!(model.edges(), edges);
        assert_eq!(model.operations(), 4);
    }
}
