//! Random programs over several streams. A program can run with or without the waits that it needs.

use std::cell::Cell;

use driver_conformance::driver::{self, Event, Exec, HostBuffer, Mode, Outcome, Span, Stream};
use proptest::prelude::{Strategy, any, prop_oneof};

pub(crate) const STREAMS: usize = 4;
pub(crate) const BUFFERS: usize = 4;
const BYTES: usize = 256;

/// An action of a program. Streams and buffers are given by their numbers.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Fill {
        stream: usize,
        buffer: usize,
        value: u8,
    },
    Copy {
        stream: usize,
        to: usize,
        from: usize,
    },
    Upload {
        stream: usize,
        buffer: usize,
        value: u8,
    },
    Download {
        stream: usize,
        buffer: usize,
        pinned: bool,
    },
    Synchronize {
        stream: usize,
    },
    Query {
        stream: usize,
    },
    /// Allocates memory in stream order, fills it, copies it to a buffer, and frees it.
    Temporary {
        stream: usize,
        buffer: usize,
        value: u8,
    },
    /// Captures these actions on a stream and on a branch, then launches the graph.
    Graph {
        stream: usize,
        inside: Vec<(bool, Inside)>,
        launches: usize,
    },
}

/// An action inside a graph.
#[derive(Clone, Debug)]
pub(crate) enum Inside {
    Fill { buffer: usize, value: u8 },
    Copy { to: usize, from: usize },
}

/// The outcome of a program.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The contents of the buffers at the end.
    pub(crate) seen: Vec<Vec<u8>>,
    /// The contents that the buffers have if all actions run in program order.
    pub(crate) expected: Vec<Vec<u8>>,
}

pub(crate) fn program() -> impl Strategy<Value = Vec<Action>> {
    proptest::collection::vec(action(), 1..24)
}

fn action() -> impl Strategy<Value = Action> {
    let (stream, buffer) = (0..STREAMS, 0..BUFFERS);
    let inside = proptest::collection::vec((any::<bool>(), inside()), 1..8);
    let one = (stream.clone(), buffer.clone(), any::<u8>());
    prop_oneof![
        3 => one.clone().prop_map(|(stream, buffer, value)| Action::Fill { stream, buffer, value }),
        3 => (stream.clone(), buffer.clone(), buffer.clone())
            .prop_map(|(stream, to, from)| Action::Copy { stream, to, from }),
        1 => one.clone().prop_map(|(stream, buffer, value)| Action::Upload { stream, buffer, value }),
        1 => (stream.clone(), buffer, any::<bool>())
            .prop_map(|(stream, buffer, pinned)| Action::Download { stream, buffer, pinned }),
        1 => stream.clone().prop_map(|stream| Action::Synchronize { stream }),
        1 => stream.clone().prop_map(|stream| Action::Query { stream }),
        1 => one.prop_map(|(stream, buffer, value)| Action::Temporary { stream, buffer, value }),
        2 => (stream, inside, 1..3_usize)
            .prop_map(|(stream, inside, launches)| Action::Graph { stream, inside, launches }),
    ]
}

fn inside() -> impl Strategy<Value = Inside> {
    prop_oneof![
        (0..BUFFERS, any::<u8>()).prop_map(|(buffer, value)| Inside::Fill { buffer, value }),
        (0..BUFFERS, 0..BUFFERS).prop_map(|(to, from)| Inside::Copy { to, from }),
    ]
}

/// Which of the needed waits a program performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    All,
    None,
    /// All waits except the n-th, counted from 0.
    AllBut(usize),
}

/// The events after which a buffer may be read or written.
#[derive(Debug, Default)]
struct Use {
    written: Option<Event>,
    read: Vec<Event>,
}

/// A program that is being executed.
struct Run {
    streams: Vec<Stream>,
    buffers: Vec<Span>,
    uses: Vec<Use>,
    expected: Vec<Vec<u8>>,
    waits: Waits,
    /// The number of waits that were needed so far.
    needed: Cell<usize>,
}

/// Runs a program. If needed waits are left out, the contents may be arbitrary.
pub(crate) fn run(actions: &[Action], waits: Waits) -> Outcome<Ended> {
    let streams = [Stream::non_blocking()?, Stream::non_blocking()?, Stream::blocking()?];
    let mut buffers = Vec::new();
    for _ in 0..BUFFERS {
        let span = driver::allocate(BYTES)?;
        driver::fill(span, 0)?;
        buffers.push(span);
    }
    Stream::legacy().synchronize()?;
    let mut run = Run {
        streams: streams.into_iter().chain([Stream::per_thread()]).collect(),
        buffers,
        uses: (0..BUFFERS).map(|_| Use::default()).collect(),
        expected: vec![vec![0; BYTES]; BUFFERS],
        waits,
        needed: Cell::new(0),
    };
    for action in actions {
        run.act(action)?;
    }
    for stream in &run.streams {
        stream.synchronize()?;
    }
    let seen = run.buffers.iter().map(|span| driver::download(*span)).collect::<Outcome<_>>()?;
    for span in run.buffers {
        driver::free(span)?;
    }
    Ok(Ended { seen, expected: run.expected })
}

impl Use {
    fn before_read(&self, run: &Run, stream: &Stream) -> Outcome<()> {
        self.written.iter().try_for_each(|event| run.wait(stream, event))
    }

    fn before_write(&self, run: &Run, stream: &Stream) -> Outcome<()> {
        self.before_read(run, stream)?;
        self.read.iter().try_for_each(|event| run.wait(stream, event))
    }

    fn was_read(&mut self, stream: &Stream) -> Outcome<()> {
        self.read.push(Event::recorded(stream)?);
        Ok(())
    }

    fn was_written(&mut self, stream: &Stream) -> Outcome<()> {
        self.written = Some(Event::recorded(stream)?);
        self.read.clear();
        Ok(())
    }
}

impl Run {
    fn wait(&self, stream: &Stream, event: &Event) -> Outcome<()> {
        let number = self.needed.replace(self.needed.get() + 1);
        match self.waits {
            Waits::None => Ok(()),
            Waits::AllBut(left_out) if left_out == number => Ok(()),
            Waits::All | Waits::AllBut(_) => stream.wait(event),
        }
    }

    fn act(&mut self, action: &Action) -> Outcome<()> {
        match action {
            Action::Fill { stream, buffer, value } => {
                self.before_write(*stream, *buffer)?;
                driver::fill_behind(&self.streams[*stream], self.buffers[*buffer], *value)?;
                self.expected[*buffer].fill(*value);
                self.after_write(*stream, *buffer)
            }
            Action::Copy { stream, to, from } => self.copy(*stream, *to, *from),
            Action::Upload { stream, buffer, value } => {
                let host = HostBuffer::pinned(BYTES)?;
                host.fill(*value);
                self.before_write(*stream, *buffer)?;
                host.upload_behind(&self.streams[*stream], self.buffers[*buffer])?;
                self.expected[*buffer].fill(*value);
                self.after_write(*stream, *buffer)
            }
            Action::Download { stream, buffer, pinned } => self.download(*stream, *buffer, *pinned),
            Action::Synchronize { stream } => self.streams[*stream].synchronize(),
            Action::Query { stream } => {
                // The result `NOT_READY` is also accepted.
                let _ = self.streams[*stream].query();
                Ok(())
            }
            Action::Temporary { stream, buffer, value } => self.temporary(*stream, *buffer, *value),
            Action::Graph { stream, inside, launches } => self.graph(*stream, inside, *launches),
        }
    }

    fn copy(&mut self, stream: usize, to: usize, from: usize) -> Outcome<()> {
        if to == from {
            return Ok(());
        }
        self.before_write(stream, to)?;
        self.before_read(stream, from)?;
        driver::copy_behind(&self.streams[stream], self.buffers[to], self.buffers[from])?;
        self.expected[to] = self.expected[from].clone();
        self.uses[from].was_read(&self.streams[stream])?;
        self.after_write(stream, to)
    }

    fn download(&mut self, stream: usize, buffer: usize, pinned: bool) -> Outcome<()> {
        let host = if pinned { HostBuffer::pinned(BYTES)? } else { HostBuffer::pageable(BYTES) };
        self.before_read(stream, buffer)?;
        host.download_behind(&self.streams[stream], self.buffers[buffer])?;
        self.uses[buffer].was_read(&self.streams[stream])?;
        if pinned {
            self.streams[stream].synchronize()?;
        }
        assert!(self.waits != Waits::All || host.read() == self.expected[buffer]);
        Ok(())
    }

    fn temporary(&mut self, stream: usize, buffer: usize, value: u8) -> Outcome<()> {
        let on = &self.streams[stream];
        let span = on.allocate(BYTES)?;
        driver::fill_behind(on, span, value)?;
        self.before_write(stream, buffer)?;
        let on = &self.streams[stream];
        driver::copy_behind(on, self.buffers[buffer], span)?;
        on.free(span)?;
        self.expected[buffer].fill(value);
        self.after_write(stream, buffer)
    }

    fn graph(&mut self, stream: usize, inside: &[(bool, Inside)], launches: usize) -> Outcome<()> {
        let exec = self.capture(stream, inside)?;
        for _ in 0..launches {
            for buffer in 0..BUFFERS {
                self.before_write(stream, buffer)?;
            }
            exec.launch(&self.streams[stream])?;
            for (_, step) in inside {
                match *step {
                    Inside::Fill { buffer, value } => self.expected[buffer].fill(value),
                    Inside::Copy { to, from } => self.expected[to] = self.expected[from].clone(),
                }
            }
            for buffer in 0..BUFFERS {
                self.after_write(stream, buffer)?;
            }
        }
        exec.destroy()
    }

    /// Captures the steps on the stream and on one branch, which are ordered by events.
    fn capture(&self, stream: usize, inside: &[(bool, Inside)]) -> Outcome<Exec> {
        let (trunk, branch) = (&self.streams[stream], Stream::non_blocking()?);
        let mut uses: Vec<Use> = (0..BUFFERS).map(|_| Use::default()).collect();
        trunk.begin_capture(Mode::ThreadLocal)?;
        branch.wait(&Event::recorded(trunk)?)?;
        for (aside, step) in inside {
            let on = if *aside { &branch } else { trunk };
            let (to, from) = match step {
                Inside::Fill { buffer, .. } => (*buffer, None),
                Inside::Copy { to, from } => (*to, Some(*from)),
            };
            if from == Some(to) {
                continue;
            }
            uses[to].before_write(self, on)?;
            from.map_or(Ok(()), |from| uses[from].before_read(self, on))?;
            match step {
                Inside::Fill { value, .. } => driver::fill_behind(on, self.buffers[to], *value)?,
                Inside::Copy { from, .. } => {
                    driver::copy_behind(on, self.buffers[to], self.buffers[*from])?;
                }
            }
            from.map_or(Ok(()), |from| uses[from].was_read(on))?;
            uses[to].was_written(on)?;
        }
        trunk.wait(&Event::recorded(&branch)?)?;
        let graph = trunk.end_capture()?;
        let exec = graph.instantiate()?;
        graph.destroy()?;
        branch.destroy()?;
        Ok(exec)
    }

    fn before_write(&self, stream: usize, buffer: usize) -> Outcome<()> {
        self.uses[buffer].before_write(self, &self.streams[stream])
    }

    fn before_read(&self, stream: usize, buffer: usize) -> Outcome<()> {
        self.uses[buffer].before_read(self, &self.streams[stream])
    }

    fn after_write(&mut self, stream: usize, buffer: usize) -> Outcome<()> {
        self.uses[buffer].was_written(&self.streams[stream])
    }
}
