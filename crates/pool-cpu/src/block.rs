//! Blocks of host memory. The size alone determines whether a block is mapped or comes from the
//! global allocator. `free` therefore matches `allocate`, even if the configuration has changed in
//! between.

use alloc::alloc::{Layout, alloc_zeroed, dealloc};
use core::ptr::NonNull;

/// The alignment of every block, in bytes.
pub(crate) const ALIGN: usize = 64;

/// The size of a huge page, and the smallest size of mapped blocks, in bytes.
const HUGE_PAGE: usize = 2 << 20;

/// Returns `true` if blocks of this many bytes are mapped rather than allocated with the global
/// allocator.
const fn is_mapped(bytes: usize) -> bool {
    cfg!(all(target_os = "linux", not(miri))) && bytes >= HUGE_PAGE
}

/// Allocates a zeroed block. Returns `None` if the system has no memory.
pub(crate) fn allocate(bytes: usize, huge_pages: bool) -> Option<NonNull<u8>> {
    if is_mapped(bytes) {
        return mapped::allocate(bytes, huge_pages);
    }
    let layout = Layout::from_size_align(bytes, ALIGN).ok().filter(|layout| layout.size() > 0)?;
    // SAFETY: the size of the layout is not zero.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

/// Frees a block.
///
/// # Safety
///
/// `block` came from [`allocate`] with the same `bytes` and is no longer used.
pub(crate) unsafe fn free(block: NonNull<u8>, bytes: usize) {
    if is_mapped(bytes) {
        // SAFETY: the caller upholds this contract. `allocate` made the same choice, which depends
        // only on `bytes`.
        unsafe { mapped::free(block, bytes) };
        return;
    }
    // SAFETY: `allocate` created the same layout for this size, and it was valid.
    let layout = unsafe { Layout::from_size_align_unchecked(bytes, ALIGN) };
    // SAFETY: the block was allocated by the global allocator with this layout (caller).
    unsafe { dealloc(block.as_ptr(), layout) };
}

/// Returns the memory of a block from the byte `from` on to the system, in whole pages, and keeps
/// its addresses. Returns the number of bytes. The pages then read as zeros. A block from the
/// global allocator keeps its memory.
///
/// # Safety
///
/// `block` came from [`allocate`] with the same `bytes`, and nothing uses its bytes from `from` on.
pub(crate) unsafe fn discard(block: NonNull<u8>, bytes: usize, from: usize) -> usize {
    if !is_mapped(bytes) {
        return 0;
    }
    // SAFETY: the caller upholds this contract, and the block is mapped.
    unsafe { mapped::discard_from(block, bytes, from) }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod mapped {
    //! Anonymous mappings at a huge-page boundary.

    use super::HUGE_PAGE;
    use core::ptr::{NonNull, null_mut};

    /// Returns the size of an ordinary page. Mappings are cut at multiples of this size.
    fn page() -> usize {
        // SAFETY: the call receives no pointer.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(page).unwrap_or(4096)
    }

    /// Returns the number of bytes that a mapping for `bytes` bytes covers, in whole pages. Returns
    /// `None` if it is above `isize::MAX`.
    fn covered(bytes: usize) -> Option<usize> {
        bytes.checked_next_multiple_of(page()).filter(|&covered| isize::try_from(covered).is_ok())
    }

    /// Maps zeroed memory at a multiple of [`HUGE_PAGE`].
    pub(super) fn allocate(bytes: usize, huge_pages: bool) -> Option<NonNull<u8>> {
        let covered = covered(bytes)?;
        // Large enough to contain a boundary. The pages before and after the block are unmapped
        // again.
        let mapped = covered.checked_add(HUGE_PAGE - page())?;
        let start = map(mapped)?;
        let before = start.as_ptr().align_offset(HUGE_PAGE);
        let after = mapped - covered - before;
        // SAFETY: `before` is less than the number of bytes mapped in addition to `covered`.
        let block = unsafe { start.add(before) };
        // SAFETY: `covered` bytes from the start of the block are mapped, and so are the `after`
        // bytes that follow.
        let end = unsafe { block.add(covered) };
        // SAFETY: these are whole pages of the new mapping, which nothing uses.
        unsafe { unmap(start, before) };
        // SAFETY: as above.
        unsafe { unmap(end, after) };
        if huge_pages {
            // This is only advice: if the system does not support or allow huge pages, ordinary
            // pages are used.
            // SAFETY: the range is mapped and belongs only to this block.
            unsafe { libc::madvise(block.as_ptr().cast(), covered, libc::MADV_HUGEPAGE) };
        }
        Some(block)
    }

    /// Unmaps a block.
    ///
    /// # Safety
    ///
    /// `block` came from [`allocate`] with the same `bytes` and is no longer used.
    pub(super) unsafe fn free(block: NonNull<u8>, bytes: usize) {
        let covered = bytes.next_multiple_of(page());
        // SAFETY: exactly these pages of the block are mapped (`allocate`), and the caller gives
        // them up.
        unsafe { unmap(block, covered) };
    }

    fn map(bytes: usize) -> Option<NonNull<u8>> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping at an address that the system chooses affects no memory
        // that is in use.
        let start = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
    }

    /// # Safety
    ///
    /// The range consists of whole pages that this module mapped and that are no longer used. It
    /// may be empty.
    unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        if bytes == 0 {
            return;
        }
        // SAFETY: the caller upholds the same contract.
        if unsafe { libc::munmap(start.as_ptr().cast(), bytes) } != 0 {
            // For whole mapped pages, the call fails only if the system cannot split another
            // mapping. The addresses then stay taken.
            // SAFETY: the caller upholds the same contract.
            _ = unsafe { discard(start, bytes) };
        }
    }

    /// Returns the memory of pages to the system, but keeps their addresses mapped. Returns `false`
    /// if the system refuses, as it does for locked pages.
    ///
    /// # Safety
    ///
    /// Same as for [`unmap`].
    pub(super) unsafe fn discard(start: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: the pages are private and anonymous, and nothing uses their contents (caller).
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_DONTNEED) == 0 }
    }

    /// Discards the pages of a block that begin at or after its byte `from`. Returns the number of
    /// discarded bytes of the block.
    ///
    /// # Safety
    ///
    /// `block` came from [`allocate`] with the same `bytes`, and nothing uses its bytes from `from`
    /// on.
    pub(super) unsafe fn discard_from(block: NonNull<u8>, bytes: usize, from: usize) -> usize {
        // The block begins at a page boundary. Bytes of its last page beyond `bytes` are unused.
        let (first, covered) = (from.next_multiple_of(page()), bytes.next_multiple_of(page()));
        if first >= covered {
            return 0;
        }
        // SAFETY: the address is within the mapping.
        let start = unsafe { block.add(first) };
        // SAFETY: these are whole pages of the mapping, from `from` on, which nothing uses
        // (caller).
        if unsafe { discard(start, covered - first) } { bytes.saturating_sub(first) } else { 0 }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod mapped {
    //! A replacement for systems where no block is mapped. `is_mapped` is false for every size, so
    //! no function of this module is called.

    use core::ptr::NonNull;

    pub(super) fn allocate(_: usize, _: bool) -> Option<NonNull<u8>> {
        None
    }

    /// # Safety
    ///
    /// Never called.
    pub(super) unsafe fn free(_: NonNull<u8>, _: usize) {}

    /// # Safety
    ///
    /// Never called.
    pub(super) unsafe fn discard_from(_: NonNull<u8>, _: usize, _: usize) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_either_route_are_aligned_zeroed_and_freed() {
        let sizes: &[usize] = if cfg!(miri) {
            &[64, 4096]
        } else {
            &[64, 4096, HUGE_PAGE - 64, HUGE_PAGE, HUGE_PAGE + 64, 5 * HUGE_PAGE + 4096]
        };
        for &bytes in sizes {
            for huge_pages in [true, false] {
                let block = allocate(bytes, huge_pages).unwrap();
                let boundary = if is_mapped(bytes) { HUGE_PAGE } else { ALIGN };
                assert_eq!(block.addr().get() % boundary, 0, "{bytes}");
                // SAFETY: this is a new, initialised block of `bytes` bytes that nothing else uses.
                let content = unsafe { core::slice::from_raw_parts_mut(block.as_ptr(), bytes) };
                assert!(content.iter().all(|&byte| byte == 0), "{bytes}");
                content.fill(0xAB);
                // SAFETY: the block was allocated above with the same size, and `content` is no
                // longer used.
                unsafe { free(block, bytes) };
            }
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn discarded_pages_are_back_with_the_system() {
        let bytes = 2 * HUGE_PAGE;
        let block = allocate(bytes, false).unwrap();
        // SAFETY: this is a block of `bytes` bytes that nothing else uses. The same holds below.
        unsafe { block.write_bytes(7, bytes) };
        // SAFETY: as above.
        assert!(unsafe { mapped::discard(block, bytes) });
        // SAFETY: the block is still mapped. Pages returned to the system read as zeros when they
        // are accessed again.
        let content = unsafe { core::slice::from_raw_parts(block.as_ptr(), bytes) };
        assert!(content.iter().all(|&byte| byte == 0));
        // SAFETY: as above, and `content` is no longer used.
        unsafe { free(block, bytes) };
    }

    #[test]
    #[cfg_attr(miri, ignore = "SKIPPED: Miri ends the run where memory is out")]
    fn impossible_sizes_are_refused() {
        for bytes in [isize::MAX as usize & !(ALIGN - 1), usize::MAX & !(ALIGN - 1)] {
            assert_eq!(allocate(bytes, true), None);
        }
    }
}
