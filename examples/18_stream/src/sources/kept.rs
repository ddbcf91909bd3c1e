//! Buffers kept by hand, for code that must not allocate. There is one named buffer per temporary.
//! Its size is set once, and it is passed to every step. Steps that obviously never overlap share
//! buffers.

use crate::Failure;
use crate::camera::{Camera, LEVELS};
use crate::frame::{FLOW, decode};
use crate::plane::Plane;
use crate::size::Size;
use crate::steps::composite::composite;
use crate::steps::flow::Sums;
use crate::steps::{denoise, edges, flow, pyramid};

/// All temporaries of a frame.
#[derive(Debug)]
pub struct Kept {
    raw: Vec<u8>,
    clean: Vec<u8>,
    low: Vec<u8>,
    mid: Vec<u8>,
    high: Vec<u8>,
    halved_rows: Vec<u16>,
    across: Vec<i16>,
    down: Vec<i16>,
    steep: Vec<u16>,
    marks: Vec<u8>,
    /// The flow of each level, starting with [`FLOW`].
    flows: Vec<[Vec<f32>; 2]>,
    /// First the warped picture, then the sums along rows.
    back_or_rows: Vec<f32>,
    slopes: [Vec<f32>; 3],
    sums: [Vec<f32>; 5],
}

impl Kept {
    /// Creates buffers for frames of one size.
    #[must_use]
    pub fn new(size: Size) -> Self {
        let (pixels, half) = (size.pixels(), size.halved(1));
        let of_flow = || vec![0.0; half.pixels()];
        let level = |level: usize| size.halved(level).pixels();
        Self {
            raw: vec![0; 3 * pixels],
            clean: vec![0; 3 * pixels],
            low: vec![0; 3 * pixels],
            mid: vec![0; 3 * pixels],
            high: vec![0; 3 * pixels],
            halved_rows: vec![0; half.width * size.height],
            across: vec![0; pixels],
            down: vec![0; pixels],
            steep: vec![0; pixels],
            marks: vec![0; pixels],
            flows: (FLOW..LEVELS).map(|at| [vec![0.0; level(at)], vec![0.0; level(at)]]).collect(),
            back_or_rows: of_flow(),
            slopes: [of_flow(), of_flow(), of_flow()],
            sums: [of_flow(), of_flow(), of_flow(), of_flow(), of_flow()],
        }
    }

    /// Processes one frame, and stores the result in the camera's picture.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a frame of the camera's size.
    pub fn frame(&mut self, encoded: &[u8], camera: &mut Camera) -> Result<(), Failure> {
        let size = camera.size();
        decode(encoded, size, &mut self.raw)?;
        let columns = [&mut *self.low, &mut *self.mid, &mut *self.high];
        denoise::sort_columns(size, &self.raw, columns);
        denoise::medians(size, [&self.low, &self.mid, &self.high], &mut self.clean);
        pyramid::greys(&self.clean, &mut camera.now[0].pixels);
        for level in 1..LEVELS {
            let (larger, smaller) = camera.now.split_at_mut(level);
            self.halve(larger[level - 1].view(), smaller[0].view_mut());
        }
        self.mark_edges(camera.now[0].view());
        for level in (FLOW..LEVELS).rev() {
            self.follow(camera, level);
        }
        let [across, down] = &self.flows[0];
        let flow = [across, down].map(|flow| Plane { size: size.halved(1), pixels: &flow[..] });
        composite(size, &self.clean, &self.marks, flow, &mut camera.picture);
        camera.step();
        Ok(())
    }

    fn halve(&mut self, from: Plane<&[u16]>, to: Plane<&mut [u16]>) {
        let size = Size { width: to.size.width, ..from.size };
        let rows = &mut self.halved_rows[..size.pixels()];
        pyramid::halve_rows(from, Plane { size, pixels: &mut *rows });
        pyramid::halve_columns(Plane { size, pixels: rows }, to);
    }

    fn mark_edges(&mut self, greys: Plane<&[u16]>) {
        let size = greys.size;
        let across = Plane { size, pixels: &mut *self.across };
        edges::gradients(greys, across, Plane { size, pixels: &mut *self.down });
        edges::steepness(&self.across, &self.down, &mut self.steep);
        let steep = Plane { size, pixels: &*self.steep };
        edges::ridges(steep, &self.across, &self.down, &mut self.marks);
    }

    fn follow(&mut self, camera: &Camera, level: usize) {
        let (before, now) = (camera.before[level].view(), camera.now[level].view());
        let size = before.size;
        let (own, coarser) = self.flows[level - FLOW..].split_at_mut(1);
        let [across, down] = &mut own[0];
        for (flow, index) in [(&mut *across, 0), (&mut *down, 1)] {
            match coarser.first() {
                Some(coarser) => {
                    let from = Plane { size: camera.now[level + 1].size, pixels: &*coarser[index] };
                    flow::enlarge(from, Plane { size, pixels: flow });
                }
                None => flow.fill(0.0),
            }
        }
        let pixels = size.pixels();
        let back_or_rows = &mut self.back_or_rows[..pixels];
        let [right, below, later] = self.slopes.each_mut().map(|slope| &mut slope[..pixels]);
        flow::warp(now, [across, down], Plane { size, pixels: &mut *back_or_rows });
        flow::slopes(before, back_or_rows, [&mut *right, &mut *below, &mut *later]);

        let [a, b, c, d, e] = self.sums.each_mut().map(|sums| &mut sums[..pixels]);
        let (right, below, later) = (&*right, &*below, &*later);
        let mut sum = |left: &[f32], right: &[f32], sums: &mut [f32]| {
            flow::product(left, right, sums);
            let rows = Plane { size, pixels: &mut *back_or_rows };
            flow::sum_rows(Plane { size, pixels: &*sums }, rows);
            flow::sum_columns(Plane { size, pixels: &*back_or_rows }, Plane { size, pixels: sums });
        };
        sum(right, right, a);
        sum(right, below, b);
        sum(below, below, c);
        sum(right, later, d);
        sum(below, later, e);
        let sums =
            Sums { right_right: a, right_down: b, down_down: c, right_time: d, down_time: e };
        flow::refine(sums, [across, down]);
    }
}
