//! Streams and captures.

use super::event::EXTERNAL;
use super::foreign::{In, Out};
use super::sys;
use crate::code::{Code, Outcome};
use crate::world::{HostCall, Mode, Order};

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;

/// `CU_STREAM_ADD_CAPTURE_DEPENDENCIES` and `CU_STREAM_SET_CAPTURE_DEPENDENCIES`.
const ADD_DEPENDENCIES: u32 = 0;
const SET_DEPENDENCIES: u32 = 1;

fn order(flags: u32) -> Outcome<Order> {
    match flags {
        0 => Ok(Order::Blocking),
        NON_BLOCKING => Ok(Order::NonBlocking),
        _ => Err(Code::INVALID_VALUE),
    }
}

driver_calls! {
    fn cuStreamCreate(place: Out<u64>, flags: u32) |session| {
        let thread = session.thread;
        place.put(session.create_stream(thread, order(flags)?, 0)?)
    }

    fn cuStreamCreateWithPriority(place: Out<u64>, flags: u32, priority: i32) |session| {
        let thread = session.thread;
        place.put(session.create_stream(thread, order(flags)?, priority)?)
    }

    fn cuStreamDestroy_v2(stream: u64) |session| {
        let thread = session.thread;
        session.destroy_stream(thread, stream)
    }

    fn cuStreamSynchronize(stream: u64) |session| {
        let thread = session.thread;
        let goal = session.wait_for_stream(thread, stream)?;
        session.reach(goal)
    }

    fn cuStreamQuery(stream: u64) |session| {
        let thread = session.thread;
        let goal = session.wait_for_stream(thread, stream)?;
        session.ask(goal)
    }

    fn cuStreamWaitEvent(stream: u64, event: u64, flags: u32) |session| {
        let thread = session.thread;
        if flags > EXTERNAL {
            return Err(Code::INVALID_VALUE);
        }
        session.wait_event(thread, stream, event, flags)
    }

    fn cuStreamGetFlags(stream: u64, place: Out<u32>) |session| {
        let thread = session.thread;
        let (order, _, _) = session.stream_facts(thread, stream)?;
        place.put(u32::from(order == Order::NonBlocking))
    }

    fn cuStreamGetPriority(stream: u64, place: Out<i32>) |session| {
        let thread = session.thread;
        place.put(session.stream_facts(thread, stream)?.1)
    }

    fn cuStreamGetCtx(stream: u64, place: Out<u64>) |session| {
        let thread = session.thread;
        place.put(session.stream_facts(thread, stream)?.2)
    }

    fn cuLaunchHostFunc(stream: u64, function: u64, data: u64) |session| {
        let thread = session.thread;
        session.launch_host_function(thread, stream, HostCall::of(function, data))
    }

    fn cuStreamAddCallback(stream: u64, function: u64, data: u64, flags: u32) |session| {
        let thread = session.thread;
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let call = HostCall { stream: Some(stream), ..HostCall::of(function, data) };
        session.add_callback(thread, stream, call)
    }

    fn cuStreamBeginCapture_v2(stream: u64, mode: u32) |session| {
        let thread = session.thread;
        session.begin_capture(thread, stream, Mode::from_number(mode)?)
    }

    fn cuStreamEndCapture(stream: u64, place: Out<u64>) |session| {
        let thread = session.thread;
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let ended = session.end_capture(thread, stream);
        // An invalidated capture returns no graph.
        place.put(*ended.as_ref().unwrap_or(&0))?;
        ended.map(drop)
    }

    fn cuStreamIsCapturing(stream: u64, place: Out<u32>) |session| {
        let thread = session.thread;
        place.put(session.capture_status(thread, stream)? as u32)
    }

    fn cuStreamGetCaptureInfo_v2(
        stream: u64,
        status: Out<u32>,
        number: Out<u64>,
        graph: Out<u64>,
        nodes: Out<*const u64>,
        count: Out<usize>,
    ) |session| {
        let thread = session.thread;
        let (state, id, captured) = session.capture_facts(thread, stream)?;
        let (tail, _) = session.show_tail(thread, stream)?;
        status.put(state as u32)?;
        number.put_if_wanted(id);
        graph.put_if_wanted(captured);
        count.put_if_wanted(tail.len());
        nodes.put_if_wanted(tail.as_ptr());
        Ok(())
    }

    fn cuStreamGetCaptureInfo_v3(
        stream: u64,
        status: Out<u32>,
        number: Out<u64>,
        graph: Out<u64>,
        nodes: Out<*const u64>,
        edges: Out<*const u64>,
        count: Out<usize>,
    ) |session| {
        let thread = session.thread;
        let (state, id, captured) = session.capture_facts(thread, stream)?;
        // As CUDA documents, the arrays are valid until the next call on this stream.
        let (tail, plain) = session.show_tail(thread, stream)?;
        status.put(state as u32)?;
        number.put_if_wanted(id);
        graph.put_if_wanted(captured);
        count.put_if_wanted(tail.len());
        nodes.put_if_wanted(tail.as_ptr());
        edges.put_if_wanted(plain.as_ptr());
        Ok(())
    }

    fn cuStreamUpdateCaptureDependencies_v2(
        stream: u64,
        nodes: In<u64>,
        data: In<sys::CUgraphEdgeData>,
        count: usize,
        flags: u32,
    ) |session| {
        let thread = session.thread;
        let nodes = nodes.array(count)?;
        let data = if data.is_null() { Vec::new() } else { data.array(count)? };
        if data.iter().any(|data| (data.from_port, data.to_port, data.type_) != (0, 0, 0)) {
            return Err(crate::code::unmodelled("cuStreamUpdateCaptureDependencies with edge data"));
        }
        let replace = match flags {
            ADD_DEPENDENCIES => false,
            SET_DEPENDENCIES => true,
            _ => return Err(Code::INVALID_VALUE),
        };
        session.update_tail(thread, stream, &nodes, replace)
    }

    fn cuThreadExchangeStreamCaptureMode(place: Out<u32>) |session| {
        let thread = session.thread;
        let mode = Mode::from_number(place.get()?)?;
        place.put(session.exchange_mode(thread, mode) as u32)
    }
}
