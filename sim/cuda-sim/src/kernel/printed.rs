//! Kernel output that the driver has not collected yet.

use std::collections::VecDeque;

use crate::printf::BUFFER;

/// The output of one call by one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Printed {
    pub(crate) block: u64,
    pub(crate) thread: u32,
    pub(crate) text: Vec<u8>,
}

/// The buffer that kernels print into. When it is full, the oldest output is dropped.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    all: VecDeque<Printed>,
    bytes: usize,
}

impl Buffer {
    /// Empty texts are not stored, so they take no memory.
    pub(crate) fn push(&mut self, printed: Printed) {
        if printed.text.is_empty() {
            return;
        }
        self.bytes += printed.text.len();
        self.all.push_back(printed);
        while self.bytes > BUFFER {
            let Some(oldest) = self.all.pop_front() else { return };
            self.bytes -= oldest.text.len();
        }
    }

    /// Empties the buffer and returns its contents, oldest first.
    pub(crate) fn take(&mut self) -> Vec<Printed> {
        self.bytes = 0;
        std::mem::take(&mut self.all).into()
    }
}
