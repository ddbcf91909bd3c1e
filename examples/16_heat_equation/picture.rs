//! Draws the temperatures as a picture, from black for the coldest through red and yellow to white.

use std::error::Error;
use std::fs::{File, create_dir_all};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::problem::Heat;

/// The number of pixels along each side of a point.
const SCALE: usize = 6;

/// The number of pixels between two frames.
const GAP: usize = 4;

/// Writes the frames side by side, each with its edges, and returns the path of the picture.
pub(crate) fn write(
    heat: &Heat,
    frames: &[(usize, Vec<f64>)],
    name: &str,
) -> Result<PathBuf, Box<dyn Error>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = package.parent().unwrap_or(package).join("target/demo");
    create_dir_all(&folder)?;
    let path = folder.join(name);
    let height = (heat.side + 2) * SCALE;
    let width = frames.len() * (height + GAP);
    let file = BufWriter::new(File::create(&path)?);
    let mut encoder = png::Encoder::new(file, width.try_into()?, height.try_into()?);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (y, x)));
    let colours = pixels.flat_map(|(y, x)| match frames.get(x / (height + GAP)) {
        Some((_, frame)) if x % (height + GAP) < height => {
            colour(temperature(heat, frame, y / SCALE, x % (height + GAP) / SCALE))
        }
        _ => [255; 3],
    });
    writer.write_image_data(&colours.collect::<Vec<u8>>())?;
    writer.finish()?;
    Ok(path)
}

/// Returns the temperature of a point, or of the edge.
fn temperature(heat: &Heat, frame: &[f64], row: usize, column: usize) -> f64 {
    let inner = 1..=heat.side;
    if inner.contains(&row) && inner.contains(&column) {
        frame[(row - 1) * heat.side + column - 1]
    } else {
        heat.at_rest(row, column)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn colour(temperature: f64) -> [u8; 3] {
    // Each of the three colours rises over a third of the range from 0 to 1.5.
    [0.0, 0.5, 1.0].map(|begin| ((temperature - begin) / 0.5 * 255.0).clamp(0.0, 255.0) as u8)
}
