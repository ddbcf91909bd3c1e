//! A record of one access, packed into one word.

/// An access: its barrier interval, thread, moment within the warp, strength and instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp(u64);

const STEP: u64 = 0x7FFF;
const STRONG: u64 = 1 << 15;

impl Stamp {
    /// The interval is never 0, because 0 means that there was no access.
    pub(super) fn new(interval: u32, thread: u32, tick: u16, strong: bool, step: usize) -> Self {
        let step = (step as u64).min(STEP);
        let parts = u64::from(interval) << 36 | u64::from(thread & 0x3FF) << 26;
        Self(parts | u64::from(tick) << 16 | u64::from(strong) << 15 | step)
    }

    pub(super) fn is_some(self) -> bool {
        self.0 != 0
    }

    pub(super) fn interval(self) -> u32 {
        u32::try_from(self.0 >> 36).unwrap_or(u32::MAX)
    }

    pub(super) fn thread(self) -> u32 {
        u32::try_from(self.0 >> 26 & 0x3FF).unwrap_or(0)
    }

    pub(super) fn tick(self) -> u16 {
        u16::try_from(self.0 >> 16 & 0x3FF).unwrap_or(0)
    }

    pub(super) fn is_strong(self) -> bool {
        self.0 & STRONG != 0
    }

    /// Returns the instruction, or `None` if its number does not fit the stamp.
    pub(super) fn step(self) -> Option<usize> {
        usize::try_from(self.0 & STEP).ok().filter(|step| *step as u64 != STEP)
    }

    pub(super) fn warp(self) -> u32 {
        self.thread() / 32
    }

    /// Returns `true` if both the interval and the thread are equal.
    pub(super) fn same_place(self, other: Self) -> bool {
        self.0 >> 26 == other.0 >> 26
    }
}
