//! The source of a step's temporaries, as the program sees it.

use std::cell::Cell;
use std::ops::DerefMut;

use bytemuck::Pod;

/// An element of a buffer of the stream.
pub trait Sample: Pod + Default + Send {}

impl Sample for u8 {}
impl Sample for u16 {}
impl Sample for i16 {}
impl Sample for f32 {}

/// A source of buffers, with nested sources.
pub trait Scratch {
    /// A buffer. It may outlive sources that were nested after it was taken.
    type Buffer<T: Sample>: DerefMut<Target = [T]>;
    /// A nested source, whose buffers are freed when it ends.
    type Inner<'i>: Scratch;

    /// Returns a buffer of `length` elements with any contents: each is written before it is read.
    fn provide<T: Sample>(&self, length: usize) -> Self::Buffer<T>;

    /// Runs code with a nested source.
    fn nested<R>(&mut self, work: impl FnOnce(&mut Self::Inner<'_>) -> R) -> R;

    /// Does the same as [`provide`](Self::provide), and records the buffer's address.
    fn take<T: Sample>(&self, length: usize) -> Self::Buffer<T> {
        let buffer: Self::Buffer<T> = self.provide(length);
        note(buffer.as_ptr().addr());
        buffer
    }
}

thread_local! {
    /// All addresses since the last [`addresses`], folded into one number.
    static ADDRESSES: Cell<u64> = const { Cell::new(0) };
}

fn note(address: usize) {
    let folded = (ADDRESSES.get() ^ address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ADDRESSES.set(folded.rotate_left(29));
}

/// Returns a hash of the addresses that this thread took since the last call, and of their order.
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
