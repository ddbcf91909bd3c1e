//! The photograph from which the frames are created, and pictures as files.

use std::fs::{self, File};
use std::io::{BufWriter, Cursor};
use std::path::Path;

use crate::Failure;
use crate::size::Size;

/// A picture with red, green and blue for each pixel.
#[derive(Debug)]
pub(crate) struct Picture {
    pub(crate) size: Size,
    colours: Vec<u8>,
}

impl Picture {
    /// Returns the colour interpolated between four pixels. Beyond the border, the colour of the
    /// border continues.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
    pub(crate) fn between(&self, x: f64, y: f64) -> [u8; 3] {
        let Size { width, height } = self.size;
        let (x, y) = (x.clamp(0.0, (width - 1) as f64), y.clamp(0.0, (height - 1) as f64));
        let (left, top) = (x as usize, y as usize);
        let (right, bottom) = ((left + 1).min(width - 1), (top + 1).min(height - 1));
        let (part_x, part_y) = (x - left as f64, y - top as f64);
        [0, 1, 2].map(|colour| {
            let at = |x: usize, y: usize| f64::from(self.colours[3 * (y * width + x) + colour]);
            let mix = |from: f64, to: f64, part: f64| from + part * (to - from);
            let above = mix(at(left, top), at(right, top), part_x);
            let below = mix(at(left, bottom), at(right, bottom), part_x);
            mix(above, below, part_y).round() as u8
        })
    }
}

/// Loads the photograph of a cup of coffee, 600 × 400 pixels. Its licence is in the same folder.
pub(crate) fn photograph() -> Result<Picture, Failure> {
    let bytes = include_bytes!("../../data/coffee.png").as_slice();
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info()?;
    let mut colours = vec![0; reader.output_buffer_size().ok_or("the photograph is too large")?];
    let frame = reader.next_frame(&mut colours)?;
    if (frame.color_type, frame.bit_depth) != (png::ColorType::Rgb, png::BitDepth::Eight) {
        return Err("the photograph does not have three colours with 8 bits each".into());
    }
    let size = Size { width: frame.width.try_into()?, height: frame.height.try_into()? };
    Ok(Picture { size, colours })
}

/// Writes red, green and blue for each pixel as a PNG file.
pub(crate) fn write(path: &Path, size: Size, colours: &[u8]) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let [width, height] = [size.width, size.height].map(u32::try_from);
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width?, height?);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(colours)?;
    Ok(writer.finish()?)
}
