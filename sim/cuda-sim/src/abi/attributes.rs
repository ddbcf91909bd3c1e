//! Attributes of a device, as numbers.

use crate::code::{Code, Outcome};

/// The last attribute of CUDA 13.0.
const LAST: u32 = 147;

/// Returns the value of a device attribute, which is given by its number in CUDA. Textures,
/// surfaces and caches are not modelled: their extents are 0. Attributes that only concern them are
/// not supported.
pub(super) fn of_device(number: u32, device: i32) -> Outcome<i32> {
    if number == 0 || number > LAST {
        return Err(Code::INVALID_VALUE);
    }
    Ok(match number {
        1 => 1024,     // threads per block
        2 | 3 => 1024, // block dimensions
        4 => 64,
        5 => i32::MAX, // grid dimensions
        6 | 7 => 65_535,
        8 => 49_152,       // shared memory per block
        9 => 65_536,       // constant memory
        10 => 32,          // warp size
        11 => i32::MAX,    // pitch of a copy
        12 => 65_536,      // registers per block
        13 => 1_000_000,   // clock rate in kHz: an instruction takes a nanosecond
        14 | 30 => 512,    // alignment of textures and surfaces
        15 => 1,           // copies beside kernels
        16 => 8,           // multiprocessors
        19 => 1,           // mapped host memory
        20 => 0,           // compute mode: default
        31 => 1,           // concurrent kernels
        33 | 85 => device, // number on the bus, and of its board
        36 => 1_000_000,   // memory clock rate in kHz
        37 => 512,         // memory bus in bits
        39 => 2048,        // threads per multiprocessor
        40 => 2,           // copy engines
        41 => 1,           // unified addressing
        51 => 32,          // alignment of a texture's pitch
        75 => 9,           // compute capability
        76 => 0,
        78 => 1,         // stream priorities
        81 => 233_472,   // shared memory per multiprocessor
        82 => 65_536,    // registers per multiprocessor
        83 => 0,         // managed memory
        87 => 2,         // how much slower f64 is than f32
        91 => 1,         // registered host memory has one address
        95 => 0,         // cooperative launch
        97 => 232_448,   // shared memory per block at most
        99 => 1,         // host memory can be registered
        102 => 1,        // virtual memory management
        106 => 32,       // blocks per multiprocessor
        111 => 1024,     // shared memory of the driver's own per block
        115 => 1,        // memory pools
        119 => 0,        // handle types of pools
        126 => 1,        // domains of memory order
        131 | 134 => -1, // no NUMA node
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::of_device;
    use crate::code::Code;

    #[test]
    fn every_attribute_has_an_answer_and_no_other_number_has() {
        assert!((1..=147).all(|number| of_device(number, 0).is_ok()));
        assert!(
            [0, 148, u32::MAX]
                .iter()
                .all(|number| of_device(*number, 0) == Err(Code::INVALID_VALUE))
        );
        assert_eq!((of_device(75, 0), of_device(33, 1)), (Ok(9), Ok(1)));
        // Textures have no extent.
        assert!((21..=29).all(|number| of_device(number, 0) == Ok(0)));
    }
}
