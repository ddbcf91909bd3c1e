//! The last two steps of Canny's method: keep only the ridges of the gradient, then follow each
//! ridge from its steep parts to where it fades.

use std::ops::DerefMut;

use super::{Picture, Pixels};

/// The tangent of 22.5°. A gradient within this angle of an axis counts as parallel to the axis.
const TANGENT: f32 = 0.414_213_57;

impl<Storage: DerefMut<Target = [f32]>> Picture<Storage> {
    /// Keeps the steepness at pixels where it is largest across the edge, and writes 0 elsewhere.
    pub(crate) fn fill_ridges(
        &mut self,
        steepness: &Picture<impl Pixels<f32>>,
        horizontal: &Picture<impl Pixels<f32>>,
        vertical: &Picture<impl Pixels<f32>>,
    ) {
        let (width, steep) = (self.width, &steepness.pixels);
        self.pixels.fill(0.0);
        for y in 1..self.height - 1 {
            for here in y * width + 1..(y + 1) * width - 1 {
                let step = across(horizontal.pixels[here], vertical.pixels[here], width);
                // Only one comparison is strict, so exactly one of two equal neighbours is kept.
                if steep[here] > steep[here - step] && steep[here] >= steep[here + step] {
                    self.pixels[here] = steep[here];
                }
            }
        }
    }
}

/// Returns the index distance to the next pixel along the gradient, in a picture of this width.
fn across(horizontal: f32, vertical: f32, width: usize) -> usize {
    if vertical.abs() <= TANGENT * horizontal.abs() {
        1
    } else if horizontal.abs() <= TANGENT * vertical.abs() {
        width
    } else if (horizontal > 0.0) == (vertical > 0.0) {
        width + 1
    } else {
        width - 1
    }
}

impl<Storage: DerefMut<Target = [u8]>> Picture<Storage> {
    /// Marks with 255 all ridges that reach `high` at some pixel and stay above `low`. `waiting`
    /// must be empty, and is empty again afterwards.
    pub(crate) fn fill_traced(
        &mut self,
        ridges: &Picture<impl Pixels<f32>>,
        low: f32,
        high: f32,
        waiting: &mut impl Stack,
    ) {
        self.pixels.fill(0);
        for start in 0..ridges.pixels.len() {
            if ridges.pixels[start] >= high && self.pixels[start] == 0 {
                self.pixels[start] = 255;
                waiting.push(start);
            }
            while let Some(pixel) = waiting.pop() {
                self.mark_neighbours(pixel, ridges, low, waiting);
            }
        }
    }

    fn mark_neighbours(
        &mut self,
        pixel: usize,
        ridges: &Picture<impl Pixels<f32>>,
        low: f32,
        waiting: &mut impl Stack,
    ) {
        // A ridge never lies on the border, so all eight neighbours exist.
        for row in [pixel - self.width, pixel, pixel + self.width] {
            for neighbour in row - 1..=row + 1 {
                if ridges.pixels[neighbour] >= low && self.pixels[neighbour] == 0 {
                    self.pixels[neighbour] = 255;
                    waiting.push(neighbour);
                }
            }
        }
    }
}

/// A stack of pixels that must still be followed.
pub(crate) trait Stack {
    /// Pushes a pixel.
    fn push(&mut self, pixel: usize);
    /// Pops the most recently pushed pixel.
    fn pop(&mut self) -> Option<usize>;
}

impl Stack for Vec<usize> {
    fn push(&mut self, pixel: usize) {
        self.push(pixel);
    }

    fn pop(&mut self) -> Option<usize> {
        self.pop()
    }
}

/// A stack in a slice. Each pixel is pushed at most once, so the number of pixels is a sufficient
/// length.
#[derive(Debug)]
pub(crate) struct SliceStack<'s> {
    pub(crate) pixels: &'s mut [usize],
    pub(crate) length: usize,
}

impl Stack for SliceStack<'_> {
    fn push(&mut self, pixel: usize) {
        self.pixels[self.length] = pixel;
        self.length += 1;
    }

    fn pop(&mut self) -> Option<usize> {
        self.length = self.length.checked_sub(1)?;
        Some(self.pixels[self.length])
    }
}
