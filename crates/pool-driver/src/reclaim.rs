//! Describes a pool's attempt to release device memory that other pools hold. A pool makes this
//! attempt before it reports a failed allocation, and the resulting error describes the attempt.

use std::fmt;

/// The unit, in bytes, that a [`Reclaim`] uses to count the memory that pools hold. Every block's
/// size is a multiple of this unit.
const UNIT: usize = 256;

/// The number of pools whose sizes are listed individually.
const LARGEST: usize = 4;

/// The attempts to free memory before an allocation failed, and the number of bytes that this
/// process's pools hold on the device.
///
/// This type must be small because errors contain it. If there are more than four pools, only the
/// four largest are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reclaim {
    is_made: bool,
    during_capture: bool,
    streams_waited: u16,
    streams_captured: u16,
    pools: u16,
    trimmed_bytes: usize,
    held_bytes: usize,
    /// The sizes of the largest pools in units of `UNIT` bytes, in descending order.
    largest: [u32; LARGEST],
}

impl Reclaim {
    /// Describes an attempt that freed `trimmed_bytes` bytes from idle pools.
    #[must_use]
    pub fn new(trimmed_bytes: usize) -> Self {
        Self { is_made: true, trimmed_bytes, ..Self::default() }
    }

    /// Records the result of waiting for the device's streams. `waits` contains the number of
    /// streams for which the host waited and the number that it skipped. A stream is skipped if it
    /// is being captured, or if waiting for it fails. `waits` is `None` if the host did not wait,
    /// because a session was capturing a graph.
    #[must_use]
    pub fn after_waits(mut self, waits: Option<[usize; 2]>) -> Self {
        self.during_capture = waits.is_none();
        let [waited, captured] = waits.unwrap_or_default();
        (self.streams_waited, self.streams_captured) = (short(waited), short(captured));
        self
    }

    /// Adds a pool that holds `bytes` bytes on the device. Pools that hold no memory are not
    /// counted.
    pub fn add_pool(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.pools = self.pools.saturating_add(1);
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        let mut units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        for place in &mut self.largest {
            if units > *place {
                std::mem::swap(&mut units, place);
            }
        }
    }

    /// Returns `true` if the pool tried to release memory. A pool does not try to release memory if
    /// it can continue without the allocation.
    #[must_use]
    pub fn is_made(&self) -> bool {
        self.is_made
    }

    /// Returns the number of the device's streams for which the host waited. All pending frees on
    /// these streams have completed.
    #[must_use]
    pub fn streams_waited(&self) -> usize {
        self.streams_waited.into()
    }

    /// Returns the number of streams that the host skipped because they were being captured or
    /// because the wait failed.
    #[must_use]
    pub fn streams_captured(&self) -> usize {
        self.streams_captured.into()
    }

    /// Returns the number of bytes that the pool freed by trimming the thread's idle pools.
    #[must_use]
    pub fn trimmed_bytes(&self) -> usize {
        self.trimmed_bytes
    }

    /// Returns the number of this process's pools that hold memory on the device.
    #[must_use]
    pub fn pools(&self) -> usize {
        self.pools.into()
    }

    /// Returns the total number of bytes that this process's pools hold on the device.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Returns the number of bytes that each of the largest pools holds, in descending order.
    pub fn largest_pools(&self) -> impl Iterator<Item = usize> {
        self.largest.into_iter().filter(|units| *units > 0).map(|units| units as usize * UNIT)
    }
}

fn short(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// Formats the description, or writes nothing if no attempt was made.
impl fmt::Display for Reclaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_made {
            return Ok(());
        }
        let Self { streams_waited, streams_captured, trimmed_bytes, pools, held_bytes, .. } = self;
        if self.during_capture {
            f.write_str("; the pool waited for no stream, because a graph is being captured")?;
        } else {
            write!(f, "; the pool waited for {streams_waited} stream{}", plural(*streams_waited))?;
        }
        if *streams_captured > 0 {
            write!(
                f,
                ", but not for {streams_captured} captured stream{}",
                plural(*streams_captured)
            )?;
        }
        write!(f, ", and freed {trimmed_bytes} bytes of this thread's idle pools; ")?;
        let holds = if *pools == 1 { " of this process holds" } else { "s of this process hold" };
        write!(f, "{pools} pool{holds} {held_bytes} bytes of device memory")?;
        for (number, bytes) in self.largest_pools().enumerate() {
            write!(f, "{} {bytes}", if number == 0 { ":" } else { "," })?;
        }
        if usize::from(*pools) > LARGEST { f.write_str(", …") } else { Ok(()) }
    }
}

fn plural(count: u16) -> &'static str {
    if count == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::Reclaim;

    fn of_pools(bytes: &[usize]) -> Reclaim {
        let mut reclaim = Reclaim::new(512).after_waits(Some([2, 0]));
        bytes.iter().for_each(|bytes| reclaim.add_pool(*bytes));
        reclaim
    }

    #[test]
    fn the_largest_pools_are_reported() {
        let reclaim = of_pools(&[256, 0, 1024, 512, 2048, 768]);
        assert_eq!((reclaim.pools(), reclaim.held_bytes()), (5, 4608));
        assert_eq!(reclaim.largest_pools().collect::<Vec<_>>(), [2048, 1024, 768, 512]);
        let text = "; the pool waited for 2 streams, and freed 512 bytes of this thread's idle \
                    pools; 5 pools of this process hold 4608 bytes of device memory: 2048, 1024, \
                    768, 512, …";
        assert_eq!(reclaim.to_string(), text);
        let text = of_pools(&[256]).to_string();
        assert!(
            text.ends_with("; 1 pool of this process holds 256 bytes of device memory: 256"),
            "{text}"
        );
    }

    #[test]
    fn what_was_not_waited_for_is_reported() {
        let text = of_pools(&[]).after_waits(Some([1, 3])).to_string();
        assert!(text.contains("waited for 1 stream, but not for 3 captured streams"), "{text}");
        let text = of_pools(&[]).after_waits(None).to_string();
        assert!(
            text.contains("the pool waited for no stream, because a graph is being captured"),
            "{text}"
        );
        assert_eq!(Reclaim::default().to_string(), "");
    }

    #[test]
    fn numbers_beyond_the_fields_are_cut() {
        let mut reclaim = Reclaim::new(1).after_waits(Some([1 << 20, 1 << 20]));
        reclaim.add_pool(1 << 50);
        assert_eq!(reclaim.streams_waited(), usize::from(u16::MAX));
        assert_eq!(reclaim.largest_pools().next(), Some(u32::MAX as usize * 256));
        assert_eq!(reclaim.held_bytes(), 1 << 50);
    }
}
