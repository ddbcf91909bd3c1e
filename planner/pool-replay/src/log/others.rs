//! Lines that are not of a log's format: other programs may print to the same file.

/// Whether lines of other programs are skipped, and how many were.
#[derive(Debug, Default)]
pub(super) struct Others {
    is_skipping: bool,
    pub(super) skipped: u64,
}

impl Others {
    /// Lines of others are skipped if `is_skipping`, else an error.
    pub(super) fn new(is_skipping: bool) -> Self {
        Self { is_skipping, skipped: 0 }
    }

    /// Counts a line that cannot be read, if it is to be skipped. What looks like an event of the log never is.
    pub(super) fn skip(&mut self, is_event: bool) -> bool {
        let is_skipped = self.is_skipping && !is_event;
        self.skipped += u64::from(is_skipped);
        is_skipped
    }

    /// Counts a line that has no event, and may stand in the format.
    pub(super) fn pass(&mut self) {
        self.skipped += 1;
    }
}
