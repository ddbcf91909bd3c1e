//! Fills on the pool's stream, by address: an element is written repeatedly.
//!
//! **In a capture** the nodes of a fill depend on the size of an element and on the length, never
//! on the value. An update of the graph may change "both the value and pointer address" of a memset
//! node, while "changing other aspects of the memset (width, height, element size or pitch) may
//! cause the update to be rejected" (driver API, `cuGraphExecMemsetNodeSetParams`). No update
//! changes the kind or the number of nodes.
//!
//! | an element of | with a source | captured by hand | outside of a capture |
//! |---|---|---|---|
//! | 1, 2 or 4 bytes | a memset of that width | the same | the same |
//! | any other size | a copy of some from the host, and copies | a memset for each unit of the first, and copies | a memset where its units are equal, else copies |
//!
//! The copies are on the device, of elements already written, each as long as all elements before
//! it. A unit is the widest of 4, 2 and 1 bytes that divides an element. A graph captured without a
//! session has no place for host memory of the same lifetime, and rows of memsets cannot be updated
//! ("for 2d memsets, all dimension changes are rejected"). Hence there is one memset for each unit.

use cudarc::driver::CudaStream;
use pool_driver::calls::{self, Address};
use pool_driver::capture::is_capturing;
use pool_driver::context::bind;
use pool_driver::error::CudaError;

use crate::stream::block_source::BlockSource;
use crate::stream::device_stream::DeviceStream;

/// The bytes of a fill that come from the host, if a source keeps them.
const SOURCE_FILL_BYTES: usize = 4 << 10;

/// Writes an element, given as its bytes, `length` times.
///
/// # Safety
///
/// The range must be allocated. The caller must own the right to write it in the pool's stream.
pub(crate) unsafe fn fill(
    stream: &DeviceStream,
    to: Address,
    element: &[u8],
    length: usize,
) -> Result<(), CudaError> {
    if stream.is_dry() || element.is_empty() || length == 0 {
        return Ok(());
    }
    let repetition = Repetition { queue: stream.stream(), to, element, length };
    let done = match (repetition.only_unit(), stream.captured_source()) {
        // SAFETY: the caller's promise.
        (Some(unit), _) => return unsafe { unit.set(to, length, repetition.queue) },
        // SAFETY: as above.
        (None, Some(source)) => unsafe { repetition.begin_from_source(source) }?,
        (None, None) if is_capturing(repetition.queue)? => {
            // SAFETY: as above.
            unsafe { repetition.begin_with_units() }?;
            1
        }
        (None, None) => {
            if let Some(unit) = repetition.equal_unit() {
                let units = length * (element.len() / unit.bytes());
                // SAFETY: as above; the units of the elements have the same total length.
                return unsafe { unit.set(to, units, repetition.queue) };
            }
            // SAFETY: as above.
            unsafe { stream.staging().upload_repeated(to, element, length, stream.stream()) }?
        }
    };
    // SAFETY: as above; that many elements are written by now.
    unsafe { repetition.double(done) }
}

/// An element of at least one byte, its target, and its count of at least one.
#[derive(Clone, Copy)]
struct Repetition<'a> {
    queue: &'a CudaStream,
    to: Address,
    element: &'a [u8],
    length: usize,
}

impl Repetition<'_> {
    fn units(&self) -> impl Iterator<Item = Unit> {
        let bytes = Unit::bytes_for(self.element.len());
        self.element.chunks_exact(bytes).map(Unit::new)
    }

    /// Returns the unit that is the whole element, or `None` if the element is longer than any
    /// unit.
    fn only_unit(&self) -> Option<Unit> {
        let first = self.units().next()?;
        (first.bytes() == self.element.len()).then_some(first)
    }

    /// Returns the unit that the element repeats, or `None` if its units differ.
    fn equal_unit(&self) -> Option<Unit> {
        let first = self.units().next()?;
        self.units().all(|unit| unit == first).then_some(first)
    }

    /// Writes the first elements, by a copy whose bytes a source keeps. Returns the number of
    /// elements.
    ///
    /// # Safety
    ///
    /// Same as for [`fill`].
    unsafe fn begin_from_source(&self, source: &dyn BlockSource) -> Result<usize, CudaError> {
        let first = (SOURCE_FILL_BYTES / self.element.len()).clamp(1, self.length);
        let requested = self.element.len() * first;
        let mut elements = Vec::new();
        elements.try_reserve_exact(requested).map_err(|_| CudaError::Bookkeeping { requested })?;
        (0..first).for_each(|_| elements.extend_from_slice(self.element));
        bind(self.queue.context())?;
        // SAFETY: the caller's promise, for the first elements.
        unsafe { source.write(self.to, &elements) }.map(|()| first)
    }

    /// Writes the first element, unit by unit.
    ///
    /// # Safety
    ///
    /// Same as for [`fill`].
    unsafe fn begin_with_units(&self) -> Result<(), CudaError> {
        let mut to = self.to;
        for unit in self.units() {
            // SAFETY: the caller's promise: it is in the first element.
            unsafe { unit.set(to, 1, self.queue) }?;
            to += unit.bytes() as Address;
        }
        Ok(())
    }

    /// Writes the rest after the first elements, by copies of written elements, each twice as long
    /// as the one before.
    ///
    /// # Safety
    ///
    /// Same as for [`fill`]; and `elements` elements, at least one, must be written earlier in the
    /// stream.
    unsafe fn double(&self, elements: usize) -> Result<(), CudaError> {
        let bytes = self.element.len() * self.length;
        let mut done = elements * self.element.len();
        while done < bytes {
            let next = done.min(bytes - done);
            let to = self.to + done as Address;
            // SAFETY: both parts are within the range and disjoint: the source ends where the
            // target begins.
            unsafe { calls::copy_on_device(to, self.to, next, self.queue) }?;
            done += next;
        }
        Ok(())
    }
}

/// A value that the driver can repeat in a memset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Byte(u8),
    Half(u16),
    Word(u32),
}

impl Unit {
    /// Returns the bytes of the widest unit that divides an element.
    fn bytes_for(element: usize) -> usize {
        [4, 2].into_iter().find(|&bytes| element.is_multiple_of(bytes)).unwrap_or(1)
    }

    /// Creates the unit of these 1, 2 or 4 bytes.
    fn new(bytes: &[u8]) -> Self {
        match *bytes {
            [a, b, c, d] => Self::Word(u32::from_ne_bytes([a, b, c, d])),
            [a, b] => Self::Half(u16::from_ne_bytes([a, b])),
            _ => Self::Byte(bytes.first().copied().unwrap_or_default()),
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Byte(_) => 1,
            Self::Half(_) => 2,
            Self::Word(_) => 4,
        }
    }

    /// Writes the unit `count` times.
    ///
    /// # Safety
    ///
    /// Same as for [`fill`], for a range of `count` units.
    unsafe fn set(self, to: Address, count: usize, queue: &CudaStream) -> Result<(), CudaError> {
        match self {
            // SAFETY: the caller's promise.
            Self::Byte(value) => unsafe { calls::set_bytes(to, value, count, queue) },
            // SAFETY: as above.
            Self::Half(value) => unsafe { calls::set_halves(to, value, count, queue) },
            // SAFETY: as above.
            Self::Word(value) => unsafe { calls::set_words(to, value, count, queue) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Unit;

    #[test]
    fn a_unit_depends_on_the_size_alone() {
        let bytes = [1, 2, 3, 4, 6, 7, 8, 12, 16].map(Unit::bytes_for);
        assert_eq!(bytes, [1, 2, 1, 4, 2, 1, 4, 4, 4]);
        assert_eq!(Unit::new(&[7]), Unit::Byte(7));
        assert_eq!(Unit::new(&[1, 2]), Unit::Half(u16::from_ne_bytes([1, 2])));
        assert_eq!(Unit::new(&[0; 4]), Unit::Word(0));
        assert_eq!(Unit::new(&[1, 2, 3, 4]).bytes(), 4);
    }
}
