//! Random programs of two graphs, as lists of steps: what is left of one after steps were left out is a program, too.

use fastrand::Rng;

use crate::hand_made::Kind;
use crate::shrink;

/// What is the same for all of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    /// Whether nobody meddles.
    pub(super) is_tame: bool,
    /// Whether bodies forget guards and views.
    pub(super) forgets: bool,
    /// Whether the first graph writes a block and has a second one, which the other graph reads.
    pub(super) is_apart: bool,
    pub(super) bodies: [Body; 2],
}

/// What is the same for all of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    /// Whether it keeps to one stream, so that its arena may rewind.
    pub(super) is_single: bool,
    /// Whether its memory is planned: where no use of a view comes any more, another one has its bytes.
    pub(super) is_planned: bool,
    /// The one block that it uses, where it does not use all of them: another graph may have the others.
    pub(super) keeps_to: Option<usize>,
    /// Whether it reads blocks, and writes none.
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
    /// With the same blocks, or in turned places.
    Update {
        graph: usize,
        turned: bool,
    },
    /// The memory of those who meddled goes.
    Leave,
}

/// A step of a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum InBody {
    Act(Act),
    Meddle(Meddling),
}

/// What a body does itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Act {
    /// On the first stream or the second.
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
    /// For the other stream.
    Wait,
    /// A scope takes a block and does nothing with it.
    TakeInScope,
}

/// What is done to a capture by others.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meddling {
    /// What others have in the arena is ended, by a handle of its own.
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
    /// By another thread, when the driver is called next.
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
    /// All steps of a program: two bodies, and what is done with their graphs.
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
        // Not kernels: nothing tells those of a scope from others.
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
