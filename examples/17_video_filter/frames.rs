//! Frames of a video, in which a camera moves and zooms over a photograph. Also writes a picture as
//! a PNG file.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Cursor};
use std::path::Path;

/// The grey levels of a square, row by row.
#[derive(Clone, Debug)]
pub(crate) struct Photograph {
    side: usize,
    greys: Vec<u8>,
}

impl Photograph {
    /// Loads the photograph of the examples.
    pub(crate) fn load() -> Result<Self, Box<dyn Error>> {
        let bytes = include_bytes!("../data/camera.png").as_slice();
        let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info()?;
        let mut greys = vec![0; reader.output_buffer_size().ok_or("the photograph is too large")?];
        let frame = reader.next_frame(&mut greys)?;
        let is_grey = frame.color_type == png::ColorType::Grayscale;
        if !is_grey || frame.bit_depth != png::BitDepth::Eight || frame.width != frame.height {
            return Err("the photograph is not a square of 8-bit grey levels".into());
        }
        Ok(Self { side: frame.width.try_into()?, greys })
    }

    /// Returns the grey level at a position from 0 to 1 in both directions, interpolated between
    /// the four nearest pixels.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within a byte")]
    fn at(&self, x: f32, y: f32) -> u8 {
        let last = self.side - 1;
        let [(left, right), (top, bottom)] = [x, y].map(|place| {
            let place = place.clamp(0.0, 1.0) * last as f32;
            let whole = (place as usize).min(last.saturating_sub(1));
            (whole, place - whole as f32)
        });
        let grey =
            |x: usize, y: usize| f32::from(self.greys[y.min(last) * self.side + x.min(last)]);
        let row = |y| grey(left, y) * (1.0 - right) + grey(left + 1, y) * right;
        (row(top) * (1.0 - bottom) + row(top + 1) * bottom).round() as u8
    }

    /// Returns `frames` frames with `size` pixels along each side. The camera moves on a curve,
    /// from the whole photograph to its middle third.
    pub(crate) fn video(&self, frames: u32, size: u32) -> Vec<Vec<u8>> {
        let frame = |number: u32| {
            let time = number as f32 / frames as f32;
            let extent = 1.0 - 0.6 * time;
            let room = 1.0 - extent;
            let turn = std::f32::consts::TAU * time;
            let (left, top) = (room * (0.45 + 0.2 * turn.sin()), room * (0.3 + 0.2 * turn.cos()));
            let place = |pixel: u32| extent * (pixel as f32 + 0.5) / size as f32;
            (0..size)
                .flat_map(|y| (0..size).map(move |x| (x, y)))
                .map(|(x, y)| self.at(left + place(x), top + place(y)))
                .collect()
        };
        (0..frames).map(frame).collect()
    }
}

/// Writes a frame, and the filtered picture to its right.
pub(crate) fn write(
    path: &Path,
    size: u32,
    frame: &[u8],
    picture: &[u32],
) -> Result<(), Box<dyn Error>> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let rows = frame.chunks_exact(size as usize).zip(picture.chunks_exact(size as usize));
    let mut colours = Vec::with_capacity(2 * 3 * frame.len());
    for (before, after) in rows {
        colours.extend(before.iter().flat_map(|grey| [*grey; 3]));
        colours.extend(after.iter().flat_map(|pixel| {
            let [red, green, blue, _alpha] = pixel.to_le_bytes();
            [red, green, blue]
        }));
    }
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), 2 * size, size);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&colours)?;
    Ok(writer.finish()?)
}
