//! Events that are used both inside and outside a capture.

use driver_conformance::driver::{Event, Kind, Mode, Node, Outcome, Status, Stream};
use driver_conformance::{Answers, Gate, ask, codes};

use crate::support::{Pending, completed_event};

/// Waits for an event from outside the capture, and then checks the capture.
fn wait_on_outside_event(event: &Event, answers: &mut Answers) -> Outcome<()> {
    let stream = Stream::non_blocking()?;
    stream.begin_capture(Mode::Relaxed)?;
    answers.seen("cuStreamWaitEvent", stream.wait(event), codes::CAPTURE_ISOLATION);
    answers.seen("status after it", stream.status()?, Status::Invalidated);
    let next = stream.hold(Gate::closed());
    answers.seen("next operation", next, codes::CAPTURE_INVALIDATED);
    answers.seen("cuStreamEndCapture", stream.end_capture(), codes::CAPTURE_INVALIDATED);
    answers.documented("status at the end", stream.status()?, Status::None);
    answers.documented("the stream afterwards", stream.synchronize(), codes::SUCCESS);
    Ok(())
}

#[test]
#[ignore = "needs a CUDA device"]
fn wait_on_a_completed_outside_event() {
    ask("capture waits on a completed outside event", |_, answers| {
        wait_on_outside_event(&completed_event()?, answers)
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn wait_on_a_pending_outside_event() {
    ask("capture waits on a pending outside event", |_, answers| {
        let pending = Pending::new()?;
        wait_on_outside_event(&pending.event, answers)?;
        pending.finish()
    });
}

/// The wait has no effect and the capture continues, as outside a capture. The alternative is that
/// the wait is refused like a wait for an outside event. Pools and captures record an event right
/// before each wait for it, and do not wait if the record fails. They are correct in both cases.
#[test]
#[ignore = "needs a CUDA device"]
fn wait_on_a_never_recorded_event() {
    ask("capture waits on a never recorded event", |_, answers| {
        let stream = Stream::non_blocking()?;
        let event = Event::new()?;
        answers.documented("outside a capture", stream.wait(&event), codes::SUCCESS);
        stream.begin_capture(Mode::Relaxed)?;
        answers.seen("inside one", stream.wait(&event), codes::SUCCESS);
        answers.seen("status after it", stream.status()?, Status::Active);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn wait_on_an_outside_event_as_external() {
    ask("capture waits on an outside event as external", |_, answers| {
        let stream = Stream::non_blocking()?;
        let event = completed_event()?;
        stream.begin_capture(Mode::Relaxed)?;
        answers.documented("cuStreamWaitEvent", stream.wait_external(&event), codes::SUCCESS);
        let graph = stream.end_capture()?;
        let kinds = graph.nodes()?.iter().map(Node::kind).collect::<Outcome<Vec<Kind>>>()?;
        answers.documented("nodes", kinds, vec![Kind::Wait]);
        let exec = graph.instantiate()?;
        answers.documented("launch", exec.launch(&stream), codes::SUCCESS);
        answers.documented("and wait", stream.synchronize(), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn query_of_a_captured_event() {
    ask("query of an event recorded in a capture", |_, answers| {
        let stream = Stream::non_blocking()?;
        let event = Event::new()?;
        stream.begin_capture(Mode::Relaxed)?;
        answers.documented("cuEventRecord", event.record(&stream), codes::SUCCESS);
        answers.seen("cuEventQuery", event.query(), codes::CAPTURED_EVENT);
        answers.seen("status after it", stream.status()?, Status::Invalidated);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn synchronize_on_a_captured_event() {
    ask("waiting on the host for an event recorded in a capture", |_, answers| {
        let stream = Stream::non_blocking()?;
        stream.begin_capture(Mode::Relaxed)?;
        let event = Event::recorded(&stream)?;
        answers.seen("cuEventSynchronize", event.synchronize(), codes::CAPTURED_EVENT);
        answers.seen("status after it", stream.status()?, Status::Invalidated);
        Ok(())
    });
}

/// The end of the capture makes the event invalid until it is recorded again. The alternative is
/// that the wait has no effect, because the captured work has not run. Pools keep an event between
/// captures and record it again before each wait, so none of their streams depends on this. A query
/// shows that another thread's capture contains a staged copy: it returns 907 while the capture
/// lasts, and 1 afterwards.
#[test]
#[ignore = "needs a CUDA device"]
fn a_captured_event_after_its_capture() {
    ask("an event recorded in a capture, after its end", |_, answers| {
        let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
        stream.begin_capture(Mode::Relaxed)?;
        let event = Event::recorded(&stream)?;
        stream.end_capture()?;
        let invalid = codes::INVALID_VALUE;
        answers.seen("cuEventQuery", event.query(), invalid);
        answers.assumed("cuEventSynchronize", event.synchronize(), invalid);
        answers.seen("cuStreamWaitEvent", other.wait(&event), invalid);
        stream.begin_capture(Mode::Relaxed)?;
        answers.noted("cuStreamWaitEvent in another capture", stream.wait(&event));
        answers.noted("status after it", stream.status()?);
        drop(stream.end_capture());
        answers.documented("recorded anew", event.record(&stream), codes::SUCCESS);
        answers.documented("and waited for", other.wait(&event), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn fork_and_join() {
    ask("fork and join by events", |_, answers| {
        let (stream, branch) = (Stream::non_blocking()?, Stream::non_blocking()?);
        stream.begin_capture(Mode::Relaxed)?;
        branch.wait(&Event::recorded(&stream)?)?;
        answers.documented("the branch", branch.status()?, Status::Active);
        branch.hold(Gate::closed())?;
        stream.wait(&Event::recorded(&branch)?)?;
        answers.documented("end of a joined capture", stream.end_capture(), codes::SUCCESS);
        answers.documented("the branch afterwards", branch.status()?, Status::None);
        Ok(())
    });
}

/// A capture finds the last nodes of its streams with a separate stream. That stream waits for each
/// of them, reads its own dependencies, and then drops them.
#[test]
#[ignore = "needs a CUDA device"]
fn a_branch_that_looks_on() {
    ask("a branch that looks on and depends on nothing", |_, answers| {
        let (stream, branch) = (Stream::non_blocking()?, Stream::non_blocking()?);
        stream.begin_capture(Mode::ThreadLocal)?;
        branch.wait(&Event::recorded(&stream)?)?;
        answers.seen("behind an empty capture", branch.dependencies()?, 0_usize);
        for _ in 0..2 {
            stream.hold(Gate::closed())?;
            branch.wait(&Event::recorded(&stream)?)?;
            // These three answers are required. If any of them differs, every capture of a session
            // fails with `CaptureError::Driver`.
            answers.documented("behind one node", branch.dependencies()?, 1_usize);
            answers.seen("set behind none", branch.depend_on_nothing(), codes::SUCCESS);
            answers.seen("behind none", branch.dependencies()?, 0_usize);
        }
        answers.documented("the branch", branch.status()?, Status::Active);
        answers.seen("end without joining it", stream.end_capture(), codes::SUCCESS);
        answers.documented("the branch afterwards", branch.status()?, Status::None);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn end_with_a_branch_not_joined() {
    ask("end of a capture with a branch not joined", |_, answers| {
        let (stream, branch) = (Stream::non_blocking()?, Stream::non_blocking()?);
        stream.begin_capture(Mode::Relaxed)?;
        branch.wait(&Event::recorded(&stream)?)?;
        branch.hold(Gate::closed())?;
        answers.documented("cuStreamEndCapture", stream.end_capture(), codes::CAPTURE_UNJOINED);
        answers.seen("the stream", stream.status()?, Status::None);
        answers.seen("the branch", branch.status()?, Status::None);
        Ok(())
    });
}
