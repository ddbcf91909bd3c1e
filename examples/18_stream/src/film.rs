//! The frames: a camera moves over a photograph in a closed curve, and specks imitate a bad sensor.
//! The frames are stored encoded, in a single file.

use std::f64::consts::TAU;
use std::fs;
use std::ops::Range;
use std::path::Path;

use fastrand::Rng;

use crate::Failure;
use crate::picture::{Picture, photograph};
use crate::size::Size;

/// The header of a film file.
const FIRST: &[u8] = b"film of QOI\n";
/// The distance of the camera from the centre, in pixels of the photograph.
const REACH: f64 = 6.0;
/// The amplitude of the camera's zoom.
const ZOOM: f64 = 0.03;
/// The margin of the photograph that is never shown, in pixels.
const MARGIN: f64 = 20.0;
/// The number of pixels per speck.
const SPECKS: usize = 200;

/// Encoded frames of one size, which repeat in a loop.
#[derive(Debug)]
pub struct Film {
    size: Size,
    bytes: Vec<u8>,
    frames: Vec<Range<usize>>,
}

impl Film {
    /// Creates a film of `frames` frames.
    ///
    /// # Errors
    ///
    /// Fails if the photograph cannot be read, or if a frame cannot be encoded.
    pub fn make(size: Size, frames: usize) -> Result<Self, Failure> {
        let photograph = photograph()?;
        let mut bytes = FIRST.to_vec();
        for number in 0..frames {
            let mut picture = seen(&photograph, size, number as f64 / frames as f64);
            speck(&mut picture, &mut Rng::with_seed(number as u64));
            let [width, height] = [size.width, size.height].map(u32::try_from);
            let encoded = qoi::encode_to_vec(&picture, width?, height?)?;
            bytes.extend_from_slice(&u32::try_from(encoded.len())?.to_le_bytes());
            bytes.extend_from_slice(&encoded);
        }
        Self::parse(bytes)
    }

    /// Reads a film from a file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or does not contain a film.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        Self::parse(fs::read(path)?)
    }

    /// Writes the film to a file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        Ok(fs::write(path, &self.bytes)?)
    }

    fn parse(bytes: Vec<u8>) -> Result<Self, Failure> {
        let mut rest = bytes.strip_prefix(FIRST).ok_or("the file is not a film")?;
        let mut frames = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk() {
            let length = usize::try_from(u32::from_le_bytes(*length))?;
            let start = bytes.len() - after.len();
            rest = after.get(length..).ok_or("the film ends within a frame")?;
            frames.push(start..start + length);
        }
        let first = frames.first().cloned().ok_or("the film has no frames")?;
        let header = qoi::decode_header(&bytes[first])?;
        let size = Size { width: header.width.try_into()?, height: header.height.try_into()? };
        Ok(Self { size, bytes, frames })
    }

    /// Returns the size of the film's frames.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the bytes of a frame. After the last frame, the film starts again.
    #[must_use]
    pub fn frame(&self, number: usize) -> &[u8] {
        &self.bytes[self.frames[number % self.frames.len()].clone()]
    }
}

/// Returns the picture that the camera sees at a time from 0 to 1.
fn seen(photograph: &Picture, size: Size, time: f64) -> Vec<u8> {
    let (width, height) = (size.width as f64, size.height as f64);
    let (whole_width, whole_height) = (photograph.size.width as f64, photograph.size.height as f64);
    let inner = |whole: f64| whole - 2.0 * MARGIN;
    let fitting = (inner(whole_width) / width).min(inner(whole_height) / height);
    let angle = TAU * time;
    let step = fitting * (1.0 - ZOOM * (1.0 + angle.sin()));
    let left = whole_width / 2.0 + REACH * angle.cos() - step * width / 2.0;
    let top = whole_height / 2.0 + REACH * (2.0 * angle).sin() - step * height / 2.0;
    let mut picture = Vec::with_capacity(3 * size.pixels());
    for y in 0..size.height {
        for x in 0..size.width {
            let colour = photograph.between(left + step * x as f64, top + step * y as f64);
            picture.extend_from_slice(&colour);
        }
    }
    picture
}

/// Turns random pixels white or black.
fn speck(picture: &mut [u8], random: &mut Rng) {
    let pixels = picture.len() / 3;
    for _ in 0..pixels / SPECKS {
        let at = 3 * random.usize(..pixels);
        picture[at..at + 3].fill(if random.bool() { 255 } else { 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST, Film};
    use crate::size::Size;

    #[test]
    fn a_film_reads_back_and_goes_round() {
        let size = Size { width: 48, height: 32 };
        let film = Film::make(size, 3).unwrap();
        let again = Film::parse(film.bytes.clone()).unwrap();
        assert_eq!((again.size(), again.frames.len()), (size, 3));
        assert_eq!(again.frame(4), film.frame(1));
        assert_ne!(film.frame(0), film.frame(1), "the camera moves");
    }

    #[test]
    fn what_is_no_film_is_refused() {
        let film = Film::make(Size { width: 32, height: 32 }, 1).unwrap();
        let cut = film.bytes[..film.bytes.len() - 1].to_vec();
        for bytes in [cut, FIRST.to_vec(), Vec::new(), b"something else".to_vec()] {
            assert!(Film::parse(bytes).is_err());
        }
    }
}
