//! What kernels print, until it is taken.

use std::collections::VecDeque;

use crate::printf::BUFFER;

/// What one thread has printed by one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Printed {
    pub(crate) block: u64,
    pub(crate) thread: u32,
    pub(crate) text: Vec<u8>,
}

/// The buffer that kernels print into: where it is full, what is oldest is lost.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    all: VecDeque<Printed>,
    bytes: usize,
}

impl Buffer {
    /// Of an empty text there is nothing to keep: any number of them takes no memory.
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

    /// What is in it, from the oldest on; it is empty then.
    pub(crate) fn take(&mut self) -> Vec<Printed> {
        self.bytes = 0;
        std::mem::take(&mut self.all).into()
    }
}
