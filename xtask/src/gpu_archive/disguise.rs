//! Removes some or all of the signs that identify the simulated driver.
//!
//! Texts in the library are overwritten with others of the same length, so a program does not find
//! them. The tests then treat the library as hardware, and no other driver has to be built.

use crate::TaskError;

/// The prefix of the simulator's own symbols, and the replacement.
const SYMBOLS: (&[u8], &[u8]) = (b"simcuda_", b"anycuda_");
/// The name of simulated devices, and the replacement.
const DEVICE: (&[u8], &[u8]) = (b"Simulated device", b"Disguised device");

/// The signs that are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signs {
    pub(super) symbol: bool,
    pub(super) device_name: bool,
}

/// The modified library of the simulated driver.
#[derive(Clone, Debug)]
pub(super) struct Disguised(Vec<u8>);

impl Signs {
    /// Keeps no signs.
    pub(super) const NONE: Self = Self { symbol: false, device_name: false };
}

impl Disguised {
    /// Removes all signs except those in `left`.
    ///
    /// # Errors
    ///
    /// Fails if a sign that should be removed is missing, because the library then differs from the
    /// one for which this code was written.
    pub(super) fn of(library: &[u8], left: Signs) -> Result<Self, TaskError> {
        let mut bytes = library.to_vec();
        if !left.symbol {
            replace(&mut bytes, SYMBOLS.0, SYMBOLS.1)?;
        }
        if !left.device_name {
            replace(&mut bytes, DEVICE.0, DEVICE.1)?;
        }
        Ok(Self(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Overwrites every occurrence of a text.
///
/// # Errors
///
/// Fails if the text does not occur.
pub(super) fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) -> Result<(), TaskError> {
    let found = bytes.windows(from.len()).enumerate().filter(|(_, window)| *window == from);
    let places: Vec<usize> = found.map(|(place, _)| place).collect();
    if places.is_empty() {
        let text = String::from_utf8_lossy(from);
        return Err(format!("the program does not contain {text:?}").into());
    }
    for place in places {
        bytes[place..place + to.len()].copy_from_slice(to);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Disguised, Signs};

    const LIBRARY: &[u8] =
        b"\0simcuda_is_simulator\0cuInit\0cuInitial\0 Simulated device \0simcuda_read";

    #[test]
    fn signs_go_one_by_one() {
        let text = |signs| String::from_utf8(Disguised::of(LIBRARY, signs).unwrap().0).unwrap();
        let none = text(Signs::NONE);
        assert!(!none.contains("simcuda") && !none.contains("Simulated"), "{none}");
        assert_eq!(none.len(), LIBRARY.len());
        let symbol = text(Signs { symbol: true, device_name: false });
        assert!(symbol.contains("simcuda_is_simulator") && !symbol.contains("Simulated"));
        let name = text(Signs { symbol: false, device_name: true });
        assert!(!name.contains("simcuda") && name.contains("Simulated device"));
    }

    #[test]
    fn what_is_not_there_cannot_be_taken_away() {
        assert!(Disguised::of(b"libcuda", Signs::NONE).is_err());
    }
}
