//! Events.

use super::foreign::Out;
use crate::code::{Code, unmodelled};

/// `CU_EVENT_INTERPROCESS`. The flag 1, `CU_EVENT_BLOCKING_SYNC`, only selects how the host waits.
const INTERPROCESS: u32 = 4;

/// `CU_EVENT_RECORD_EXTERNAL` and `CU_EVENT_WAIT_EXTERNAL`.
pub(super) const EXTERNAL: u32 = 1;

driver_calls! {
    fn cuEventCreate(place: Out<u64>, flags: u32) |session| {
        let thread = session.thread;
        match flags {
            0..=3 => {}
            INTERPROCESS..=7 => return Err(unmodelled("events of several processes")),
            _ => return Err(Code::INVALID_VALUE),
        }
        place.put(session.create_event(thread, flags)?)
    }

    fn cuEventDestroy_v2(event: u64) |session| { session.destroy_event(event) }

    fn cuEventRecord(event: u64, stream: u64) |session| {
        let thread = session.thread;
        session.record_event(thread, event, stream, 0)
    }

    fn cuEventRecordWithFlags(event: u64, stream: u64, flags: u32) |session| {
        let thread = session.thread;
        if flags > EXTERNAL {
            return Err(Code::INVALID_VALUE);
        }
        session.record_event(thread, event, stream, flags)
    }

    fn cuEventQuery(event: u64) |session| {
        let thread = session.thread;
        let goal = session.wait_for_event(thread, event)?;
        session.ask(goal)
    }

    fn cuEventSynchronize(event: u64) |session| {
        let thread = session.thread;
        let goal = session.wait_for_event(thread, event)?;
        session.reach(goal)
    }

    fn cuEventElapsedTime(place: Out<f32>, start: u64, end: u64) |session| {
        place.put(session.elapsed(start, end)?)
    }

    fn cuEventElapsedTime_v2(place: Out<f32>, start: u64, end: u64) |session| {
        place.put(session.elapsed(start, end)?)
    }
}
