//! The stack of one element type: its vectors, the number in use, and the saved counters.

/// The vectors of one type.
#[derive(Debug)]
pub struct TypedPool<T> {
    vectors: Vec<Vec<T>>,
    active: usize,
    /// Starts with a sentinel, so that reading the top needs no check for an empty stack.
    saved_active: Vec<usize>,
    /// The depths at which those were saved; the same length.
    saved_depths: Vec<usize>,
    growths: u64,
}

impl<T> Default for TypedPool<T> {
    fn default() -> Self {
        Self {
            vectors: Vec::new(),
            active: 0,
            saved_active: vec![0],
            saved_depths: vec![0],
            growths: 0,
        }
    }
}

impl<T: Clone + Default> TypedPool<T> {
    /// Saves the counter.
    #[inline]
    pub(super) fn checkpoint(&mut self, depth: usize) {
        self.saved_active.push(self.active);
        self.saved_depths.push(depth);
    }

    /// Restores the counter saved at `depth`, after removing deeper ones that were never popped.
    #[inline]
    pub(super) fn rewind(&mut self, depth: usize) {
        while self.top_depth() > depth {
            self.pop();
        }
        self.active = self.saved_active[self.saved_active.len() - 1];
        if self.top_depth() == depth {
            self.pop();
        }
    }

    #[inline]
    fn top_depth(&self) -> usize {
        self.saved_depths[self.saved_depths.len() - 1]
    }

    #[inline]
    fn pop(&mut self) {
        self.saved_active.pop();
        self.saved_depths.pop();
    }

    /// Returns the next vector, made or grown if needed.
    #[inline]
    pub(super) fn acquire(&mut self, length: usize) -> &mut [T] {
        let index = self.active;
        self.active += 1;
        if index == self.vectors.len() {
            self.make(length);
        }
        if self.vectors[index].len() < length {
            self.grow(index, length);
        }
        &mut self.vectors[index][..length]
    }

    #[cold]
    #[inline(never)]
    fn make(&mut self, length: usize) {
        self.growths += 1;
        self.vectors.push(vec![T::default(); length]);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, index: usize, length: usize) {
        self.growths += 1;
        self.vectors[index].resize(length, T::default());
    }

    pub(super) fn bytes(&self) -> usize {
        self.vectors.iter().map(|vector| vector.capacity() * size_of::<T>()).sum()
    }

    pub(super) fn growths(&self) -> u64 {
        self.growths
    }
}
