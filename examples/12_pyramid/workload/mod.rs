//! An image pyramid with Canny's edge detector on each level, written twice: [`allocating`] creates
//! a `Vec` for each temporary picture, and [`pooled`] acquires each one. Both versions share the
//! arithmetic on pixels, so their results are equal bit by bit. Read the two files side by side.

pub(crate) mod allocating;
mod edges;
pub(crate) mod files;
mod picture;
pub(crate) mod pooled;

pub(crate) use edges::SliceStack;
pub(crate) use picture::{Picture, Pixels};

/// The number of levels of the pyramid. Each level is half as wide and half as high as the previous
/// one.
pub(crate) const LEVELS: usize = 5;

/// The standard deviation of the Gaussian blur, in pixels.
pub(crate) const BLUR: f32 = 1.4;

/// The minimum steepness at which an edge continues, in grey levels per pixel × 8.
pub(crate) const LOW: f32 = 45.0;

/// The minimum steepness at which an edge starts, in the same unit.
pub(crate) const HIGH: f32 = 110.0;

/// One level: the picture, and its edges as 0 or 255.
#[derive(Debug)]
pub(crate) struct Level<Greys, Marks> {
    pub(crate) picture: Picture<Greys>,
    pub(crate) edges: Picture<Marks>,
}

/// Checks that both versions agree bit by bit on every level.
pub(crate) fn check(
    allocating: &[Level<Vec<f32>, Vec<u8>>],
    pooled: &[Level<&mut [f32], &mut [u8]>],
) -> Result<(), String> {
    if allocating.len() != pooled.len() {
        return Err(format!("{} levels, and {} pooled", allocating.len(), pooled.len()));
    }
    for (number, (expected, found)) in allocating.iter().zip(pooled).enumerate() {
        let (greys, marks) = (&expected.picture.pixels, &expected.edges.pixels);
        let pooled_greys = found.picture.pixels.iter().map(|grey| grey.to_bits());
        if greys.iter().map(|grey| grey.to_bits()).ne(pooled_greys) {
            return Err(format!("the pooled picture of level {number} differs"));
        }
        if marks.as_slice() != &*found.edges.pixels {
            return Err(format!("the pooled edges of level {number} differ"));
        }
    }
    Ok(())
}
