//! Choices that NVIDIA's documentation leaves open. The first alternative is the one that hardware
//! has shown. Both alternatives are tested.

use cuda_sim_control::{Settings, Simulator};
use driver_conformance::codes;
use driver_conformance::driver::{
    self, Code, Device, Event, HostBuffer, Mode, Outcome, Refusal, Span, Status, Stream,
};

use crate::support::{settings, start};

fn answers_of(simulator: Simulator, other_answers: bool) -> [Outcome<()>; 6] {
    assert!(simulator.reset(Settings { other_answers, ..settings(0) }));
    Device::open_hardware_or_simulator().unwrap();
    let (stream, other) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    stream.begin_capture(Mode::Relaxed).unwrap();
    let captured = Event::recorded(&stream).unwrap();
    stream.end_capture().unwrap();
    let ended = other.wait(&captured);
    stream.begin_capture(Mode::Relaxed).unwrap();
    let never = stream.wait(&Event::new().unwrap());
    let spoiled = if other_answers { Status::Invalidated } else { Status::Active };
    assert_eq!(stream.status().unwrap(), spoiled);
    drop(stream.end_capture());
    stream.begin_capture(Mode::Relaxed).unwrap();
    let filled = driver::fill_behind(&stream, Span::made_up(64), 1);
    let span = driver::allocate(64).unwrap();
    driver::fill_behind(&stream, span, 1).unwrap();
    let copied = driver::copy_behind(&stream, Span::made_up(64), span);
    assert_eq!(stream.status().unwrap(), Status::Active);
    let exec = stream.end_capture().unwrap().instantiate().unwrap();
    stream.begin_capture(Mode::Relaxed).unwrap();
    let launched = exec.launch(&stream);
    drop(stream.end_capture());
    simulator.assert_clean();
    [never, ended, HostBuffer::pinned(0).map(drop), filled, copied, launched]
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn each_doubtful_question_has_two_answers() {
    let simulator = start();
    let refused = |code: Code| Err(Refusal::Code(code));
    let invalid = codes::INVALID_VALUE;
    let [isolation, unsupported] = [codes::CAPTURE_ISOLATION, codes::CAPTURE_UNSUPPORTED];
    let seen = [Ok(()), refused(invalid), Ok(()), Ok(()), refused(invalid), refused(unsupported)];
    assert_eq!(answers_of(simulator, false), seen);
    let other = [refused(isolation), Ok(()), refused(invalid), refused(invalid), Ok(()), Ok(())];
    assert_eq!(answers_of(simulator, true), other);
}

/// Returns the number of edges in a captured graph. Its stream fills, waits for a branch that
/// started later, and fills again.
fn edges_behind_a_branch(simulator: Simulator, other_answers: bool) -> usize {
    assert!(simulator.reset(Settings { other_answers, ..settings(0) }));
    Device::open_hardware_or_simulator().unwrap();
    let (stream, branch) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let span = driver::allocate(64).unwrap();
    stream.begin_capture(Mode::Relaxed).unwrap();
    driver::fill_behind(&stream, span, 1).unwrap();
    branch.wait(&Event::recorded(&stream).unwrap()).unwrap();
    driver::fill_behind(&branch, span, 2).unwrap();
    stream.wait(&Event::recorded(&branch).unwrap()).unwrap();
    driver::fill_behind(&stream, span, 3).unwrap();
    let edges = stream.end_capture().unwrap().edges().unwrap().len();
    simulator.assert_clean();
    edges
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_wait_may_take_the_place_of_what_it_implies() {
    let simulator = start();
    let edges = [false, true].map(|other| edges_behind_a_branch(simulator, other));
    assert_eq!(edges, [3, 2]);
}
