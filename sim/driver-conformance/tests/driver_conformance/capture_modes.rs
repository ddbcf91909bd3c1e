//! Calls every class of function while a stream is capturing, in each mode, from the capturing
//! thread and from another thread. The calls are not captured; the question is which calls the
//! driver allows.

use std::thread;

use driver_conformance::driver::{
    self, Code, Device, Event, Exec, Graph, HostBuffer, MemoryPool, Mode, Outcome, Span, Status,
    Stream,
};
use driver_conformance::{Answer, Answers, Gate, Kernels, ask, codes};

use crate::support::completed_event;

/// The objects that the calls use. The calling thread creates them before the capture.
struct Prepared {
    other: Stream,
    /// A stream without work.
    idle: Stream,
    event: Event,
    memory: Span,
    ordered: Span,
    pinned: HostBuffer,
    pool: MemoryPool,
    /// The kernels, or the error that occurred while loading them. A driver without kernels is
    /// still tested with the other calls.
    kernels: Outcome<Kernels>,
    exec: Exec,
    /// A graph with a fill, and an executable graph of it that has not been launched.
    fill: Graph,
    filling: Exec,
}

impl Prepared {
    fn new(device: &Device) -> Outcome<Self> {
        let other = Stream::non_blocking()?;
        let ordered = other.allocate(4096)?;
        let kernels = Kernels::load();
        let memory = driver::allocate(4096)?;
        let exec = Graph::new()?.instantiate()?;
        let pool = MemoryPool::new(device, 0)?;
        let pinned = HostBuffer::pinned(4096)?;
        other.synchronize()?;
        let event = completed_event()?;
        let (idle, fill) = (Stream::non_blocking()?, Graph::new()?);
        fill.add_fill(device, memory, 1, &[])?;
        let filling = fill.instantiate()?;
        Ok(Self { other, idle, event, memory, ordered, pinned, pool, kernels, exec, fill, filling })
    }
}

/// The classes of calls, by how a strict capture treats them.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    /// Allowed in every mode.
    Harmless,
    /// Forbidden for the threads that the mode is strict with.
    Unsafe,
    /// Forbidden for all threads.
    Forbidden,
    /// Only noted. The call may be refused or allowed.
    Noted,
}

type Call = (&'static str, Class, fn(&Device, Prepared) -> Outcome<()>);

/// The calls that are tested. An H200 has shown their classes.
const CALLS: &[Call] = &[
    ("cuMemAlloc", Class::Unsafe, |_, _| driver::allocate(4096).map(drop)),
    ("cuMemFree", Class::Unsafe, |_, on| driver::free(on.memory)),
    ("cuMemHostAlloc", Class::Unsafe, |_, _| HostBuffer::pinned(4096).map(drop)),
    ("cuMemAllocAsync elsewhere", Class::Unsafe, |_, on| on.other.allocate(64).map(drop)),
    ("cuMemFreeAsync elsewhere", Class::Unsafe, |_, on| on.other.free(on.ordered)),
    ("cuMemGetInfo", Class::Harmless, |_, _| driver::memory_information().map(drop)),
    ("cuMemcpyHtoD", Class::Harmless, |_, on| driver::upload(on.memory, &[1; 64])),
    ("cuMemcpyDtoH", Class::Harmless, |_, on| driver::download(on.memory).map(drop)),
    ("cuMemcpyDtoD", Class::Harmless, |_, on| {
        driver::copy(on.memory.part(0, 64), on.memory.part(64, 64))
    }),
    ("cuMemsetD8", Class::Harmless, |_, on| driver::fill(on.memory, 1)),
    ("cuMemsetD8Async elsewhere", Class::Harmless, |_, on| {
        driver::fill_behind(&on.other, on.memory, 1)
    }),
    ("cuMemcpyHtoDAsync elsewhere, pinned", Class::Harmless, |_, on| {
        on.pinned.upload_behind(&on.other, on.memory)
    }),
    ("cuMemcpyHtoDAsync elsewhere, pageable", Class::Harmless, |_, on| {
        HostBuffer::pageable(64).upload_behind(&on.other, on.memory)
    }),
    ("cuLaunchKernel elsewhere", Class::Harmless, |_, on| {
        on.kernels
            .as_ref()
            .map_err(|refusal| *refusal)?
            .multiply_add
            .launch(&on.other, on.memory, 1, 0)
    }),
    ("cuGraphLaunch elsewhere", Class::Harmless, |_, on| on.exec.launch(&on.other)),
    ("cuStreamCreate", Class::Harmless, |_, _| Stream::non_blocking().map(drop)),
    ("cuStreamQuery elsewhere", Class::Unsafe, |_, on| on.other.query()),
    ("cuStreamSynchronize elsewhere", Class::Unsafe, |_, on| on.other.synchronize()),
    ("cuEventCreate", Class::Harmless, |_, _| Event::new().map(drop)),
    ("cuEventRecord elsewhere", Class::Harmless, |_, on| on.event.record(&on.other)),
    ("cuEventQuery of an outside event", Class::Unsafe, |_, on| on.event.query()),
    ("cuEventSynchronize of an outside event", Class::Unsafe, |_, on| on.event.synchronize()),
    ("cuCtxSynchronize", Class::Forbidden, |device, _| device.synchronize()),
    ("cuModuleLoadData", Class::Harmless, |_, _| Kernels::load_only().map(drop)),
    ("cuGraphInstantiate", Class::Unsafe, |_, _| Graph::new()?.instantiate().map(drop)),
    ("cuMemPoolCreate", Class::Unsafe, |device, _| MemoryPool::new(device, 0).map(drop)),
    ("cuMemPoolTrimTo", Class::Unsafe, |_, on| on.pool.trim_to(0)),
    ("cuDeviceGraphMemTrim", Class::Harmless, |device, _| device.trim_graph_memory()),
    ("cuMemcpyDtoHAsync elsewhere, pageable", Class::Noted, |_, on| {
        HostBuffer::pageable(64).download_behind(&on.other, on.memory)
    }),
    ("cuStreamWaitEvent elsewhere", Class::Noted, |_, on| on.other.wait(&on.event)),
    ("cuLaunchHostFunc elsewhere", Class::Noted, |_, on| {
        let gate = Gate::closed();
        gate.open();
        on.other.hold(gate)
    }),
    ("cuStreamDestroy elsewhere", Class::Noted, |_, on| on.idle.destroy()),
    ("cuEventDestroy", Class::Noted, |_, on| on.event.destroy()),
    ("cuMemPoolSetAttribute", Class::Noted, |_, on| on.pool.set_release_threshold(0)),
    ("cuMemPoolDestroy", Class::Noted, |_, on| on.pool.destroy()),
    ("cuGraphLaunch elsewhere, of a fill", Class::Noted, |_, on| on.filling.launch(&on.other)),
    ("cuGraphUpload elsewhere", Class::Noted, |_, on| on.filling.upload(&on.other)),
    ("cuGraphExecUpdate", Class::Noted, |_, on| on.filling.update(&on.fill).0),
    ("cuGraphExecDestroy", Class::Noted, |_, on| on.exec.destroy()),
    ("cuGraphDestroy", Class::Noted, |_, on| on.fill.destroy()),
];

/// The result of a single call.
struct Seen {
    answer: Answer,
    status: Answer,
}

/// Tests every call in its own capture.
fn every_call(device: &Device, answers: &mut Answers, mode: Mode, elsewhere: bool) -> Outcome<()> {
    let strict = match mode {
        Mode::Global => true,
        Mode::ThreadLocal => !elsewhere,
        Mode::Relaxed => false,
    };
    for call @ (name, class, _) in CALLS {
        let refused = *class == Class::Forbidden || (*class == Class::Unsafe && strict);
        let (code, status): (Code, _) = if refused {
            (codes::CAPTURE_UNSUPPORTED, Status::Invalidated)
        } else {
            (codes::SUCCESS, Status::Active)
        };
        let stream = Stream::non_blocking()?;
        let seen = if elsewhere {
            on_another_thread(device, &stream, mode, call)
        } else {
            let prepared = Prepared::new(device)?;
            stream.begin_capture(mode)?;
            look(device, &stream, prepared, call)
        };
        let _ = stream.end_capture();
        let after = format!("{name}, status after it");
        if *class == Class::Noted {
            answers.noted(name, seen.answer);
            answers.noted(&after, seen.status);
        } else {
            answers.seen(name, seen.answer, code);
            answers.seen(&after, seen.status, status);
        }
    }
    Ok(())
}

fn look(device: &Device, stream: &Stream, prepared: Prepared, call: &Call) -> Seen {
    let answer = call.2(device, prepared).into();
    let status = match stream.status() {
        Ok(status) => status.into(),
        refused @ Err(_) => refused.into(),
    };
    Seen { answer, status }
}

/// Begins the capture on this thread, and makes the call on the thread that created the call's
/// objects.
fn on_another_thread(device: &Device, stream: &Stream, mode: Mode, call: &Call) -> Seen {
    let (ready, wait_ready) = std::sync::mpsc::channel();
    let (go, wait_go) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let there = scope.spawn(move || {
            let prepared = device.bind().and_then(|()| Prepared::new(device));
            // The receiver only disappears if the other thread has failed, which is reported.
            let _ = ready.send(());
            let begun: Result<Outcome<()>, _> = wait_go.recv();
            match (prepared, begun) {
                (Ok(prepared), Ok(Ok(()))) => look(device, stream, prepared, call),
                (Err(refusal), _) | (_, Ok(Err(refusal))) => not_asked(&refusal.to_string()),
                (Ok(_), Err(_)) => not_asked("the capture was never begun"),
            }
        });
        let _ = wait_ready.recv();
        let _ = go.send(stream.begin_capture(mode));
        there.join().unwrap_or_else(|_| not_asked("a panic"))
    })
}

fn not_asked(why: &str) -> Seen {
    Seen { answer: format!("not asked: {why}").into(), status: "not asked".into() }
}

macro_rules! questions {
    ($($name:ident: $mode:ident, $elsewhere:literal, $topic:literal;)*) => {
        $(
            #[test]
            #[ignore = "needs a CUDA device"]
            fn $name() {
                ask($topic, |device, answers| every_call(device, answers, Mode::$mode, $elsewhere));
            }
        )*
    };
}

questions! {
    global_on_its_thread: Global, false, "global capture, calls of its thread";
    global_on_another_thread: Global, true, "global capture, calls of another thread";
    thread_local_on_its_thread: ThreadLocal, false, "thread-local capture, calls of its thread";
    thread_local_on_another_thread: ThreadLocal, true,
        "thread-local capture, calls of another thread";
    relaxed_on_its_thread: Relaxed, false, "relaxed capture, calls of its thread";
    relaxed_on_another_thread: Relaxed, true, "relaxed capture, calls of another thread";
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_relaxed_thread_in_a_strict_capture() {
    ask("global capture, calls of its thread made relaxed", |_, answers| {
        let stream = Stream::non_blocking()?;
        stream.begin_capture(Mode::Global)?;
        driver::exchange_thread_mode(Mode::Relaxed)?;
        answers.documented("cuMemAlloc", driver::allocate(4096), codes::SUCCESS);
        answers.documented("status after it", stream.status()?, Status::Active);
        answers.documented("nodes", stream.end_capture()?.nodes()?.len(), 0_usize);
        Ok(())
    });
}
