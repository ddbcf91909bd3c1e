//! Destroys handles twice. This may crash, so each case is tested in a child process.
//!
//! NVIDIA documents the behaviour as undefined. The result is only recorded, and no code may rely
//! on it.

use driver_conformance::driver::{Event, Graph, Outcome, Stream};
use driver_conformance::{Answer, Fate, ask, in_a_child};

/// Runs the test in a child process, and only requires that the child can be started.
fn twice(topic: &str, test: &str, destroy: impl FnOnce() -> Outcome<Answer>) {
    ask(topic, |_, answers| {
        let fate = in_a_child(test, destroy);
        if let Fate::Lacks(call) = &fate {
            answers.skip(call);
            return Ok(());
        }
        let asked = !matches!(fate, Fate::NotStarted(_));
        answers.documented("a child was asked", asked, true);
        answers.noted("the second time", fate);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn event() {
    twice("an event destroyed twice", "double_destroy::event", || {
        let event = Event::new()?;
        // SAFETY: the process is a child that may crash.
        let again = unsafe { event.alias() };
        event.destroy()?;
        Ok(again.destroy().into())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn stream() {
    twice("a stream destroyed twice", "double_destroy::stream", || {
        let stream = Stream::non_blocking()?;
        // SAFETY: the process is a child that may crash.
        let again = unsafe { stream.alias() };
        stream.destroy()?;
        Ok(again.destroy().into())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn graph() {
    twice("a graph destroyed twice", "double_destroy::graph", || {
        let graph = Graph::new()?;
        // SAFETY: the process is a child that may crash.
        let again = unsafe { graph.alias() };
        graph.destroy()?;
        Ok(again.destroy().into())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn executable_graph() {
    twice("an executable graph destroyed twice", "double_destroy::executable_graph", || {
        let exec = Graph::new()?.instantiate()?;
        // SAFETY: the process is a child that may crash.
        let again = unsafe { exec.alias() };
        exec.destroy()?;
        Ok(again.destroy().into())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn use_of_a_destroyed_stream() {
    let test = "double_destroy::use_of_a_destroyed_stream";
    twice("a stream used after it was destroyed", test, || {
        let stream = Stream::non_blocking()?;
        // SAFETY: the process is a child that may crash.
        let again = unsafe { stream.alias() };
        stream.destroy()?;
        Ok(again.synchronize().into())
    });
}
