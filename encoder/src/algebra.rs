//! The operations of a backend for the encoder.

use std::borrow::Cow;
use std::error::Error;

use pool_facade::{PoolBackend, PoolView, Scope};

/// Any error of a backend.
pub type Failure = Box<dyn Error>;

/// Operations on matrices of `f32` in the memory of a backend, row by row. Each is enqueued on the
/// queue of the scope's pool. All views are of that pool, or of constants that were written before.
///
/// A view that is written must not overlap one that the same call reads.
pub trait Algebra<B: PoolBackend> {
    /// Adds to each row of `to` the row of `table` that the row's index names. Both have `columns`
    /// columns. An index beyond the table adds nothing.
    ///
    /// # Errors
    ///
    /// Fails if the lengths do not match, or if the backend cannot enqueue it; so below.
    fn add_rows(
        &self,
        scope: &Scope<'_, B>,
        columns: usize,
        table: B::ViewRef<'_, f32>,
        indices: B::ViewRef<'_, u32>,
        to: &mut B::View<'_, f32>,
    ) -> Result<(), Failure>;

    /// Computes products of matrices, each plus a row of `bias` if there is one; [`Product`]
    /// describes them.
    ///
    /// # Errors
    ///
    /// Same as [`add_rows`](Self::add_rows).
    fn multiply(
        &self,
        scope: &Scope<'_, B>,
        product: &Product,
        factors: (B::ViewRef<'_, f32>, B::ViewRef<'_, f32>),
        bias: Option<B::ViewRef<'_, f32>>,
        to: &mut B::View<'_, f32>,
    ) -> Result<(), Failure>;

    /// Returns the numbers of a dense step's weight, rows of `inner`, in the order that
    /// [`dense`](Self::dense) expects: unchanged, unless an algebra prefers another one.
    fn arranged<'n>(&self, inner: usize, weight: Cow<'n, [f32]>) -> Cow<'n, [f32]> {
        let _ = inner;
        weight
    }

    /// Computes a dense step for each row of `x`. It writes one number for each of `bias`: the
    /// product of that row and one of the weight, plus the bias. They go into `to`, from `start`
    /// on. The weight is in the [order of the algebra](Self::arranged).
    ///
    /// # Errors
    ///
    /// Same as [`add_rows`](Self::add_rows).
    fn dense(
        &self,
        scope: &Scope<'_, B>,
        x: B::ViewRef<'_, f32>,
        (weight, bias): (B::ViewRef<'_, f32>, B::ViewRef<'_, f32>),
        start: usize,
        to: &mut B::View<'_, f32>,
    ) -> Result<(), Failure> {
        let product = Product::dense([x.len(), weight.len(), bias.len()], start)?;
        self.multiply(scope, &product, (x, weight), Some(bias), to)
    }

    /// Computes `y = y · Φ(y)`, with the distribution function of the normal distribution
    /// (Hendrycks and Gimpel, 2016).
    ///
    /// # Errors
    ///
    /// Same as [`add_rows`](Self::add_rows).
    fn gelu(&self, scope: &Scope<'_, B>, y: &mut B::View<'_, f32>) -> Result<(), Failure>;

    /// Makes the first `lengths[sequence]` numbers of each row their softmax, and all others 0. A
    /// length above the number of columns means the whole row; a length of 0 makes the row 0.
    ///
    /// # Errors
    ///
    /// Same as [`add_rows`](Self::add_rows).
    fn softmax(
        &self,
        scope: &Scope<'_, B>,
        columns: usize,
        lengths: B::ViewRef<'_, u32>,
        sequence: usize,
        y: &mut B::View<'_, f32>,
    ) -> Result<(), Failure>;

    /// Computes `y = norm(y + update)`, row by row: mean 0 and variance 1 (Ba, Kiros and Hinton,
    /// 2016), times `scale`, plus `shift`, each with the length of a row.
    ///
    /// # Errors
    ///
    /// Same as [`add_rows`](Self::add_rows).
    fn add_and_normalize(
        &self,
        scope: &Scope<'_, B>,
        update: B::ViewRef<'_, f32>,
        norm: NormOf<'_, B>,
        y: &mut B::View<'_, f32>,
    ) -> Result<(), Failure>;

    /// Computes the mean of the first `lengths[s]` rows of each sequence s of `rows` rows, scaled
    /// to length 1, in row s of `to`.
    ///
    /// # Errors
    ///
    /// Same as [`add_rows`](Self::add_rows).
    fn unit_means(
        &self,
        scope: &Scope<'_, B>,
        rows_of_each: usize,
        x: B::ViewRef<'_, f32>,
        lengths: B::ViewRef<'_, u32>,
        to: &mut B::View<'_, f32>,
    ) -> Result<(), Failure>;
}

/// A layer norm's numbers: the scale and the shift of each column, and the constant added to the
/// variance.
pub type NormOf<'a, B> =
    (<B as PoolBackend>::ViewRef<'a, f32>, <B as PoolBackend>::ViewRef<'a, f32>, f32);

/// The positions of the matrices in a view, in elements. The numbers of a row are adjacent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The start of the first matrix.
    pub start: usize,
    /// The distance from one row to the next.
    pub row: usize,
    /// The distance from one matrix to the next.
    pub matrix: usize,
}

impl Layout {
    /// Returns the layout of one matrix at the start of a view, with rows of `columns` columns
    /// without gaps.
    #[must_use]
    pub const fn of_rows(columns: usize) -> Self {
        Self { start: 0, row: columns, matrix: 0 }
    }

    /// Returns the start of a matrix.
    #[must_use]
    pub const fn at(&self, index: usize) -> usize {
        self.start + index * self.matrix
    }

    /// Returns the minimum number of elements of a view with `count` matrices of this shape; `None`
    /// if it overflows.
    fn extent(&self, count: usize, rows: usize, columns: usize) -> Option<usize> {
        let [Some(matrices), Some(rows)] = [count.checked_sub(1), rows.checked_sub(1)] else {
            return Some(0);
        };
        let last = matrices.checked_mul(self.matrix)?.checked_add(rows.checked_mul(self.row)?)?;
        self.start.checked_add(last)?.checked_add(columns)
    }
}

/// Products of matrices, one of each view at a time: `to = factor · left · right`. `left` has
/// `rows` × `inner` numbers. `right` has `inner` × `columns`, or, if it is transposed, `columns` ×
/// `inner`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// The number of products.
    pub count: usize,
    /// Rows of each.
    pub rows: usize,
    /// Columns of each.
    pub columns: usize,
    /// Terms of each number of the result.
    pub inner: usize,
    /// The positions of the left matrices.
    pub left: Layout,
    /// The positions of the right matrices.
    pub right: Layout,
    /// `true` if the right matrices are transposed.
    pub right_is_turned: bool,
    /// The positions of the results.
    pub to: Layout,
    /// The factor of each result.
    pub factor: f32,
}

impl Product {
    /// Makes the product of a dense step, by the lengths of its inputs: rows, a weight with a row
    /// for each output number, and a bias. The result starts at `start` in its view.
    ///
    /// # Errors
    ///
    /// Fails if the lengths are not those of rows.
    pub(crate) fn dense([x, weight, columns]: [usize; 3], start: usize) -> Result<Self, Failure> {
        let inner = rows_of(weight, columns)?;
        Ok(Self {
            count: 1,
            rows: rows_of(x, inner)?,
            columns,
            inner,
            left: Layout::of_rows(inner),
            right: Layout::of_rows(inner),
            right_is_turned: true,
            to: Layout { start, ..Layout::of_rows(columns) },
            factor: 1.0,
        })
    }

    /// Checks that all matrices are within views of these lengths, which a kernel does not check.
    ///
    /// # Errors
    ///
    /// The first view that is too short, and the missing number of elements.
    pub fn check(
        &self,
        (left, right): (usize, usize),
        bias: Option<usize>,
        to: usize,
    ) -> Result<(), Failure> {
        let of_right = if self.right_is_turned {
            self.right.extent(self.count, self.columns, self.inner)
        } else {
            self.right.extent(self.count, self.inner, self.columns)
        };
        let views = [
            ("left", left, self.left.extent(self.count, self.rows, self.inner)),
            ("right", right, of_right),
            ("bias", bias.unwrap_or(self.columns), Some(self.columns)),
            ("result", to, self.to.extent(self.count, self.rows, self.columns)),
        ];
        match views.into_iter().find(|&(_, length, needed)| needed.is_none_or(|n| n > length)) {
            None => Ok(()),
            Some((view, length, needed)) => {
                let needed =
                    needed.map_or("more than any slice can have".to_owned(), |n| n.to_string());
                Err(format!("the {view} of a product has {length} elements, but needs {needed}")
                    .into())
            }
        }
    }
}

/// Returns the number of rows of `columns` columns that a view has.
pub(crate) fn rows_of(length: usize, columns: usize) -> Result<usize, Failure> {
    match length.checked_rem(columns) {
        Some(0) => Ok(length / columns),
        _ => Err(format!("{length} elements are not rows of {columns}").into()),
    }
}

/// Returns an error if two lengths that must be equal differ.
pub(crate) fn agree(what: &str, has: usize, wanted: usize) -> Result<(), Failure> {
    if has == wanted {
        return Ok(());
    }
    Err(format!("{what}: {has} elements, but {wanted} are needed").into())
}

#[cfg(test)]
mod tests {
    use super::{Layout, Product};

    fn product() -> Product {
        let [left, to] = [Layout { start: 1, row: 5, matrix: 100 }, Layout::of_rows(4)];
        let to = Layout { matrix: 8, ..to };
        let right = Layout { start: 0, row: 3, matrix: 12 };
        let right_is_turned = true;
        Product {
            count: 2,
            rows: 2,
            columns: 4,
            inner: 3,
            left,
            right,
            right_is_turned,
            to,
            factor: 1.0,
        }
    }

    #[test]
    fn a_view_that_is_short_by_one_is_refused_by_name() {
        let check = |left, right, bias, to| {
            product().check((left, right), bias, to).map_err(|error| error.to_string())
        };
        assert_eq!(check(109, 24, Some(4), 16), Ok(()));
        assert_eq!(check(109, 24, None, 16), Ok(()));
        let short = [
            (check(108, 24, None, 16), "the left of a product has 108 elements, but needs 109"),
            (check(109, 23, None, 16), "the right of a product has 23 elements, but needs 24"),
            (check(109, 24, Some(3), 16), "the bias of a product has 3 elements, but needs 4"),
            (check(109, 24, None, 15), "the result of a product has 15 elements, but needs 16"),
        ];
        for (answer, text) in short {
            assert_eq!(answer, Err(text.to_owned()));
        }
        let turned = Product {
            right_is_turned: false,
            right: Layout { row: 4, ..product().right },
            ..product()
        };
        assert!(turned.check((109, 24), None, 16).is_ok());
        assert!(turned.check((109, 23), None, 16).is_err());
    }

    #[test]
    fn extents_beyond_all_numbers_are_refused() {
        let left = Layout { start: usize::MAX, row: usize::MAX, matrix: 3 };
        let error = Product { left, ..product() }.check((usize::MAX, 24), None, 16).unwrap_err();
        assert!(error.to_string().ends_with("needs more than any slice can have"), "{error}");
        let none = Product { count: 0, left, ..product() };
        assert!(none.check((0, 0), None, 0).is_ok());
    }
}
