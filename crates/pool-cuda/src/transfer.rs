//! Copies and fills on the pool's stream, by address: what the backend and its views have in common.
//! None of them waits for the device but a copy to the host, whose bytes are wanted.

use crate::driver::{self, Address};
use crate::error::CudaError;
use crate::stream::DeviceStream;

/// Sets bytes.
///
/// # Safety
///
/// The range is allocated, and writing it in the pool's stream is the caller's right. So below.
pub(crate) unsafe fn set_bytes(
    stream: &DeviceStream,
    to: Address,
    value: u8,
    bytes: usize,
) -> Result<(), CudaError> {
    if stream.is_dry() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { driver::set_bytes(to, value, bytes, stream.stream()) }
}

/// Copies bytes within the stream's context.
///
/// # Safety
///
/// Both ranges are allocated and apart, and using them in the pool's stream is the caller's right.
pub(crate) unsafe fn copy(
    stream: &DeviceStream,
    to: Address,
    from: Address,
    bytes: usize,
) -> Result<(), CudaError> {
    if stream.is_dry() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { driver::copy_on_device(to, from, bytes, stream.stream()) }
}

/// Copies bytes from the host; they have left `from` when this returns.
///
/// # Safety
///
/// As for [`set_bytes`].
pub(crate) unsafe fn upload(
    stream: &DeviceStream,
    to: Address,
    from: &[u8],
) -> Result<(), CudaError> {
    stream.bind_outside_capture("copy from the host")?;
    // SAFETY: the caller's promise.
    unsafe { stream.staging().upload(to, from, stream.stream()) }
}

/// Copies bytes to the host, and waits for them.
///
/// # Safety
///
/// The range is allocated, and reading it in the pool's stream is the caller's right.
pub(crate) unsafe fn download(
    stream: &DeviceStream,
    to: &mut [u8],
    from: Address,
) -> Result<(), CudaError> {
    stream.bind_outside_capture("copy to the host")?;
    // SAFETY: the caller's promise.
    unsafe { stream.staging().download(to, from, stream.stream()) }
}

/// Writes an element, given as its bytes, `length` times.
///
/// # Safety
///
/// As for [`set_bytes`].
pub(crate) unsafe fn fill(
    stream: &DeviceStream,
    to: Address,
    element: &[u8],
    length: usize,
) -> Result<(), CudaError> {
    if stream.is_dry() {
        return Ok(());
    }
    let bytes = element.len() * length;
    let queue = stream.stream();
    match Pattern::of(element) {
        // SAFETY: the caller's promise.
        Pattern::Byte(value) => unsafe { set_bytes(stream, to, value, bytes) },
        Pattern::Half(value) => {
            // SAFETY: the caller's promise; the pattern's length divides the element's.
            unsafe { driver::set_halves(to, value, bytes / 2, queue) }
        }
        Pattern::Word(value) => {
            // SAFETY: as above.
            unsafe { driver::set_words(to, value, bytes / 4, queue) }
        }
        // SAFETY: the caller's promise.
        Pattern::Longer => unsafe { fill_by_doubling(stream, to, element, length) },
    }
}

/// What the driver can repeat by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    Byte(u8),
    Half(u16),
    Word(u32),
    Longer,
}

impl Pattern {
    /// The shortest pattern whose repetition the element is.
    fn of(element: &[u8]) -> Self {
        let repeats = |period: usize| {
            element.len().is_multiple_of(period)
                && element.chunks(period).all(|part| part == &element[..period])
        };
        match *element {
            [value, ..] if repeats(1) => Self::Byte(value),
            [a, b, ..] if repeats(2) => Self::Half(u16::from_ne_bytes([a, b])),
            [a, b, c, d, ..] if repeats(4) => Self::Word(u32::from_ne_bytes([a, b, c, d])),
            _ => Self::Longer,
        }
    }
}

/// How much of a fill comes from the host where a source keeps it.
const SOURCE_FILL_BYTES: usize = 4 << 10;

/// An element, so often.
fn repeated(element: &[u8], times: usize) -> Result<Vec<u8>, CudaError> {
    let requested = element.len() * times;
    let mut elements = Vec::new();
    elements.try_reserve_exact(requested).map_err(|_| CudaError::Bookkeeping { requested })?;
    (0..times).for_each(|_| elements.extend_from_slice(element));
    Ok(elements)
}

/// Fills with what no fill of the driver can repeat: some elements from the host, and then copies on
/// the device of what is there already, each twice as long as the one before.
///
/// # Safety
///
/// As for [`set_bytes`].
unsafe fn fill_by_doubling(
    stream: &DeviceStream,
    to: Address,
    element: &[u8],
    length: usize,
) -> Result<(), CudaError> {
    let bytes = element.len() * length;
    let first = match stream.source() {
        Some(source) => {
            let first = (SOURCE_FILL_BYTES / element.len()).clamp(1, length);
            let elements = repeated(element, first)?;
            stream.bind()?;
            // SAFETY: the caller's promise, for the first elements.
            unsafe { source.write(to, &elements) }?;
            first
        }
        None => {
            stream.bind_outside_capture("copy from the host")?;
            // SAFETY: the caller's promise.
            unsafe { stream.staging().upload_repeated(to, element, length, stream.stream()) }?
        }
    };
    let mut done = first * element.len();
    while done < bytes {
        let next = done.min(bytes - done);
        // SAFETY: both parts are within the range and apart: what is there ends where the copy begins.
        unsafe { driver::copy_on_device(to + done as Address, to, next, stream.stream()) }?;
        done += next;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn the_shortest_pattern_is_found() {
        assert_eq!(Pattern::of(&[7; 24]), Pattern::Byte(7));
        assert_eq!(Pattern::of(&[1, 2, 1, 2]), Pattern::Half(u16::from_ne_bytes([1, 2])));
        let word = [1, 2, 3, 4, 1, 2, 3, 4];
        assert_eq!(Pattern::of(&word), Pattern::Word(u32::from_ne_bytes([1, 2, 3, 4])));
        assert_eq!(Pattern::of(&[1, 2, 3]), Pattern::Longer);
        assert_eq!(Pattern::of(&1.0_f64.to_ne_bytes()), Pattern::Longer);
        assert_eq!(Pattern::of(&[1, 2, 1, 2, 1, 2]), Pattern::Half(u16::from_ne_bytes([1, 2])));
    }
}
