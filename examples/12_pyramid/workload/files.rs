//! Reads the photograph, and writes the results as PNG files.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Cursor};
use std::path::Path;

use super::{Level, Picture, Pixels};

/// Returns the photograph as grey levels from 0 to 255.
pub(crate) fn photograph() -> Result<Picture<Vec<f32>>, Box<dyn Error>> {
    let bytes = include_bytes!("../../data/camera.png").as_slice();
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info()?;
    let mut greys = vec![0; reader.output_buffer_size().ok_or("the photograph is too large")?];
    let frame = reader.next_frame(&mut greys)?;
    if (frame.color_type, frame.bit_depth) != (png::ColorType::Grayscale, png::BitDepth::Eight) {
        return Err("the photograph is not grey with 8 bits per pixel".into());
    }
    let pixels = greys.into_iter().map(f32::from).collect();
    Ok(Picture { width: frame.width.try_into()?, height: frame.height.try_into()?, pixels })
}

/// Writes `level-0.png`, `edges-0.png` and so on, and `pyramid.png`, which shows all of them.
pub(crate) fn write<Greys: Pixels<f32>, Marks: Pixels<u8>>(
    folder: &Path,
    levels: &[Level<Greys, Marks>],
) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let height = levels.first().map_or(0, |level| level.picture.height);
    let width = levels.iter().map(|level| level.picture.width).sum();
    let mut overview = Picture { width, height: 2 * height, pixels: vec![255; width * 2 * height] };
    let mut left = 0;
    for (number, Level { picture, edges }) in levels.iter().enumerate() {
        let greys: Vec<u8> = picture.pixels.iter().map(|grey| to_byte(*grey)).collect();
        let shown = Picture { width: picture.width, height: picture.height, pixels: greys };
        write_png(&folder.join(format!("level-{number}.png")), &shown)?;
        write_png(&folder.join(format!("edges-{number}.png")), edges)?;
        paste(&mut overview, &shown, left, 0);
        paste(&mut overview, edges, left, height);
        left += picture.width;
    }
    write_png(&folder.join("pyramid.png"), &overview)
}

fn paste(onto: &mut Picture<Vec<u8>>, picture: &Picture<impl Pixels<u8>>, left: usize, top: usize) {
    for y in 0..picture.height {
        let start = (top + y) * onto.width + left;
        onto.pixels[start..start + picture.width].copy_from_slice(picture.row(y));
    }
}

fn write_png(path: &Path, picture: &Picture<impl Pixels<u8>>) -> Result<(), Box<dyn Error>> {
    let file = BufWriter::new(File::create(path)?);
    let mut encoder =
        png::Encoder::new(file, picture.width.try_into()?, picture.height.try_into()?);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&picture.pixels)?;
    Ok(writer.finish()?)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn to_byte(grey: f32) -> u8 {
    grey.round().clamp(0.0, 255.0) as u8
}
