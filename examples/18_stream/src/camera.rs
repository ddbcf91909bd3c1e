//! The state that a camera's program keeps from one frame to the next. It contains no temporaries,
//! and is the same with every source of temporaries.

use std::array;
use std::mem;

use crate::plane::Plane;
use crate::size::Size;

/// The number of levels of a pyramid. Each level is half as wide and half as high as the previous
/// one.
pub(crate) const LEVELS: usize = 4;

/// 12-bit grey levels, starting with the largest level.
pub(crate) type Pyramid = [Plane<Vec<u16>>; LEVELS];

/// The state of a stream.
#[derive(Debug)]
pub struct Camera {
    /// The pyramid of the previous frame.
    pub(crate) before: Pyramid,
    /// The pyramid of the current frame.
    pub(crate) now: Pyramid,
    /// The resulting picture, with red, green and blue for each pixel.
    pub(crate) picture: Vec<u8>,
    size: Size,
}

impl Camera {
    /// Creates a camera that has seen only black.
    #[must_use]
    pub fn new(size: Size) -> Self {
        Self { before: black(size), now: black(size), picture: vec![0; 3 * size.pixels()], size }
    }

    /// Returns the size of the camera's frames.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the picture of the last frame, with red, green and blue for each pixel.
    #[must_use]
    pub fn picture(&self) -> &[u8] {
        &self.picture
    }

    /// Turns the current frame's pyramid into the previous frame's.
    pub(crate) fn step(&mut self) {
        mem::swap(&mut self.before, &mut self.now);
    }

    /// Returns a checksum of the picture.
    #[must_use]
    pub fn checksum(&self) -> u64 {
        let mut words = self.picture.chunks_exact(8);
        let fold =
            |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31);
        let sum = words.by_ref().fold(0, |sum, word| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(word);
            fold(sum, u64::from_le_bytes(bytes))
        });
        words.remainder().iter().fold(sum, |sum, byte| fold(sum, u64::from(*byte)))
    }
}

fn black(size: Size) -> Pyramid {
    array::from_fn(|level| {
        let size = size.halved(level);
        Plane { size, pixels: vec![0; size.pixels()] }
    })
}
