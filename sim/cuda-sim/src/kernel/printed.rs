//! Output of kernels, until the driver takes it.

use std::collections::VecDeque;

use crate::printf::BUFFER;

/// Output of one call by one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Printed {
    pub(crate) block: u64,
    pub(crate) thread: u32,
    pub(crate) text: Vec<u8>,
}

/// The buffer that kernels print into. A full buffer drops its oldest output.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    all: VecDeque<Printed>,
    bytes: usize,
}

impl Buffer {
    /// An empty text is not stored, so that any number of them takes no memory.
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

    /// Empties the buffer, and returns its contents, oldest first.
    pub(crate) fn take(&mut self) -> Vec<Printed> {
        self.bytes = 0;
        std::mem::take(&mut self.all).into()
    }
}
