//! Random bodies, as trees of steps.

use fastrand::Rng;

use super::super::shrink;

/// The way in which a body's memory is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Policy {
    Monotone,
    /// A linear arena, on one stream.
    Linear,
    /// The plan of the same body's probe.
    Own,
    /// A plan in call order.
    CallOrder,
    /// The plan of the probe, except that one region is placed at the offset of another one.
    Moved,
    /// Arbitrary offsets.
    Anywhere,
}

/// The setup of one program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub(super) streams: usize,
    pub(super) policy: Policy,
    /// `true` to launch kernels. Loading their module takes longer than everything else.
    pub(super) launches: bool,
    /// `true` to forget guards. The process then keeps their streams forever.
    pub(super) forgets: bool,
    /// The seed for the offsets of the regions.
    pub(super) seed: u64,
}

/// The stream that uses device views.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    /// The stream of the view that is written.
    Itself,
    /// A stream of the session, through a cudarc call. In a dry run, no call is made.
    Cudarc(usize),
    /// A kernel on the stream of the innermost scope.
    Launch,
}

/// A step of a body. Its operands are picked from the existing objects. If there are none, the step
/// is left out.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Acquires a temporary, and may fill it.
    Take {
        on: usize,
        granules: usize,
        fills: bool,
    },
    Drop {
        which: usize,
    },
    /// Fills a temporary or a block. Either the test or the capture enqueues the fill.
    Fill {
        on: usize,
        which: usize,
        by_hand: bool,
    },
    Copy {
        on: usize,
        to: usize,
        from: usize,
    },
    Wait {
        later: usize,
        earlier: usize,
    },
    /// Lends a temporary or a block to device views for some steps. Afterwards it is returned, or
    /// the guard is forgotten.
    Lend {
        on: usize,
        which: usize,
        forgets: bool,
        steps: Vec<Step>,
    },
    Scope {
        on: usize,
        steps: Vec<Step>,
    },
    /// Acquires a view in the innermost scope.
    View {
        granules: usize,
    },
    FillView {
        which: usize,
        by: By,
    },
    CopyView {
        to: usize,
        from: usize,
        by: By,
    },
    /// Joins two streams with scopes or lent views, through a cudarc call.
    Join {
        later: usize,
        earlier: usize,
    },
}

impl Setup {
    pub(super) fn of(number: u64) -> Self {
        let mut random = Rng::with_seed(shrink::seed(number));
        let policy = match random.u32(..10) {
            0 | 1 => Policy::Monotone,
            2 => Policy::Linear,
            3 | 4 => Policy::Own,
            5 | 6 => Policy::CallOrder,
            7 | 8 => Policy::Moved,
            _ => Policy::Anywhere,
        };
        let streams = if policy == Policy::Linear { 1 } else { random.usize(1..=3) };
        let [launches, forgets] = [6, 8].map(|one_in| random.u32(..one_in) == 0);
        Self { streams, policy, launches, forgets, seed: random.u64(..) }
    }
}

impl Step {
    pub(super) fn all_of(number: u64) -> Vec<Self> {
        let mut random = Rng::with_seed(!shrink::seed(number));
        let streams = Setup::of(number).streams;
        (0..random.usize(6..40)).map(|_| Self::of_body(&mut random, streams, 0)).collect()
    }

    fn of_body(random: &mut Rng, streams: usize, depth: usize) -> Self {
        let (on, other) = (random.usize(..streams), random.usize(..streams));
        let [which, from] = [(); 2].map(|()| random.usize(..1000));
        match random.u32(..24) {
            0..=4 => Self::Take { on, granules: random.usize(1..4), fills: random.u32(..4) > 0 },
            5..=8 => Self::Drop { which },
            9..=11 => Self::Fill { on, which, by_hand: random.u32(..4) == 0 },
            12..=14 => Self::Copy { on, to: which, from },
            15..=16 => Self::Wait { later: on, earlier: other },
            17..=20 => {
                let steps = Self::within(random, streams, depth);
                Self::Lend { on, which, forgets: random.u32(..6) == 0, steps }
            }
            _ => Self::Scope { on, steps: Self::within(random, streams, depth) },
        }
    }

    fn within(random: &mut Rng, streams: usize, depth: usize) -> Vec<Self> {
        if depth >= 3 {
            return Vec::new();
        }
        (0..random.usize(..6)).map(|_| Self::of_guard(random, streams, depth + 1)).collect()
    }

    /// Draws a step that uses device views, or a step of the capture between such steps.
    fn of_guard(random: &mut Rng, streams: usize, depth: usize) -> Self {
        let [which, from] = [(); 2].map(|()| random.usize(..1000));
        let by = match random.u32(..6) {
            0 | 1 => By::Cudarc(random.usize(..streams)),
            2 => By::Launch,
            _ => By::Itself,
        };
        match random.u32(..12) {
            0..=2 => Self::View { granules: random.usize(1..4) },
            3..=5 => Self::FillView { which, by },
            6..=7 => Self::CopyView { to: which, from, by },
            8 => Self::Join { later: random.usize(..streams), earlier: random.usize(..streams) },
            _ => Self::of_body(random, streams, depth),
        }
    }
}
