//! Formatted output of a kernel's `printf`. It supports the C conversions that CUDA's guide lists.
//!
//! A conversion is `%[flags][width][.precision][size]type`. The flags are `#`, ` `, `0`, `+` and
//! `-`. Width and precision are a number or `*`. The sizes are `h`, `l` and `ll`, and the types are
//! `cdiouxXpeEfgGaAs`.

mod conversion;
mod float;
mod whole;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use conversion::{Argument, Conversion, Piece, pieces};

/// The size in bytes of the buffer that kernels print into, which is CUDA's default. No field can
/// be wider.
pub(crate) const BUFFER: usize = 1 << 20;

/// Pads to a width. If zeros fill the width, the prefix stays in front of the zeros.
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
