//! The size of the memory that a graph's temporaries require, and a plan for this memory. The
//! footprint and the plan are computed before any device memory is allocated.

use std::fmt;

#[cfg(feature = "record")]
use pool_plan::GraphRecord;
use pool_plan::{Edge, GraphBuffer, HappensBeforeProblem, Options};

use super::body::{BodyRecord, Model, Region, Trace};
use super::error::CaptureError;
use super::ladder::{MemberPlan, plan_all};
#[cfg(feature = "record")]
use super::record;
use crate::arena::{ArenaPlan, ArenaPolicy, Divergence};
use crate::base::bytes::Bytes;
use crate::base::request::GRANULE;

/// Sizes in bytes that describe the memory requirements of a graph's temporaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// The total size of all temporaries in bytes. An arena that never reuses bytes needs at least
    /// this capacity.
    pub sum: u64,
    /// The number of bytes from the start of the arena to the end of the highest temporary.
    pub peak: u64,
    /// A lower bound on the peak of any layout. Temporaries of this total size can all be in use at
    /// the same time.
    pub lower_bound: u64,
}

impl Footprint {
    /// Returns the peak divided by the lower bound. If the result is 1, the plan is provably
    /// optimal.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "ratios are for people")]
    pub fn ratio(&self) -> f64 {
        if self.peak == self.lower_bound {
            return 1.0;
        }
        self.peak as f64 / self.lower_bound as f64
    }
}

impl fmt::Display for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of temporaries in {} ({:.3} of the lower bound, {})",
            Bytes(self.sum),
            Bytes(self.peak),
            self.ratio(),
            Bytes(self.lower_bound)
        )
    }
}

/// The result of a body's dry run, including a plan for the body's memory. A probe contains the
/// size of the memory that the body requires, and the planned offset of each temporary.
///
/// [`CaptureSession::probe`](crate::CaptureSession::probe) creates a probe without calling the
/// driver or allocating device memory. A capture created [from a
/// probe](crate::CaptureSession::planned) follows the probe's plan.
#[derive(Clone, Debug)]
pub struct Probe {
    footprint: Footprint,
    /// The size in bytes of an arena that is large enough for every member of the probe's ladder.
    /// If the probe does not belong to a ladder, this field contains the size of the probe's own
    /// plan.
    ladder_bytes: u64,
    /// The offset of each temporary, or `None` if the body allocates no temporaries.
    plan: Option<ArenaPlan>,
    trace: Trace,
    divergence: Divergence,
    #[cfg(feature = "record")]
    record: Option<GraphRecord>,
}

impl Probe {
    pub(super) fn new(
        model: &Model,
        regions: &[Region],
        trace: Trace,
        options: &Options,
    ) -> Result<Self, CaptureError> {
        let planned = match problem(model, regions)? {
            Some(problem) => {
                let plan = problem.solve(options)?;
                let (peak, bound) = (plan.certificate.peak, plan.certificate.bound);
                Some((problem, MemberPlan { offsets: plan.offsets, peak, bound }))
            }
            None => None,
        };
        Self::of_plan(model, regions, trace, planned)
    }

    /// Plans all members of a ladder together. Each member's arena size is sufficient for the whole
    /// ladder.
    pub(super) fn ladder(
        members: Vec<BodyRecord>,
        options: &Options,
    ) -> Result<Vec<Self>, CaptureError> {
        let problem = |member: &BodyRecord| problem(&member.model, &member.regions);
        let problems = members.iter().map(problem).collect::<Result<Vec<_>, _>>()?;
        let own: Vec<HappensBeforeProblem> = problems.iter().flatten().cloned().collect();
        let mut plans = plan_all(&own, options)?.into_iter();
        let planned = |(member, problem): (BodyRecord, Option<HappensBeforeProblem>)| {
            let planned = problem.and_then(|problem| Some((problem, plans.next()?)));
            Self::of_plan(&member.model, &member.regions, member.trace, planned)
        };
        let mut probes =
            members.into_iter().zip(problems).map(planned).collect::<Result<Vec<_>, _>>()?;
        let most = probes.iter().map(Self::plan_bytes).max().unwrap_or(0);
        probes.iter_mut().for_each(|probe| probe.ladder_bytes = most);
        Ok(probes)
    }

    fn of_plan(
        model: &Model,
        regions: &[Region],
        trace: Trace,
        planned: Option<(HappensBeforeProblem, MemberPlan)>,
    ) -> Result<Self, CaptureError> {
        #[cfg(not(feature = "record"))]
        let _ = model;
        let divergence = Divergence::default();
        let Some((problem, MemberPlan { offsets, peak, bound })) = planned else {
            return Ok(Self {
                footprint: Footprint::default(),
                ladder_bytes: 0,
                plan: None,
                trace,
                divergence,
                #[cfg(feature = "record")]
                record: None,
            });
        };
        let footprint = Footprint { sum: sum(regions), peak, lower_bound: bound };
        let plan = Some(ArenaPlan::of_offsets(&problem, &offsets)?);
        #[cfg(feature = "record")]
        let record = {
            let record = record::of(&problem, model, regions, footprint.peak)?;
            Some(record::with_offsets(&record, &offsets))
        };
        Ok(Self {
            footprint,
            ladder_bytes: peak,
            plan,
            trace,
            divergence,
            #[cfg(feature = "record")]
            record,
        })
    }

    /// Returns the memory requirements of the body's temporaries.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        self.footprint
    }

    /// Returns the record of the body's temporaries, in a form that can be written to a file for
    /// `pool-plan`. The record contains the order of the temporaries, their plan, and the calls
    /// that allocated them. Returns `None` if the body allocates no temporaries.
    ///
    /// The record does not include leased blocks, because they are not part of the plan.
    ///
    /// ```no_run
    /// # fn f(probe: &pool_graph::Probe) -> std::io::Result<()> {
    /// if let Some(record) = probe.record() {
    ///     // pool-plan replay capture.json
    ///     record.write_to(std::fs::File::create("capture.json")?)?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "record")]
    #[must_use]
    pub fn record(&self) -> Option<GraphRecord> {
        self.record.clone()
    }

    /// Returns the number of temporaries that the body allocates.
    #[must_use]
    pub fn temporaries(&self) -> usize {
        self.plan.as_ref().map_or(0, ArenaPlan::allocations)
    }

    /// Sets what an arena does when a capture differs from the dry run.
    #[must_use]
    pub fn on_divergence(self, divergence: Divergence) -> Self {
        Self { divergence, ..self }
    }

    /// Returns the size in bytes of an arena that is large enough for the plan. The result is never
    /// smaller than the minimum size of a region. If the probe belongs to a
    /// [ladder](crate::CaptureSession::probe_ladder), the arena is large enough for every member of
    /// the ladder.
    #[must_use]
    pub fn arena_bytes(&self) -> u64 {
        self.ladder_bytes.max(GRANULE)
    }

    /// Returns the size in bytes of an arena that is large enough for this probe's own plan.
    pub(super) fn plan_bytes(&self) -> u64 {
        self.footprint.peak.max(GRANULE)
    }

    /// Returns the trace that a capture must match, or `None` if a capture may differ from the dry
    /// run.
    pub(super) fn followed(&self) -> Option<Trace> {
        (self.divergence == Divergence::Refuse).then(|| self.trace.clone())
    }

    /// Returns a policy that makes an arena follow the plan.
    #[must_use]
    pub fn policy(&self) -> ArenaPolicy {
        match &self.plan {
            Some(plan) => ArenaPolicy::Planned(plan.clone().on_divergence(self.divergence)),
            None => ArenaPolicy::Monotone,
        }
    }
}

fn temporaries(regions: &[Region]) -> impl Iterator<Item = &Region> {
    regions.iter().filter(|region| region.is_temporary())
}

fn sum(regions: &[Region]) -> u64 {
    temporaries(regions).map(|region| region.bytes).sum()
}

/// Returns the planning problem for a body's temporaries, with the buffers in allocation order.
/// Returns `None` if there are no temporaries.
pub(super) fn problem(
    model: &Model,
    regions: &[Region],
) -> Result<Option<HappensBeforeProblem>, CaptureError> {
    let edges = model.edges().iter().map(|&(from, to)| Edge::full(from, to)).collect();
    let buffers: Vec<GraphBuffer> = temporaries(regions)
        .enumerate()
        .map(|(number, region)| {
            let begin = region.taken_by;
            let mut users: Vec<usize> = region.users.values().map(|uses| uses.operation).collect();
            if users.is_empty() {
                users.push(begin);
            }
            let mut buffer = GraphBuffer::new(number.to_string(), region.bytes, begin, users);
            buffer.alignment = GRANULE;
            buffer
        })
        .collect();
    if buffers.is_empty() {
        return Ok(None);
    }
    Ok(Some(HappensBeforeProblem::new(model.operations(), edges, buffers)?))
}

/// Computes a capture's footprint from its planning problem. `peak` is the highest offset that the
/// capture has used in its arena.
pub(super) fn of_capture(
    problem: Option<&HappensBeforeProblem>,
    regions: &[Region],
    peak: u64,
) -> Footprint {
    let lower_bound = problem.map_or(0, |problem| problem.lower_bound().bytes);
    Footprint { sum: sum(regions), peak, lower_bound }
}
