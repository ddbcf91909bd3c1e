//! Random programs with two graphs, as lists of steps. A program remains valid if steps are left
//! out.

use fastrand::Rng;

use crate::hand_made::Kind;
use crate::shrink;

/// The parameters that are constant during a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    /// `true` if there is no interference.
    pub(super) is_tame: bool,
    /// `true` if bodies forget guards and views.
    pub(super) forgets: bool,
    /// `true` if the first graph writes one block and also leases a second one, which the other
    /// graph reads.
    pub(super) is_apart: bool,
    pub(super) bodies: [Body; 2],
}

/// The parameters that are constant during a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    /// `true` if the body uses one stream, so that its arena may rewind.
    pub(super) is_single: bool,
    /// `true` if the body's memory is planned: after the last use of a view, another view may reuse
    /// its bytes.
    pub(super) is_planned: bool,
    /// The only block that the body uses, or `None` for all blocks. Another graph may use the other
    /// blocks.
    pub(super) keeps_to: Option<usize>,
    /// `true` if the body reads blocks but writes none.
    pub(super) reads: bool,
}

/// A step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    InBody {
        graph: usize,
        step: InBody,
    },
    Replay {
        graph: usize,
    },
    /// Updates with the same blocks, or with swapped blocks.
    Update {
        graph: usize,
        turned: bool,
    },
    /// Frees the memory of the interfering code.
    Leave,
}

/// A step of a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum InBody {
    Act(Act),
    Meddle(Meddling),
}

/// An action of the body itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Act {
    /// The index of the stream: the first or the second.
    pub(super) on: usize,
    pub(super) block: usize,
    pub(super) forgets: bool,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Acquire,
    Release,
    FillBlock,
    FillViews,
    CopyToView,
    CopyToBlock,
    CopyFromHost,
    Scopes,
    Lend,
    /// Waits for the other stream.
    Wait,
    /// A scope takes a block without using it.
    TakeInScope,
}

/// Interference by other code with a capture.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meddling {
    /// Ends regions in the arena through a second handle.
    EndRegions,
    EndCapture {
        stream: usize,
    },
    BeginCapture {
        stream: usize,
    },
    Join {
        stream: usize,
    },
    Put {
        stream: usize,
        kind: Kind,
    },
    /// Adds a node from another thread, at the next driver call of this name.
    PutBefore {
        call: &'static str,
        stream: usize,
        kind: Kind,
    },
}

impl Setup {
    pub(super) fn of(number: u64) -> Self {
        let mut random = Rng::with_seed(shrink::seed(number));
        let is_apart = random.u8(..3) == 0;
        let bodies = [0, 1].map(|graph| Body::random(&mut random, is_apart.then_some(graph)));
        let (is_tame, forgets) = (number & 1 == 0, number & 6 == 0);
        Self { is_tame, forgets, is_apart, bodies }
    }
}

impl Body {
    fn random(random: &mut Rng, apart: Option<usize>) -> Self {
        let (is_single, is_planned) = (random.u8(..3) == 0, random.bool());
        let keeps_to = random.bool().then(|| random.usize(..3));
        let keeps_to = apart.or(keeps_to);
        Self { is_single, is_planned, keeps_to, reads: apart == Some(1) }
    }
}

impl Step {
    /// Returns all steps of a program: two bodies, and the uses of their graphs.
    pub(super) fn all_of(number: u64) -> Vec<Self> {
        let mut random = Rng::with_seed(!shrink::seed(number));
        let setup = Setup::of(number);
        let mut steps = Vec::new();
        for (graph, body) in setup.bodies.iter().enumerate() {
            let of_body = |step| Self::InBody { graph, step };
            for _ in 0..random.usize(3..12) {
                if !setup.is_tame && random.u8(..3) == 0 {
                    let meddling = Meddling::random(&mut random, !body.is_planned);
                    steps.push(of_body(InBody::Meddle(meddling)));
                }
                steps.push(of_body(InBody::Act(Act::random(&mut random))));
            }
        }
        let replays = [0, 1].map(|graph| Self::Replay { graph });
        let updates = [0, 1].map(|graph| Self::Update { graph, turned: random.bool() });
        steps.extend(replays.into_iter().chain(updates).chain(replays));
        steps.extend([Self::Leave].into_iter().chain(replays));
        steps
    }
}

impl Act {
    fn random(random: &mut Rng) -> Self {
        let (on, block, forgets) = (random.usize(..2), random.usize(..3), random.bool());
        let what = match random.u8(..12) {
            0 | 1 => What::Acquire,
            2 => What::Release,
            3 => What::FillBlock,
            4 => What::FillViews,
            5 => What::CopyToView,
            6 => What::CopyToBlock,
            7 => What::CopyFromHost,
            8 => What::Scopes,
            9 => What::Lend,
            10 => What::Wait,
            _ => What::TakeInScope,
        };
        Self { on, block, forgets, what }
    }
}

impl Meddling {
    fn random(random: &mut Rng, may_end_regions: bool) -> Self {
        // Kernels are excluded, because they cannot be distinguished from a scope's kernels.
        let kinds = [Kind::Fill, Kind::Copy, Kind::Host, Kind::Record, Kind::ChildGraph];
        let calls = ["cuMemsetD8Async", "cuMemcpyDtoDAsync_v2", "cuStreamWaitEvent"];
        let (stream, kind) = (random.usize(..2), kinds[random.usize(..kinds.len())]);
        let call = calls[random.usize(..calls.len())];
        if may_end_regions && random.bool() {
            return Self::EndRegions;
        }
        match random.usize(..6) {
            0 => Self::EndCapture { stream },
            1 => Self::BeginCapture { stream },
            2 => Self::Join { stream },
            3 => Self::Put { stream, kind },
            _ => Self::PutBefore { call, stream, kind },
        }
    }
}
