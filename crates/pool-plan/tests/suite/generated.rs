//! Random small problems for properties.

use pool_plan::{
    Buffer, Edge, EdgeKind, Gap, GraphBuffer, HappensBeforeProblem, IntervalProblem, Role,
};
use proptest::prelude::*;

const LARGEST: usize = 8;

/// Small numbers of bytes, now and then none.
fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![15 => 1..17_u64, 1 => Just(0)]
}

/// Problems of up to 8 buffers, some with alignments, gaps and one fixed offset.
pub(crate) fn intervals() -> impl Strategy<Value = IntervalProblem> {
    let buffer = (0..12_i64, 1..10_i64, sizes(), 0..4_u32, 0..4_usize);
    let fixed = prop_oneof![3 => Just(None), 1 => (0..LARGEST, 0..10_u64).prop_map(Some)];
    (prop::collection::vec(buffer, 1..=LARGEST), fixed, any::<bool>()).prop_map(
        |(rows, fixed, aligned)| {
            let mut buffers: Vec<Buffer> = Vec::new();
            for (index, (lower, length, size, shift, gap)) in rows.into_iter().enumerate() {
                let mut buffer = Buffer::new(format!("b{index}"), lower, lower + length, size);
                if aligned {
                    buffer.alignment = 1 << shift.saturating_sub(1);
                }
                if gap == 0 && length > 2 {
                    buffer.gaps = vec![Gap { lower: lower + 1, upper: lower + length - 1 }];
                }
                buffers.push(buffer);
            }
            if let Some((index, place)) = fixed {
                let index = index % buffers.len();
                buffers[index].offset = Some(place * buffers[index].alignment);
            }
            IntervalProblem::new(buffers).expect("one fixed buffer collides with none")
        },
    )
}

/// Problems of up to 8 buffers on up to 10 operations, some of them with edges that order nothing.
pub(crate) fn graphs() -> impl Strategy<Value = HappensBeforeProblem> {
    let edge = (0..10_usize, 0..10_usize, 0..5_u32);
    let buffer = (sizes(), 0..10_usize, prop::collection::vec(0..4_usize, 0..3), 0..12_u32);
    let edges = prop::collection::vec(edge, 0..24);
    let buffers = prop::collection::vec(buffer, 1..=LARGEST);
    (edges, buffers, any::<bool>()).prop_map(|(edges, rows, aligned)| {
        let edges =
            edges.into_iter().filter(|(from, to, _)| from != to).map(|(one, other, kind)| {
                let kind = if kind == 0 { EdgeKind::Programmatic } else { EdgeKind::Full };
                Edge { from: one.min(other), to: one.max(other), kind }
            });
        let mut buffers = Vec::new();
        for (index, (size, allocated_by, later, role)) in rows.into_iter().enumerate() {
            let freed_by: Vec<usize> =
                later.into_iter().map(|more| (allocated_by + more).min(9)).collect();
            let mut buffer = GraphBuffer::new(format!("b{index}"), size, allocated_by, freed_by);
            buffer.role = match role {
                0 => Role::LiveIn,
                1 => Role::LiveOut,
                2 => Role::Pinned,
                _ => Role::Temporary,
            };
            if aligned {
                buffer.alignment = 1 << (size % 3);
            }
            buffers.push(buffer);
        }
        HappensBeforeProblem::new(10, edges.collect(), buffers).expect("edges go forwards")
    })
}
