//! Real work: the two workloads of the demo, in their allocating and pooled versions. This module
//! compiles them from the examples of `pool-facade`.

#[allow(dead_code, reason = "the parts that check and write are not timed")]
#[path = "../../../examples/11_kalman/workload/mod.rs"]
mod kalman;
#[allow(dead_code, reason = "the parts that check and write are not timed")]
#[path = "../../../examples/12_pyramid/workload/mod.rs"]
mod pyramid;

use std::hint::black_box;

use pool_facade::prelude::*;

use super::on_columns::on_columns;
use crate::case::{Case, Work};

pub(super) fn cases() -> Vec<Case> {
    let nile = on_columns!("real work", "Kalman smoother, Nile series":
        "allocating" => NileAllocating,
        "pool, explicit" => NilePooled,
        "pool, thread-local" => NileLocal,
    );
    let photograph = on_columns!("real work", "pyramid and edges, photograph":
        "allocating" => PhotographAllocating,
        "pool, explicit" => PhotographPooled,
        "pool, thread-local" => PhotographLocal,
    );
    [nile.to_vec(), photograph.to_vec()].concat()
}

struct Nile {
    model: kalman::StateSpace,
    flows: Vec<f64>,
}

impl Nile {
    fn read() -> Self {
        let Ok(years) = kalman::nile::series() else { unreachable!("checked by the demo's tests") };
        let flows: Vec<f64> = years.iter().map(|year| year.flow).collect();
        Self { model: kalman::StateSpace::local_level(flows[0]), flows }
    }
}

struct NileAllocating(Nile);

impl Work for NileAllocating {
    const WARM_UP: u64 = 3;

    fn new() -> Self {
        Self(Nile::read())
    }

    #[inline(never)]
    fn run(&mut self, _: usize, _: usize, _: usize) {
        let _ = black_box(kalman::allocating::smooth(&self.0.model, &self.0.flows));
    }
}

struct NilePooled(Nile, Pool<Cpu>);

impl Work for NilePooled {
    const WARM_UP: u64 = 3;

    fn new() -> Self {
        Self(Nile::read(), Pool::new(()))
    }

    #[inline(never)]
    fn run(&mut self, _: usize, _: usize, _: usize) {
        let mut scope = self.1.scope();
        let _ = black_box(kalman::pooled::smooth(&mut scope, &self.0.model, &self.0.flows));
    }
}

struct NileLocal(Nile);

impl Work for NileLocal {
    const WARM_UP: u64 = 3;

    fn new() -> Self {
        Self(Nile::read())
    }

    #[inline(never)]
    fn run(&mut self, _: usize, _: usize, _: usize) {
        with_pool!(|scope| {
            let _ = black_box(kalman::pooled::smooth(&mut scope, &self.0.model, &self.0.flows));
        });
    }
}

type Photograph = pyramid::Picture<Vec<f32>>;

fn photograph() -> Photograph {
    let Ok(photograph) = pyramid::files::photograph() else {
        unreachable!("checked by the demo's tests")
    };
    photograph
}

struct PhotographAllocating(Photograph);

impl Work for PhotographAllocating {
    const WARM_UP: u64 = 3;

    fn new() -> Self {
        Self(photograph())
    }

    #[inline(never)]
    fn run(&mut self, _: usize, _: usize, _: usize) {
        black_box(pyramid::allocating::pyramid(&self.0));
    }
}

struct PhotographPooled(Photograph, Pool<Cpu>);

impl Work for PhotographPooled {
    const WARM_UP: u64 = 3;

    fn new() -> Self {
        Self(photograph(), Pool::new(()))
    }

    #[inline(never)]
    fn run(&mut self, _: usize, _: usize, _: usize) {
        black_box(pyramid::pooled::pyramid(&mut self.1.scope(), &self.0));
    }
}

struct PhotographLocal(Photograph);

impl Work for PhotographLocal {
    const WARM_UP: u64 = 3;

    fn new() -> Self {
        Self(photograph())
    }

    #[inline(never)]
    fn run(&mut self, _: usize, _: usize, _: usize) {
        with_pool!(|scope| {
            black_box(pyramid::pooled::pyramid(&mut scope, &self.0));
        });
    }
}
