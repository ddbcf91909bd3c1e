//! What `printf` of a kernel makes of a format and its arguments: C's conversions, as far as CUDA's guide lists them.
//!
//! A conversion is `%[flags][width][.precision][size]type` with the flags `#`, ` `, `0`, `+` and `-`, a number or `*` for
//! width and precision, the sizes `h`, `l` and `ll`, and one of `%cdiouxXpeEfgGaAs`.

mod conversion;
mod float;
mod whole;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use conversion::{Argument, Conversion, Piece, pieces};

/// The buffer that kernels print into has so many bytes, as CUDA makes it where nothing else is asked for. No text can be
/// wider.
pub(crate) const BUFFER: usize = 1 << 20;

/// A prefix that stays in front of zeros which fill a width, and what comes behind it.
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
