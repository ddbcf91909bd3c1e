//! Fills device memory on the pool's stream. A fill repeatedly writes one element.
//!
//! **During a capture**, the nodes that a fill adds depend on the element's size and the length.
//! The element's value never affects the choice of nodes. A graph update may change "both the value
//! and pointer address" of a memset node. However, "changing other aspects of the memset (width,
//! height, element size or pitch) may cause the update to be rejected" (driver API,
//! `cuGraphExecMemsetNodeSetParams`). An update cannot change the number of nodes or their kinds.
//!
//! | element size | with a source | captured without a session | outside a capture |
//! |---|---|---|---|
//! | 1, 2 or 4 bytes | one memset of this width | the same | the same |
//! | any other size | one copy of the first elements from the host, then copies on the device | one memset per unit of the first element, then copies on the device | one memset if all units are equal, otherwise copies |
//!
//! Each copy on the device doubles the number of elements that the fill has written so far. A unit
//! consists of 4, 2, or 1 bytes, depending on the largest of these sizes that divides the element
//! size. If a graph is captured without a session, the fill writes the first element with one
//! memset per unit. A graph captured without a session cannot keep host memory alive. A fill never
//! uses two-dimensional memsets, because a graph update cannot change them ("for 2d memsets, all
//! dimension changes are rejected").

use cudarc::driver::CudaStream;
use pool_driver::calls::{self, Address};
use pool_driver::capture::is_capturing;
use pool_driver::context::bind;
use pool_driver::error::CudaError;

use crate::stream::block_source::BlockSource;
use crate::stream::device_stream::DeviceStream;

/// The size in bytes of the first copy in a fill. This copy is made only if the source can keep
/// host memory alive.
const SOURCE_FILL_BYTES: usize = 4 << 10;

/// Writes `length` copies of an element. The element's bytes are passed as a slice.
///
/// # Safety
///
/// The range must be allocated, and the caller must be permitted to write it in stream order on the
/// pool's stream.
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
        // SAFETY: the caller upholds this function's safety contract.
        (Some(unit), _) => return unsafe { unit.set(to, length, repetition.queue) },
        // SAFETY: the caller upholds this function's safety contract.
        (None, Some(source)) => unsafe { repetition.begin_from_source(source) }?,
        (None, None) if is_capturing(repetition.queue)? => {
            // SAFETY: the caller upholds this function's safety contract.
            unsafe { repetition.begin_with_units() }?;
            1
        }
        (None, None) => {
            if let Some(unit) = repetition.equal_unit() {
                let units = length * (element.len() / unit.bytes());
                // SAFETY: the caller upholds this function's safety contract. In total, the units
                // are as large as the elements.
                return unsafe { unit.set(to, units, repetition.queue) };
            }
            // SAFETY: the caller upholds this function's safety contract.
            unsafe { stream.staging().upload_repeated(to, element, length, stream.stream()) }?
        }
    };
    // SAFETY: the caller upholds this function's safety contract. The first `done` elements have
    // been written.
    unsafe { repetition.double(done) }
}

/// A fill, described by an element of at least one byte, the start address, and the number of
/// repetitions. The number of repetitions is not 0.
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

    /// Returns the element as a single unit, or `None` if no unit has the element's size.
    fn only_unit(&self) -> Option<Unit> {
        let first = self.units().next()?;
        (first.bytes() == self.element.len()).then_some(first)
    }

    /// Returns the first unit if all of the element's units are equal, or `None` if they differ.
    fn equal_unit(&self) -> Option<Unit> {
        let first = self.units().next()?;
        self.units().all(|unit| unit == first).then_some(first)
    }

    /// Writes the first elements by copying host memory that the source keeps alive. Returns the
    /// number of elements written.
    ///
    /// # Safety
    ///
    /// The safety contract of [`fill`] applies.
    unsafe fn begin_from_source(&self, source: &dyn BlockSource) -> Result<usize, CudaError> {
        let first = (SOURCE_FILL_BYTES / self.element.len()).clamp(1, self.length);
        let requested = self.element.len() * first;
        let mut elements = Vec::new();
        elements.try_reserve_exact(requested).map_err(|_| CudaError::Bookkeeping { requested })?;
        (0..first).for_each(|_| elements.extend_from_slice(self.element));
        bind(self.queue.context())?;
        // SAFETY: the caller upholds the safety contract for the whole range, which includes these
        // elements.
        unsafe { source.write(self.to, &elements) }.map(|()| first)
    }

    /// Writes the first element one unit at a time.
    ///
    /// # Safety
    ///
    /// The safety contract of [`fill`] applies.
    unsafe fn begin_with_units(&self) -> Result<(), CudaError> {
        let mut to = self.to;
        for unit in self.units() {
            // SAFETY: the caller upholds the safety contract for the first element, which contains
            // this unit.
            unsafe { unit.set(to, 1, self.queue) }?;
            to += unit.bytes() as Address;
        }
        Ok(())
    }

    /// Fills the remaining elements by repeatedly copying those already written. Each copy is twice
    /// as long as the previous copy.
    ///
    /// # Safety
    ///
    /// The safety contract of [`fill`] applies. The first `elements` elements must have been
    /// written earlier in the stream, and `elements` must be at least 1.
    unsafe fn double(&self, elements: usize) -> Result<(), CudaError> {
        let bytes = self.element.len() * self.length;
        let mut done = elements * self.element.len();
        while done < bytes {
            let next = done.min(bytes - done);
            let to = self.to + done as Address;
            // SAFETY: the source and the target are within the range. The two ranges are disjoint,
            // because the source ends where the target begins.
            unsafe { calls::copy_on_device(to, self.to, next, self.queue) }?;
            done += next;
        }
        Ok(())
    }
}

/// A value of 1, 2, or 4 bytes that the driver can repeat in a memset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Byte(u8),
    Half(u16),
    Word(u32),
}

impl Unit {
    /// Returns the size in bytes of the widest unit that divides the given element size.
    fn bytes_for(element: usize) -> usize {
        [4, 2].into_iter().find(|&bytes| element.is_multiple_of(bytes)).unwrap_or(1)
    }

    /// Creates a unit from the given bytes. The number of bytes must be 1, 2, or 4.
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

    /// Writes the unit `count` times, starting at the given address.
    ///
    /// # Safety
    ///
    /// The safety contract of [`fill`] applies, with a range of `count` units.
    unsafe fn set(self, to: Address, count: usize, queue: &CudaStream) -> Result<(), CudaError> {
        match self {
            // SAFETY: the caller upholds this method's safety contract.
            Self::Byte(value) => unsafe { calls::set_bytes(to, value, count, queue) },
            // SAFETY: the caller upholds this method's safety contract.
            Self::Half(value) => unsafe { calls::set_halves(to, value, count, queue) },
            // SAFETY: the caller upholds this method's safety contract.
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
