//! An offline memory planner.
mod bits;
mod bound;
pub mod csv;
mod error;
mod greedy;
mod happens_before;
mod interval;
mod item;
mod limits;
mod options;
mod order;
mod plan;
mod timeline;
mod validate;

pub use bound::Bound;
pub use error::PlanError;
pub use happens_before::{Edge, EdgeKind, GraphBuffer, HappensBeforeProblem, Role};
pub use interval::{Buffer, Gap, IntervalProblem};
pub use options::{Monitor, Options};
pub use plan::{Certificate, Plan};
pub use validate::Violation;

/// probe
pub fn probe(p: &IntervalProblem) {
    let t0=std::time::Instant::now();
    let b=p.lower_bound(); let t1=t0.elapsed();
    let tl=timeline::Timeline::new(p);
    println!("n {} sections {} bound {} in {:?}", p.buffers().len(), tl.sections, b.bytes, t1);
    let mut pl=greedy::Placer::new(&tl);
    for o in greedy::orders(|i| tl.items[i].size, |i| tl.durations[i], |i| tl.spans(i)[0].0, tl.items.len()) {
        let t=std::time::Instant::now();
        let off=pl.place(&o.items,o.fit); let e=t.elapsed();
        let peak=p.validate(&off).unwrap();
        println!("   {:18} {:.5} {:?}", o.name, peak as f64/b.bytes as f64, e);
    }
}
