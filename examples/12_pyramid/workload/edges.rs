//! Canny's last two steps: keep only the ridges of the gradient, then follow them from where they are
//! steep to where they fade.

use std::ops::DerefMut;

use super::{Picture, Pixels};

/// The tangent of 22.5°: within it a gradient counts as level or as upright.
const TANGENT: f32 = 0.414_213_57;

impl<Storage: DerefMut<Target = [f32]>> Picture<Storage> {
    /// Keeps the steepness where it is largest across the edge, 0 elsewhere.
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
                // One strict comparison: of two equal neighbours exactly one stays.
                if steep[here] > steep[here - step] && steep[here] >= steep[here + step] {
                    self.pixels[here] = steep[here];
                }
            }
        }
    }
}

/// Returns the distance to the next pixel along the gradient, in a picture of this width.
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
    /// Marks with 255 the ridges that reach `high` somewhere and stay above `low`. `waiting` is empty
    /// before and after.
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

/// Pixels that wait to be followed.
pub(crate) trait Stack {
    /// Adds one.
    fn push(&mut self, pixel: usize);
    /// Takes the newest.
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

/// A stack in a slice; a pixel waits at most once, so the number of pixels suffices.
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
