//! The memory that the process holds, according to the system.

#[cfg(target_os = "linux")]
use std::{fs::File, os::unix::fs::FileExt};

/// Queries the system repeatedly without using the heap.
#[derive(Debug)]
pub(crate) struct Resident {
    #[cfg(target_os = "linux")]
    statm: Option<File>,
    #[cfg(target_os = "linux")]
    page: i64,
}

impl Resident {
    #[cfg(target_os = "linux")]
    pub(crate) fn new() -> Self {
        // SAFETY: this call only reads a constant of the system.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        Self { statm: File::open("/proc/self/statm").ok(), page }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn new() -> Self {
        Self {}
    }

    /// Returns the bytes, or `None` if the system does not report them.
    #[cfg(target_os = "linux")]
    pub(crate) fn bytes(&self) -> Option<i64> {
        let mut text = [0; 128];
        let length = self.statm.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..length)?).ok()?;
        let pages: i64 = text.split(' ').nth(1)?.parse().ok()?;
        Some(pages * self.page)
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn bytes(&self) -> Option<i64> {
        None
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_os = "linux")]
    fn written_memory_is_held() {
        let pages = std::hint::black_box(vec![1_u8; 64 << 20]);
        let held = super::Resident::new().bytes().unwrap();
        assert!((64 << 20..1 << 40).contains(&held), "{held} with {}", pages.len());
    }
}
