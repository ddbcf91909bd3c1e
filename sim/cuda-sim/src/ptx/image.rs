//! The initial bytes of a module's variables.

use std::collections::HashMap;

use super::error::{PtxError, Reading};
use super::syntax::{Initial, Variable};

/// Returns the initial bytes of a variable. The addresses of the other variables must be known.
///
/// # Errors
///
/// Fails if the initial value contains the address of an unknown variable or of a function.
pub(crate) fn bytes(variable: &Variable, addresses: &HashMap<String, u64>) -> Reading<Vec<u8>> {
    let mut bytes = vec![0; variable.bytes];
    let width = variable.element.bytes();
    for (initial, place) in variable.initial.iter().zip(bytes.chunks_exact_mut(width)) {
        let bits = match initial {
            Initial::Bits(bits) => *bits,
            Initial::Address(name, offset) => {
                let address = addresses.get(name).ok_or_else(|| {
                    let text = format!("`{name}` is not a variable of global or constant memory");
                    PtxError::new(variable.line, text)
                })?;
                if width != 8 {
                    let text = "an address has 64 bits";
                    return Err(PtxError::new(variable.line, text));
                }
                address.wrapping_add_signed(*offset)
            }
        };
        place.copy_from_slice(&bits.to_le_bytes()[..width]);
    }
    Ok(bytes)
}
