//! Foreign lines in a log. Other programs may write to the same file.

/// Handles and counts foreign lines.
#[derive(Debug, Default)]
pub(super) struct Others {
    is_skipping: bool,
    pub(super) skipped: u64,
}

impl Others {
    /// Creates a counter of foreign lines. If `is_skipping` is `true`, foreign lines are skipped.
    /// If it is `false`, a foreign line is an error.
    pub(super) fn new(is_skipping: bool) -> Self {
        Self { is_skipping, skipped: 0 }
    }

    /// Counts an unreadable line if it may be skipped. A line that looks like an event of the log
    /// is never skipped.
    pub(super) fn skip(&mut self, is_event: bool) -> bool {
        let is_skipped = self.is_skipping && !is_event;
        self.skipped += u64::from(is_skipped);
        is_skipped
    }

    /// Counts a line that belongs to the format but contains no event.
    pub(super) fn pass(&mut self) {
        self.skipped += 1;
    }
}
