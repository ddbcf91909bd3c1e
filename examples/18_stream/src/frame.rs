//! Processes a frame, from its encoded bytes to the displayed picture. This is the whole program,
//! for any source of temporaries.

use crate::Failure;
use crate::camera::{Camera, LEVELS, Pyramid};
use crate::plane::Plane;
use crate::scratch::Scratch;
use crate::size::Size;
use crate::steps::composite::composite;
use crate::steps::flow::Sums;
use crate::steps::{denoise, edges, flow, pyramid};

/// The finest level for which the flow is computed.
pub(crate) const FLOW: usize = 1;

/// Processes one frame, and stores the result in the camera's picture.
///
/// # Errors
///
/// Fails if the bytes are not a frame of the camera's size.
pub fn frame<S: Scratch>(
    scratch: &mut S,
    encoded: &[u8],
    camera: &mut Camera,
) -> Result<(), Failure> {
    let size = camera.size();
    let mut clean = scratch.take::<u8>(3 * size.pixels());
    scratch.nested(|inner| {
        let mut raw = inner.take::<u8>(3 * size.pixels());
        decode(encoded, size, &mut raw)?;
        clean_up(inner, size, &raw, &mut clean);
        Ok::<_, Failure>(())
    })?;
    pyramid::greys(&clean, &mut camera.now[0].pixels);
    for level in 1..LEVELS {
        let (larger, smaller) = camera.now.split_at_mut(level);
        scratch.nested(|inner| halve(inner, larger[level - 1].view(), smaller[0].view_mut()));
    }
    let mut marks = scratch.take::<u8>(size.pixels());
    scratch.nested(|inner| mark_edges(inner, camera.now[0].view(), &mut marks));
    show(scratch, camera, &clean, &marks);
    Ok(())
}

/// Runs the remaining steps, once the frame is clean and its pyramid and edges are known.
pub(crate) fn show<S: Scratch>(scratch: &mut S, camera: &mut Camera, clean: &[u8], marks: &[u8]) {
    let size = camera.size();
    let mut across = plane::<f32, _>(scratch, size.halved(1));
    let mut down = plane::<f32, _>(scratch, size.halved(1));
    let pyramids = [&camera.before, &camera.now];
    scratch.nested(|inner| follow(inner, pyramids, FLOW, [across.view_mut(), down.view_mut()]));
    composite(size, clean, marks, [across.view(), down.view()], &mut camera.picture);
    camera.step();
}

/// Decodes the bytes of a frame to red, green and blue.
pub(crate) fn decode(encoded: &[u8], size: Size, raw: &mut [u8]) -> Result<(), Failure> {
    let header = qoi::decode_to_buf(raw, encoded)?;
    let [width, height] = [header.width, header.height].map(usize::try_from);
    if (width?, height?, header.channels) != (size.width, size.height, qoi::Channels::Rgb) {
        return Err(format!("a frame does not have the camera's size, {size}").into());
    }
    Ok(())
}

fn clean_up<S: Scratch>(scratch: &S, size: Size, raw: &[u8], clean: &mut [u8]) {
    let mut low = scratch.take::<u8>(raw.len());
    let mut mid = scratch.take::<u8>(raw.len());
    let mut high = scratch.take::<u8>(raw.len());
    denoise::sort_columns(size, raw, [&mut low, &mut mid, &mut high]);
    denoise::medians(size, [&low, &mid, &high], clean);
}

fn halve<S: Scratch>(scratch: &S, from: Plane<&[u16]>, to: Plane<&mut [u16]>) {
    let mut rows = plane::<u16, _>(scratch, Size { width: to.size.width, ..from.size });
    pyramid::halve_rows(from, rows.view_mut());
    pyramid::halve_columns(rows.view(), to);
}

fn mark_edges<S: Scratch>(scratch: &S, greys: Plane<&[u16]>, marks: &mut [u8]) {
    let mut across = plane::<i16, _>(scratch, greys.size);
    let mut down = plane::<i16, _>(scratch, greys.size);
    edges::gradients(greys, across.view_mut(), down.view_mut());
    let mut steep = plane::<u16, _>(scratch, greys.size);
    edges::steepness(&across.pixels, &down.pixels, &mut steep.pixels);
    edges::ridges(steep.view(), &across.pixels, &down.pixels, marks);
}

/// Computes the flow of one level, after the flow of all coarser levels.
fn follow<S: Scratch>(
    scratch: &mut S,
    pyramids: [&Pyramid; 2],
    level: usize,
    [mut across, mut down]: [Plane<&mut [f32]>; 2],
) {
    if level + 1 < LEVELS {
        let coarser = pyramids[0][level + 1].size;
        scratch.nested(|inner| {
            let mut far = plane::<f32, _>(inner, coarser);
            let mut deep = plane::<f32, _>(inner, coarser);
            follow(inner, pyramids, level + 1, [far.view_mut(), deep.view_mut()]);
            flow::enlarge(far.view(), across.view_mut());
            flow::enlarge(deep.view(), down.view_mut());
        });
    } else {
        across.pixels.fill(0.0);
        down.pixels.fill(0.0);
    }
    let [before, now] = pyramids.map(|pyramid| pyramid[level].view());
    scratch.nested(|inner| refine(inner, before, now, [across.pixels, down.pixels]));
}

fn refine<S: Scratch>(
    scratch: &mut S,
    before: Plane<&[u16]>,
    now: Plane<&[u16]>,
    [across, down]: [&mut [f32]; 2],
) {
    let size = before.size;
    let of_slopes = |scratch: &S| plane::<f32, _>(scratch, size);
    let [mut right, mut below, mut later] = [(); 3].map(|()| of_slopes(scratch));
    scratch.nested(|inner| {
        let mut back = plane::<f32, _>(inner, size);
        flow::warp(now, [across, down], back.view_mut());
        let slopes = [&mut *right.pixels, &mut *below.pixels, &mut *later.pixels];
        flow::slopes(before, &back.pixels, slopes);
    });
    let right_right = summed(scratch, size, &right.pixels, &right.pixels);
    let right_down = summed(scratch, size, &right.pixels, &below.pixels);
    let down_down = summed(scratch, size, &below.pixels, &below.pixels);
    let right_time = summed(scratch, size, &right.pixels, &later.pixels);
    let down_time = summed(scratch, size, &below.pixels, &later.pixels);
    let sums = Sums {
        right_right: &right_right,
        right_down: &right_down,
        down_down: &down_down,
        right_time: &right_time,
        down_time: &down_time,
    };
    flow::refine(sums, [across, down]);
}

/// Sums products over 5 × 5 pixels.
fn summed<S: Scratch>(scratch: &mut S, size: Size, left: &[f32], right: &[f32]) -> S::Buffer<f32> {
    let mut sums = plane::<f32, _>(scratch, size);
    scratch.nested(|inner| {
        let mut rows = plane::<f32, _>(inner, size);
        flow::product(left, right, &mut sums.pixels);
        flow::sum_rows(sums.view(), rows.view_mut());
        flow::sum_columns(rows.view(), sums.view_mut());
    });
    sums.pixels
}

fn plane<T: crate::Sample, S: Scratch>(scratch: &S, size: Size) -> Plane<S::Buffer<T>> {
    Plane { size, pixels: scratch.take(size.pixels()) }
}

#[cfg(test)]
mod tests {
    use std::array;

    use super::{FLOW, LEVELS, Plane, Pyramid, Size, follow, halve};
    use crate::sources::heap::Heap;

    const SIZE: Size = Size { width: 128, height: 96 };

    /// Waves in both directions, shifted to the right and up.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "200 to 3,800")]
    fn waves(right: f32, up: f32) -> Pyramid {
        let mut pyramid: Pyramid = array::from_fn(|level| {
            let size = SIZE.halved(level);
            Plane { size, pixels: vec![0; size.pixels()] }
        });
        for y in 0..SIZE.height {
            for (x, grey) in pyramid[0].row_mut(y).iter_mut().enumerate() {
                let (x, y) = (x as f32 - right, y as f32 + up);
                *grey = (2_000.0 + 900.0 * ((x / 7.0).sin() + (y / 6.0).cos())) as u16;
            }
        }
        for level in 1..LEVELS {
            let (larger, smaller) = pyramid.split_at_mut(level);
            halve(&Heap, larger[level - 1].view(), smaller[0].view_mut());
        }
        pyramid
    }

    #[test]
    fn the_flow_is_what_moved() {
        let (before, now) = (waves(0.0, 0.0), waves(3.0, 2.0));
        let size = SIZE.halved(1);
        let [mut across, mut down] = [vec![9.0; size.pixels()], vec![9.0; size.pixels()]];
        let planes = [&mut across, &mut down].map(|pixels| Plane { size, pixels: &mut pixels[..] });
        follow(&mut Heap, [&before, &now], FLOW, planes);
        for (flow, expected) in [(&across, 1.5), (&down, -1.0)] {
            let inside = (12..36).flat_map(|y| &flow[y * 64 + 12..y * 64 + 52]);
            let wrong = inside.filter(|moved| (*moved - expected).abs() > 0.3).count();
            assert!(wrong < 24 * 40 / 20, "{wrong} of {} values are not {expected}", 24 * 40);
        }
    }
}
