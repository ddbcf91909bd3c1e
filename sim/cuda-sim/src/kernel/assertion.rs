//! Failed assertions in a kernel: they print the same text as CUDA, and end the launch.

use super::engine::{Engine, place, size};
use super::launch::Fault;
use super::warp::{Warp, lanes};
use crate::code::Code;
use crate::ptx::op::AssertFail;
use crate::report::Mistake;

/// The number of bytes after which a text is cut off.
const LONGEST_TEXT: u64 = 4096;

impl Engine<'_> {
    /// Stores one message line for each thread, and returns the fault that ends the launch.
    pub(super) fn assertion_failed(
        &mut self,
        warp: &mut Warp,
        wanted: &AssertFail,
        at: usize,
        active: u32,
    ) -> Fault {
        for lane in lanes(active) {
            let line = self.assertion(warp, wanted, lane);
            self.messages.push(line);
        }
        let lane = active.trailing_zeros() as usize;
        let kind = (Code::ASSERT, Mistake::KernelFault);
        self.fault(kind, warp, lane, at, "an assertion does not hold")
    }

    /// Returns the text that CUDA would print.
    fn assertion(&mut self, warp: &mut Warp, wanted: &AssertFail, lane: usize) -> String {
        let argument = |warp: &mut Warp, start: usize, bytes: usize| {
            let mut value = [0; 8];
            value[..bytes].copy_from_slice(&warp.local_of(lane)[start..start + bytes]);
            u64::from_le_bytes(value)
        };
        let texts = [wanted.file, wanted.function, wanted.message];
        let [file, function, message] = texts.map(|start| self.text_at(argument(warp, start, 8)));
        let line = argument(warp, wanted.line, 4);
        let [x, y, z] = place(self.block, self.launch.grid);
        let thread = warp.first_thread + size(lane);
        let [i, j, k] = place(thread.into(), self.launch.block);
        format!(
            "{file}:{line}: {function}: block: [{x},{y},{z}], thread: [{i},{j},{k}] \
             Assertion `{message}` failed."
        )
    }

    /// Returns a zero-terminated text from the module, up to the first byte that cannot be read.
    fn text_at(&mut self, address: u64) -> String {
        let mut text = Vec::new();
        for address in address..address.saturating_add(LONGEST_TEXT) {
            let Ok((taken, offset)) = self.global.locate(address, 1) else { break };
            match self.global.taken[taken].bytes[offset] {
                0 => break,
                byte => text.push(byte),
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}
