//! A computed film in which discs move over waves. It uses one grey level per pixel, and integer
//! arithmetic.

/// The length of a wave in pixels.
const WAVE: i32 = 64;

/// Returns the grey levels of one frame of a square film, row by row.
#[must_use]
pub fn frame(number: u32, side: u32) -> Vec<u8> {
    let pixels = (0..side).flat_map(|y| (0..side).map(move |x| (x, y)));
    let scale = |at: u32| i32::try_from(at * 256 / side.max(1)).unwrap_or_default();
    let time = i32::try_from(number % 4_096).unwrap_or_default();
    pixels.map(|(x, y)| grey(time, scale(x), scale(y))).collect()
}

/// Returns the grey level at a position from 0 to 255 in both directions.
fn grey(time: i32, x: i32, y: i32) -> u8 {
    let waves = triangle(x + y / 2 + time) + triangle(2 * y - x / 2 - time);
    let discs = [(3, 2, 34), (-2, 3, 26), (1, -4, 20)];
    let is_inside = |&(dx, dy, radius): &(i32, i32, i32)| {
        let (across, down) = (x - bounce(time * dx + radius), y - bounce(time * dy + 3 * radius));
        across * across + down * down < radius * radius
    };
    let inside = discs.iter().filter(|disc| is_inside(disc)).count();
    let level = 16 + waves + 120 * i32::try_from(inside).unwrap_or_default();
    u8::try_from(level.clamp(0, 255)).unwrap_or_default()
}

/// Returns the value of a wave, from 0 to 64.
fn triangle(at: i32) -> i32 {
    let place = at.rem_euclid(2 * WAVE);
    if place < WAVE { place } else { 2 * WAVE - place }
}

/// Returns a position from 0 to 255 that reverses its direction at both ends.
fn bounce(at: i32) -> i32 {
    let place = at.rem_euclid(512);
    if place < 256 { place } else { 511 - place }
}

/// Returns a number that identifies a picture: the FNV-1a hash of its bytes.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().fold(0x811c_9dc5, step)
}
