//! The source of temporaries, as the steps of the program use it.

use std::cell::Cell;
use std::ops::DerefMut;

use bytemuck::Pod;

/// An element of a buffer of the stream.
pub trait Sample: Pod + Default + Send {}

impl Sample for u8 {}
impl Sample for u16 {}
impl Sample for i16 {}
impl Sample for f32 {}

/// A source of buffers, which can contain nested sources.
pub trait Scratch {
    /// A buffer. It may outlive sources that are nested after the buffer was taken.
    type Buffer<T: Sample>: DerefMut<Target = [T]>;
    /// A nested source. Its buffers are freed when the source ends.
    type Inner<'i>: Scratch;

    /// Returns a buffer of `length` elements with arbitrary contents. The caller writes each
    /// element before reading it.
    fn provide<T: Sample>(&self, length: usize) -> Self::Buffer<T>;

    /// Runs code with a nested source.
    fn nested<R>(&mut self, work: impl FnOnce(&mut Self::Inner<'_>) -> R) -> R;

    /// Like [`provide`](Self::provide), but also records the address of the buffer.
    fn take<T: Sample>(&self, length: usize) -> Self::Buffer<T> {
        let buffer: Self::Buffer<T> = self.provide(length);
        note(buffer.as_ptr().addr());
        buffer
    }
}

thread_local! {
    /// A hash of all addresses since the last call of [`addresses`].
    static ADDRESSES: Cell<u64> = const { Cell::new(0) };
}

fn note(address: usize) {
    let folded = (ADDRESSES.get() ^ address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ADDRESSES.set(folded.rotate_left(29));
}

/// Returns a hash of the addresses that this thread took since the last call, including their
/// order.
pub(crate) fn addresses() -> u64 {
    ADDRESSES.take()
}

#[cfg(test)]
mod tests {
    use super::{addresses, note};

    #[test]
    fn the_order_of_addresses_counts() {
        let of = |list: &[usize]| {
            list.iter().copied().for_each(note);
            addresses()
        };
        assert_eq!(of(&[64, 128]), of(&[64, 128]));
        assert_ne!(of(&[64, 128]), of(&[128, 64]));
        assert_eq!(of(&[]), 0);
    }
}
