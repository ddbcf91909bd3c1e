//! Recognises copies to another device. cudarc's `memcpy_dtod` has no trait method that names the
//! destination's stream, so only the order of its calls reveals such a copy.
//!
//! `memcpy_dtod` queries the source's stream. For a destination in another context, it queries that
//! stream again, requests the pointer for *that* stream, and waits for that stream. It never passes
//! the destination's stream, which also uses the memory. A pointer that follows two consecutive
//! queries may therefore be meant for another device. If it is meant for the pool's own device, the
//! pool performs one unnecessary wait.

use std::cell::Cell;

use pool_driver::calls::Address;

/// The block whose stream cudarc queried last, and the number of consecutive queries. It is empty
/// once a pointer has been returned.
#[derive(Debug, Default)]
pub(crate) struct StreamQuestions(Cell<Option<(Address, u32)>>);

impl StreamQuestions {
    /// Notes that cudarc queried the stream of a block.
    pub(crate) fn note(&self, block: Address) {
        let times = match self.0.get() {
            Some((before, times)) if before == block => times.saturating_add(1),
            _ => 1,
        };
        self.0.set(Some((block, times)));
    }

    /// Ends the queries because the pool returns a pointer to the block. Returns `true` if the
    /// pointer may be meant for another device.
    pub(crate) fn end(&self, block: Address) -> bool {
        self.0.take().is_some_and(|(asked, times)| asked == block && times > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::StreamQuestions;

    #[test]
    fn two_questions_in_a_row_for_one_block_are_a_copy_between_devices() {
        let questions = StreamQuestions::default();
        assert!(!questions.end(256));
        for (asked, is_elsewhere) in
            [(&[256][..], false), (&[256, 256], true), (&[512, 256], false), (&[256, 512], false)]
        {
            asked.iter().for_each(|block| questions.note(*block));
            assert_eq!(questions.end(256), is_elsewhere, "{asked:?}");
            assert!(!questions.end(256), "the questions have ended");
        }
    }
}
