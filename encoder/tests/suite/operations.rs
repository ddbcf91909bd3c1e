//! Each operation of an [`Algebra`] on random shapes, compared with the same in double precision,
//! written from its definition.
//!
//! The allowed error of a result is computed beside it. `u` is half of the distance from 1 to the
//! next `f32`. The error of n roundings, in any order, is `n·u / (1 - n·u)` of the sum of the
//! terms' absolute values (Higham, 2002, ch. 3). If a device does not round a function to the
//! nearest number, the bound is that of WGSL, which is larger than CUDA and the host need.

use std::borrow::Cow;
use std::fmt::Debug;

use pool_encoder::{Algebra, Failure, Layout, Product};
use pool_facade::{DynamicPool, PoolBackend, PoolView, Scope};
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::naive::{self, Bounded};

/// The seed of a case's data.
type Seed = u64;

/// Tries every operation on `cases` random shapes each.
pub(crate) fn as_defined<B: PoolBackend, A: Algebra<B>>(
    algebra: &A,
    context: impl Fn() -> B::Context,
    cases: u32,
) {
    let on = On { algebra, context, cases, backend: std::marker::PhantomData::<fn(B)> };
    on.for_all("rows by index", (1_usize..40, 1_usize..9, 1_usize..30), On::add_rows);
    let sizes = (1_usize..4, 1_usize..40, 1_usize..40, 1_usize..40);
    let layouts = [(); 3].map(|()| (0_usize..5, 0_usize..5, any::<bool>()));
    let ways = (any::<bool>(), any::<bool>(), -2_f32..2.0);
    on.for_all("products", (sizes, layouts, ways), On::multiply);
    // More than a panel of the host's, and more rows than it takes at once.
    let sizes = (1_usize..40, 1_usize..250, 1_usize..40, 0_usize..9);
    on.for_all("dense steps", sizes, On::dense);
    on.for_all("gelu", 1_usize..700, On::gelu);
    on.for_all("softmax", (1_usize..6, 1_usize..300, 0_usize..310, 0_usize..3), On::softmax);
    on.for_all("layer norm", (1_usize..6, 1_usize..300), On::add_and_normalize);
    on.for_all("means", (1_usize..4, 1_usize..9, 1_usize..80), On::unit_means);
}

/// A backend, and the operation tried on it.
struct On<'a, B, A, C> {
    algebra: &'a A,
    context: C,
    cases: u32,
    backend: std::marker::PhantomData<fn(B)>,
}

/// Sizes, layouts, `true` if the right is transposed, `true` if there is a bias, and the factor.
type ProductCase = ((usize, usize, usize, usize), [(usize, usize, bool); 3], (bool, bool, f32));

impl<B: PoolBackend, A: Algebra<B>, C: Fn() -> B::Context> On<'_, B, A, C> {
    fn for_all<S: Debug>(
        &self,
        name: &str,
        shapes: impl Strategy<Value = S>,
        check: impl Fn(&Self, &S, &mut Numbers) -> Result<(), Failure>,
    ) {
        let config = Config { cases: self.cases, failure_persistence: None, ..Config::default() };
        let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, random);
        let outcome = runner.run(&(shapes, any::<Seed>()), |(shape, seed)| {
            let checked = check(self, &shape, &mut Numbers(fastrand::Rng::with_seed(seed)));
            checked.map_err(|error| TestCaseError::fail(error.to_string()))
        });
        match outcome {
            Ok(()) => {}
            Err(TestError::Fail(why, (shape, seed))) => {
                panic!("{name}: {why}\nfor {shape:?}, seed {seed}")
            }
            Err(TestError::Abort(why)) => panic!("{name}: {why}"),
        }
    }

    /// Returns the result of an operation in `to`; it reads arrays, and one of whole numbers.
    fn applied(
        &self,
        read: &[&[f32]],
        whole: &[u32],
        to: &[f32],
        operation: impl FnOnce(
            &Scope<'_, B>,
            &[B::ViewRef<'_, f32>],
            B::ViewRef<'_, u32>,
            &mut B::View<'_, f32>,
        ) -> Result<(), Failure>,
    ) -> Result<Vec<f32>, Failure> {
        let mut constants = DynamicPool::<B>::with_config((self.context)(), Default::default())?;
        let handles = read.iter().map(|numbers| constants.try_acquire_from(numbers));
        let handles = handles.collect::<Result<Vec<_>, _>>()?;
        let whole = constants.try_acquire_from(whole)?;
        let (constants, scope) = constants.split();
        let views = handles.into_iter().map(|handle| constants.get(handle));
        let views = views.collect::<Result<Vec<_>, _>>()?;
        let mut to = scope.try_acquire_from(to)?;
        operation(&scope, &views, constants.get(whole)?, &mut to)?;
        Ok(to.copy_to_vec()?)
    }

    fn add_rows(
        &self,
        &(rows, columns, count): &(usize, usize, usize),
        numbers: &mut Numbers,
    ) -> Result<(), Failure> {
        let (table, to) = (numbers.some(rows * columns), numbers.some(count * columns));
        // Some of them are beyond the table.
        let indices = numbers.whole(count, rows + 2);
        let found = self.applied(&[&table], &indices, &to, |scope, read, indices, to| {
            self.algebra.add_rows(scope, columns, read[0], indices, to)
        })?;
        compare(&found, &naive::add_rows(columns, &table, &indices, &to))
    }

    fn multiply(
        &self,
        &((count, rows, columns, inner), layouts, (right_is_turned, has_bias, factor)): &ProductCase,
        numbers: &mut Numbers,
    ) -> Result<(), Failure> {
        let right = if right_is_turned { (columns, inner) } else { (inner, columns) };
        let shapes = [(rows, inner), right, (rows, columns)];
        let [left, right, to] = [0, 1, 2].map(|at| layout(count, shapes[at], layouts[at]));
        let product = Product {
            count,
            rows,
            columns,
            inner,
            left: left.0,
            right: right.0,
            right_is_turned,
            to: to.0,
            factor,
        };
        let [left, right, before] = [left.1, right.1, to.1].map(|length| numbers.some(length));
        let bias = numbers.some(columns);
        let found =
            self.applied(&[&left, &right, &bias], &[0], &before, |scope, read, _, to| {
                let bias = has_bias.then_some(read[2]);
                self.algebra.multiply(scope, &product, (read[0], read[1]), bias, to)
            })?;
        let bias = has_bias.then_some(&bias[..]);
        compare(&found, &naive::multiply(&product, &left, &right, bias, &before))
    }

    fn dense(
        &self,
        &(rows, columns, inner, start): &(usize, usize, usize, usize),
        numbers: &mut Numbers,
    ) -> Result<(), Failure> {
        let product = Product {
            count: 1,
            rows,
            columns,
            inner,
            left: Layout::of_rows(inner),
            right: Layout::of_rows(inner),
            right_is_turned: true,
            to: Layout { start, ..Layout::of_rows(columns) },
            factor: 1.0,
        };
        let [x, weight, bias] =
            [rows * inner, columns * inner, columns].map(|length| numbers.some(length));
        let before = numbers.some(start + rows * columns + start);
        let arranged = self.algebra.arranged(inner, Cow::Borrowed(&weight));
        let found =
            self.applied(&[&x, &arranged, &bias], &[0], &before, |scope, read, _, to| {
                self.algebra.dense(scope, read[0], (read[1], read[2]), start, to)
            })?;
        compare(&found, &naive::multiply(&product, &x, &weight, Some(&bias), &before))
    }

    fn gelu(&self, &length: &usize, numbers: &mut Numbers) -> Result<(), Failure> {
        let y = numbers.within(length, 8.0);
        let found = self.applied(&[], &[0], &y, |scope, _, _, y| self.algebra.gelu(scope, y))?;
        compare(&found, &naive::gelu(&y))
    }

    fn softmax(
        &self,
        &(rows, columns, length, sequence): &(usize, usize, usize, usize),
        numbers: &mut Numbers,
    ) -> Result<(), Failure> {
        let y = numbers.within(rows * columns, 8.0);
        let mut lengths = [1, 2, 3];
        lengths[sequence] = u32::try_from(length)?;
        let found = self.applied(&[], &lengths, &y, |scope, _, lengths, y| {
            self.algebra.softmax(scope, columns, lengths, sequence, y)
        })?;
        compare(&found, &naive::softmax(columns, length, &y))
    }

    fn add_and_normalize(
        &self,
        &(rows, columns): &(usize, usize),
        numbers: &mut Numbers,
    ) -> Result<(), Failure> {
        let [y, update] = [(); 2].map(|()| numbers.some(rows * columns));
        let [scale, shift] = [(); 2].map(|()| numbers.some(columns));
        // Large enough for rows of one or two nearly equal numbers.
        let epsilon = 1e-3;
        let found = self.applied(&[&update, &scale, &shift], &[0], &y, |scope, read, _, y| {
            let norm = (read[1], read[2], epsilon);
            self.algebra.add_and_normalize(scope, read[0], norm, y)
        })?;
        compare(&found, &naive::add_and_normalize(&update, (&scale, &shift, epsilon), &y))
    }

    fn unit_means(
        &self,
        &(count, rows, columns): &(usize, usize, usize),
        numbers: &mut Numbers,
    ) -> Result<(), Failure> {
        let x = numbers.some(count * rows * columns);
        // At least one row; some lengths exceed the rows.
        let lengths: Vec<_> = numbers.whole(count, rows + 1).iter().map(|n| n + 1).collect();
        let to = numbers.some(count * columns);
        let found = self.applied(&[&x], &lengths, &to, |scope, read, lengths, to| {
            self.algebra.unit_means(scope, rows, read[0], lengths, to)
        })?;
        compare(&found, &naive::unit_means(rows, columns, &x, &lengths))
    }
}

/// Data of a case.
struct Numbers(fastrand::Rng);

impl Numbers {
    fn some(&mut self, count: usize) -> Vec<f32> {
        self.within(count, 2.0)
    }

    fn within(&mut self, count: usize, largest: f32) -> Vec<f32> {
        (0..count).map(|_| (self.0.f32() * 2.0 - 1.0) * largest).collect()
    }

    fn whole(&mut self, count: usize, below: usize) -> Vec<u32> {
        (0..count).map(|_| self.0.u32(0..u32::try_from(below).unwrap_or(u32::MAX))).collect()
    }
}

/// Returns the positions of `count` matrices, consecutive or side by side, with gaps, and the length of their array.
fn layout(
    count: usize,
    (rows, columns): (usize, usize),
    (start, gap, side_by_side): (usize, usize, bool),
) -> (Layout, usize) {
    let wide = columns + gap;
    let (row, matrix) = if side_by_side { (count * wide, wide) } else { (wide, rows * wide) };
    (Layout { start, row, matrix }, start + count * rows * wide)
}

/// Checks that each number is within its bound; NaN is not.
fn compare(found: &[f32], right: &[Bounded]) -> Result<(), Failure> {
    if found.len() != right.len() {
        return Err(format!("{} numbers instead of {}", found.len(), right.len()).into());
    }
    for (at, (found, right)) in found.iter().zip(right).enumerate() {
        let difference = (f64::from(*found) - right.number).abs();
        if difference <= right.bound {
            continue;
        }
        let Bounded { number, bound } = right;
        let why = format!("{found} at {at} is {difference:e} from {number}, not {bound:e}");
        return Err(why.into());
    }
    Ok(())
}
