//! Events that measure time. Pools query the time from such an event to itself, to find out whether
//! one of cudarc's guards has recorded the event. All other calls treat an event that was never
//! recorded as finished.

use driver_conformance::driver::{Event, Stream};
use driver_conformance::{Gate, ask, codes};

#[test]
#[ignore = "needs a CUDA device"]
fn the_time_of_an_event_tells_whether_it_was_recorded() {
    ask("the time from an event to itself", |_, answers| {
        let (stream, event) = (Stream::non_blocking()?, Event::timed()?);
        answers.documented("never recorded, as a query", event.query(), codes::SUCCESS);
        answers.documented("never recorded", event.elapsed(), codes::INVALID_HANDLE);
        let gate = Gate::closed();
        stream.hold(gate)?;
        event.record(&stream)?;
        answers.documented("recorded and pending", event.elapsed(), codes::NOT_READY);
        gate.open();
        stream.synchronize()?;
        answers.documented("done", event.elapsed(), codes::SUCCESS);
        let untimed = Event::recorded(&stream)?;
        answers.documented("without timing", untimed.elapsed(), codes::INVALID_HANDLE);
        Ok(())
    });
}
