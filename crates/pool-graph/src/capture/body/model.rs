//! A model of the order in a capture that needs no driver: operations of streams, and waits between streams. A dry run
//! has only the model. A capture uses it to find the waits that are still needed.

use std::collections::BTreeSet;

/// The streams, and the operations on them so far. The first stream is the captured one.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    lines: Vec<Line>,
    operations: usize,
    edges: Vec<(usize, usize)>,
    /// The stream that each operation is on.
    #[cfg(feature = "record")]
    streams: Vec<u32>,
}

/// A stream in the model.
#[derive(Clone, Debug, Default)]
struct Line {
    /// `true` if the stream takes part in the capture yet.
    begun: bool,
    /// The operations that the next one on the stream depends on.
    frontier: BTreeSet<usize>,
    /// For each stream, the number of its operations that precede the next one here.
    seen: Vec<usize>,
}

impl Model {
    /// Creates a model of at least one stream, without operations.
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

    /// Adds an operation to a stream. Returns its number.
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

    /// Returns `true` if a stream has to wait so that its next operation comes after all of another
    /// one's.
    pub(crate) fn must_wait(&self, later: usize, earlier: usize) -> bool {
        let (later_line, earlier_line) = (&self.lines[later], &self.lines[earlier]);
        let behind = later_line.seen.iter().zip(&earlier_line.seen).any(|(own, other)| own < other);
        later != earlier && earlier_line.begun && (behind || !later_line.begun)
    }

    /// Records a planned wait of a stream for another one, which the driver may refuse. If the
    /// stream takes part already, the model does not rely on that wait: it waits once more where
    /// that matters.
    pub(crate) fn is_to_wait(&mut self, later: usize, earlier: usize) {
        if self.lines[later].begun {
            self.come_behind(later, earlier);
        } else {
            self.wait(later, earlier);
        }
    }

    /// Records a wait of a stream for another one.
    pub(crate) fn wait(&mut self, later: usize, earlier: usize) {
        self.come_behind(later, earlier);
        let seen = self.lines[earlier].seen.clone();
        let later = &mut self.lines[later];
        later.begun = true;
        for (own, other) in later.seen.iter_mut().zip(seen) {
            *own = (*own).max(other);
        }
    }

    /// Orders the next operation on a stream after those of another one.
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

    /// Returns the stream of each operation.
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
