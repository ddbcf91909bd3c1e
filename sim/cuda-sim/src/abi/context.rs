//! The driver, devices and contexts.

use super::attributes;
use super::foreign::Out;
use crate::code::{Code, Outcome};
use crate::world::World;

const NAME: &[u8] = b"Simulated device\0";

/// `CUctx_flags`. The lower flags choose how the host waits and which dump it writes after a failure.
const SYNC_MEMOPS: u32 = 0x80;
const ALL_FLAGS: u32 = 0xFF;

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
        place.put(attributes::of_device(number, device)?)
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
        // The last holder ends the context, which waits for its work first.
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

    fn cuCtxPushCurrent_v2(context: u64) |session| {
        let thread = session.thread;
        session.push_context(thread, context)
    }

    fn cuCtxPopCurrent_v2(place: Out<u64>) |session| {
        let thread = session.thread;
        let context = session.pop_context(thread)?;
        place.put_if_wanted(context);
        Ok(())
    }

    fn cuDevicePrimaryCtxReset_v2(device: i32) |session| {
        let index = session.device(device)?;
        if session.is_retained(index) {
            let goal = session.end_of_device(index);
            session.reach(goal)?;
        }
        session.reset_context(device)
    }

    fn cuProfilerStart() |session| { session.current(session.thread).map(drop) }

    fn cuProfilerStop() |session| { session.current(session.thread).map(drop) }

    fn cuCtxGetDevice(place: Out<i32>) |session| {
        place.put(session.current_device(session.thread)?)
    }

    fn cuCtxSetFlags(flags: u32) |session| {
        let device = session.current(session.thread)?;
        if flags & !ALL_FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if flags & SYNC_MEMOPS != 0 {
            return Err(crate::code::unmodelled("contexts whose copies always wait (`CU_CTX_SYNC_MEMOPS`)"));
        }
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
