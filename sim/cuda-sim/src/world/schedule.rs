//! The scheduler. Until a goal is reached, it runs the next work of a stream that the seed selects
//! among those that can run.

use super::World;
use super::state::kernel::KernelPlace;
use super::state::position::Position;
use super::state::schedule::{Goal, Step};
use super::state::stream::Body;
use super::state::work::Unit;
use crate::code::{Code, Outcome};

impl World {
    pub(crate) fn is_done(&self, position: Position) -> bool {
        self.streams[position.stream].completed >= position.number
    }

    pub(crate) fn is_reached(&self, goal: &Goal) -> bool {
        goal.positions.iter().all(|position| self.is_done(*position))
    }

    /// Records that the host has waited for the goal and knows that the work has finished.
    pub(crate) fn waited(&mut self, goal: &Goal) -> Outcome<()> {
        self.host_clock.join(&goal.clock);
        self.settle_pools();
        let broken =
            |position: &Position| self.devices[self.streams[position.stream].device].sticky;
        goal.positions.iter().find_map(broken).map_or(Ok(()), Err)
    }

    /// Returns the devices on which the work of a goal runs.
    pub(crate) fn devices_of(&self, goal: &Goal) -> Vec<usize> {
        goal.positions.iter().map(|position| self.streams[position.stream].device).collect()
    }

    /// Returns the number of operations that each stream must complete.
    fn needed(&self, goal: &Goal) -> Vec<u64> {
        let mut needed = vec![0; self.streams.len()];
        let mut open = goal.positions.clone();
        while let Some(position) = open.pop() {
            let already = needed[position.stream];
            if position.number <= already || self.is_done(position) {
                continue;
            }
            needed[position.stream] = position.number;
            let queue = &self.streams[position.stream].queue;
            let wanted = |number: u64| number > already && number <= position.number;
            for operation in queue.iter().filter(|operation| wanted(operation.number)) {
                open.extend(&operation.after);
            }
        }
        needed
    }

    /// Runs one unit of work from a stream that is selected at random among those that can run.
    ///
    /// Work that the goal does not need may also be selected, because no program may rely on such
    /// work not running. Host functions are only selected if the goal needs them, because they may
    /// wait for the caller.
    pub(crate) fn step(&mut self, goal: &mut Goal) -> Step {
        if self.is_reached(goal) {
            return Step::Done;
        }
        let needed = match goal.needed.take() {
            Some(needed) => needed,
            None => self.needed(goal),
        };
        let can_run = |stream: &usize| {
            let needed = needed.get(*stream).copied().unwrap_or(0);
            self.can_run(*stream, needed)
        };
        let ready: Vec<usize> = (0..self.streams.len()).filter(can_run).collect();
        goal.needed = Some(needed);
        if ready.is_empty() {
            return Step::Busy;
        }
        let stream = ready[self.random.below(ready.len())];
        self.run_one(stream)
    }

    fn can_run(&self, stream: usize, needed: u64) -> bool {
        let own = &self.streams[stream];
        let Some(operation) = own.queue.front().filter(|_| !own.busy) else { return false };
        let ready = operation.after.iter().all(|position| self.is_done(*position));
        let calls_host = match &operation.body {
            Body::Unit(unit) => matches!(unit, Unit::Host(_)),
            Body::Graph(run) => run.calls_host(),
        };
        ready && (!calls_host || operation.number <= needed)
    }

    fn run_one(&mut self, stream: usize) -> Step {
        let Some(mut operation) = self.streams[stream].queue.pop_front() else { return Step::Ran };
        let (number, what) = (operation.number, operation.what);
        let (unit, node) = match &mut operation.body {
            Body::Unit(unit) => (std::mem::replace(unit, Unit::Nothing), None),
            Body::Graph(run) => match run.draw(&mut self.random) {
                Some((node, unit)) => (unit, Some(node)),
                None => (Unit::Nothing, None),
            },
        };
        let name = node.map_or(String::new(), |node| format!(" node {node}"));
        let kernel = match &unit {
            Unit::Kernel(ready) => format!(" {}", ready.name()),
            _ => String::new(),
        };
        self.log.ran(format!("stream {stream} operation {number} {what}{kernel}{name}"));
        if let Unit::Kernel(ready) = &unit {
            let position = Position { stream, number };
            let place = KernelPlace { position, node, clock: operation.clock.clone() };
            let graph = match &mut operation.body {
                Body::Unit(_) => None,
                Body::Graph(run) => Some(run.as_mut()),
            };
            self.run_kernel(ready, place, graph);
        }
        let more = match &mut operation.body {
            Body::Unit(_) => false,
            Body::Graph(run) => {
                if let Some(node) = node {
                    run.finish(node);
                }
                !run.is_finished()
            }
        };
        if let Unit::Host(call) = unit {
            // The function may inform the rest of the program that all earlier work has finished.
            self.host_clock.join(&operation.clock);
            if more {
                self.streams[stream].queue.push_front(operation);
            }
            // Later work of the stream waits until the function has returned.
            self.streams[stream].busy = true;
            return Step::Call(stream, call);
        }
        if more {
            self.streams[stream].queue.push_front(operation);
        }
        self.run_unit(unit);
        if !more {
            self.streams[stream].completed = number;
        }
        Step::Ran
    }

    /// Returns `true` if a host function of this stream is running.
    pub(crate) fn is_in_host_function(&self, stream: usize) -> bool {
        self.streams[stream].busy
    }

    /// Records that a host function that `step` requested has returned.
    pub(crate) fn host_call_returned(&mut self, stream: usize) {
        let own = &mut self.streams[stream];
        own.busy = false;
        // All operations before the first queued one have finished.
        own.completed = own.queue.front().map_or(own.submitted, |next| next.number - 1);
    }

    /// Returns `Ok` if the goal has been reached. Otherwise runs one step, so a caller that polls
    /// makes progress.
    pub(crate) fn ask(&mut self, goal: &mut Goal) -> (Outcome<()>, Option<Step>) {
        if self.is_reached(goal) {
            return (self.waited(goal), None);
        }
        (Err(Code::NOT_READY), Some(self.step(goal)))
    }
}
