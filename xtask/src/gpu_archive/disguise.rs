//! The simulated driver without the signs that identify it, or with some of them.
//!
//! Texts in the library are overwritten by others of the same length, so that a program does not find them. The tests
//! then run on it as on hardware, without a build of another driver.

use crate::TaskError;

/// The prefix of its own symbols, and the replacement.
const SYMBOLS: (&[u8], &[u8]) = (b"simcuda_", b"anycuda_");
/// The name of its devices, and the replacement.
const DEVICE: (&[u8], &[u8]) = (b"Simulated device", b"Disguised device");

/// The signs that are left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signs {
    pub(super) symbol: bool,
    pub(super) device_name: bool,
}

/// The library of the simulated driver, changed.
#[derive(Clone, Debug)]
pub(super) struct Disguised(Vec<u8>);

impl Signs {
    /// No signs.
    pub(super) const NONE: Self = Self { symbol: false, device_name: false };
}

impl Disguised {
    /// Takes the other signs away.
    ///
    /// # Errors
    ///
    /// Fails if a sign to be removed is missing: then the library is not the expected one.
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

/// Overwrites every place with a text.
///
/// # Errors
///
/// If no place has it.
pub(super) fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) -> Result<(), TaskError> {
    let found = bytes.windows(from.len()).enumerate().filter(|(_, window)| *window == from);
    let places: Vec<usize> = found.map(|(place, _)| place).collect();
    if places.is_empty() {
        let text = String::from_utf8_lossy(from);
        return Err(format!("there is no {text:?} in it").into());
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
