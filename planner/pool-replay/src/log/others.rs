//! Foreign lines in a log: other programs may print to the same file.

/// The handling and the count of foreign lines.
#[derive(Debug, Default)]
pub(super) struct Others {
    is_skipping: bool,
    pub(super) skipped: u64,
}

impl Others {
    /// Foreign lines are skipped if `is_skipping`, else an error.
    pub(super) fn new(is_skipping: bool) -> Self {
        Self { is_skipping, skipped: 0 }
    }

    /// Counts an unreadable line, if it should be skipped. A line that looks like an event of the
    /// log is never skipped.
    pub(super) fn skip(&mut self, is_event: bool) -> bool {
        let is_skipped = self.is_skipping && !is_event;
        self.skipped += u64::from(is_skipped);
        is_skipped
    }

    /// Counts a line that has no event, but belongs to the format.
    pub(super) fn pass(&mut self) {
        self.skipped += 1;
    }
}
