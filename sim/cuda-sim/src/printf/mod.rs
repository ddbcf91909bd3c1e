//! Formatted output of a kernel's `printf`: those conversions of C that CUDA's guide lists.
//!
//! A conversion is `%[flags][width][.precision][size]type`. Flags are `#`, ` `, `0`, `+` and `-`.
//! Width and precision are a number or `*`. Sizes are `h`, `l` and `ll`, types are
//! `cdiouxXpeEfgGaAs`.

mod conversion;
mod float;
mod whole;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use conversion::{Argument, Conversion, Piece, pieces};

/// The bytes of the buffer that kernels print into: CUDA's default. No text can be wider.
pub(crate) const BUFFER: usize = 1 << 20;

/// Pads to a width. The prefix stays in front of zeros that fill the width.
fn padded(conversion: &Conversion, width: usize, prefix: &[u8], body: &[u8]) -> Vec<u8> {
    let fill = width.saturating_sub(prefix.len() + body.len());
    let [mut before, mut zeros, mut behind] = [0; 3];
    if conversion.left {
        behind = fill;
    } else if conversion.zeros {
        zeros = fill;
    } else {
        before = fill;
    }
    let repeated = |byte: u8, count: usize| vec![byte; count];
    [&repeated(b' ', before), prefix, &repeated(b'0', zeros), body, &repeated(b' ', behind)]
        .concat()
}
