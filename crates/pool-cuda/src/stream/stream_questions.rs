//! Detects copies that cudarc makes from a pool to another device. cudarc's copy method,
//! `memcpy_dtod`, does not pass the target's stream to any trait method. The pool can detect a copy
//! to another device only from the order of cudarc's calls.
//!
//! For every copy, `memcpy_dtod` queries the source's stream. If the target is in another context,
//! `memcpy_dtod` then queries the source's stream a second time and requests the pointer for that
//! stream. `memcpy_dtod` then makes the target's stream wait for the source's stream. The target's
//! stream also uses the memory, but cudarc never passes this stream to the pool. If cudarc requests
//! a pointer after two consecutive queries, the pool assumes that another device may use the
//! pointer. A wrong assumption causes only an unnecessary wait.

use std::cell::Cell;

use pool_driver::calls::Address;

/// The block whose stream cudarc last queried, and the number of consecutive queries for that
/// stream. The value is `None` once the pool has returned a pointer.
#[derive(Debug, Default)]
pub(crate) struct StreamQuestions(Cell<Option<(Address, u32)>>);

impl StreamQuestions {
    /// Records that cudarc queried a block's stream.
    pub(crate) fn note(&self, block: Address) {
        let times = match self.0.get() {
            Some((before, times)) if before == block => times.saturating_add(1),
            _ => 1,
        };
        self.0.set(Some((block, times)));
    }

    /// Ends the sequence of queries when the pool returns a pointer to the block. Returns `true` if
    /// another device may use the pointer.
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
