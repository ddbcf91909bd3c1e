//! The driver, devices and contexts.

use super::foreign::Out;
use crate::world::{Code, Outcome, World};

const NAME: &[u8] = b"Simulated device\0";

/// Attributes of a device, by their numbers in CUDA. Those that are not here are not known: a
/// program that decides by one of them should not be told a number that nobody thought about.
fn attribute(number: u32) -> Outcome<i32> {
    Ok(match number {
        1 => 1024,     // threads per block
        2 | 3 => 1024, // block dimensions
        4 => 64,
        5 => i32::MAX, // grid dimensions
        6 | 7 => 65_535,
        8 => 49_152,  // shared memory per block
        10 => 32,     // warp size
        12 => 65_536, // registers per block
        16 => 8,      // multiprocessors
        20 => 0,      // compute mode: default
        31 => 1,      // concurrent kernels
        39 => 2048,   // threads per multiprocessor
        40 => 2,      // copy engines
        41 => 1,      // unified addressing
        75 => 9,      // compute capability
        76 => 0,
        78 => 1,       // stream priorities
        81 => 233_472, // shared memory per multiprocessor
        82 => 65_536,  // registers per multiprocessor
        83 => 0,       // managed memory
        95 => 0,       // cooperative launch
        97 => 232_448, // shared memory per block at most
        102 => 1,      // virtual memory management
        115 => 1,      // memory pools
        119 => 0,      // handle types of pools
        _ => return Err(Code::INVALID_VALUE),
    })
}

fn ordinal(world: &World, device: i32) -> Outcome<i32> {
    world.device(device).map(|_| device)
}

driver_calls! {
    fn cuInit(flags: u32) |session| {
        if flags != 0 || super::environment::is_refused() {
            return Err(Code::INVALID_VALUE);
        }
        session.initialize();
        Ok(())
    }

    fn cuDriverGetVersion(place: Out<i32>) |session| { place.put(session.driver_version) }

    fn cuDeviceGetCount(place: Out<i32>) |session| {
        place.put(i32::try_from(session.device_count()?).unwrap_or(i32::MAX))
    }

    fn cuDeviceGet(place: Out<i32>, number: i32) |session| { place.put(ordinal(session, number)?) }

    fn cuDeviceGetAttribute(place: Out<i32>, number: u32, device: i32) |session| {
        session.device(device)?;
        place.put(attribute(number)?)
    }

    fn cuDeviceGetName(place: Out<u8>, length: i32, device: i32) |session| {
        session.device(device)?;
        let length = usize::try_from(length).map_err(|_| Code::INVALID_VALUE)?;
        let (Some(kept), true) = (length.checked_sub(1), !place.is_null()) else {
            return Err(Code::INVALID_VALUE);
        };
        let text = NAME.iter().take(kept.min(NAME.len())).chain([&0]);
        for (index, byte) in text.enumerate().take(length) {
            place.put_at(index, *byte)?;
        }
        Ok(())
    }

    fn cuDeviceGetUuid_v2(place: Out<[u8; 16]>, device: i32) |session| {
        let mut uuid = *b"simulated-gpu-00";
        uuid[15] += u8::try_from(session.device(device)?).unwrap_or_default();
        place.put(uuid)
    }

    fn cuDeviceTotalMem_v2(place: Out<usize>, device: i32) |session| {
        let device = session.device(device)?;
        place.put(session.total_bytes(device))
    }

    fn cuDevicePrimaryCtxRetain(place: Out<u64>, device: i32) |session| {
        place.put(session.retain(device)?)
    }

    fn cuDevicePrimaryCtxRelease_v2(device: i32) |session| {
        let index = session.device(device)?;
        // The context ends with its last holder, and waits for its work first.
        if session.has_one_holder(index) {
            let goal = session.end_of_device(index);
            session.reach(goal)?;
        }
        session.release(device)
    }

    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) |session| {
        let device = session.device(device)?;
        flags.put(*session.context_flags(device))?;
        active.put(i32::from(session.is_retained(device)))
    }

    fn cuCtxGetCurrent(place: Out<u64>) |session| {
        place.put(session.current_context(session.thread)?)
    }

    fn cuCtxSetCurrent(context: u64) |session| {
        let thread = session.thread;
        session.set_current(thread, context)
    }

    fn cuCtxGetDevice(place: Out<i32>) |session| {
        place.put(session.current_device(session.thread)?)
    }

    fn cuCtxSetFlags(flags: u32) |session| {
        let device = session.current(session.thread)?;
        *session.context_flags(device) = flags;
        Ok(())
    }

    fn cuCtxSynchronize() |session| {
        let thread = session.thread;
        let goal = session.wait_for_context(thread)?;
        session.reach(goal)
    }

    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) |session| {
        session.current(session.thread)?;
        least.put_if_wanted(0);
        greatest.put_if_wanted(-5);
        Ok(())
    }
}
