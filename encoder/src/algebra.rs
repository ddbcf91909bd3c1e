//! What a backend must be able to do for the encoder.

use std::borrow::Cow;
use std::error::Error;

use pool_facade::{PoolBackend, PoolView, Scope};

/// Whatever a backend answers when it cannot do something.
pub type Failure = Box<dyn Error>;

/// Operations on matrices of `f32` in the memory of a backend, row by row. Each is enqueued on the queue of the scope's
/// pool, and all views are of that pool or of constants that are written before.
///
/// A view that is written holds nothing that the same call reads.
pub trait Algebra<B: PoolBackend> {
    /// Adds to each row of `to` that row of `table` which the row's index names. Both have so many columns. An index
    /// beyond the table adds nothing.
    ///
    /// # Errors
    ///
    /// Where the lengths do not go together, and where the backend cannot enqueue it; so below.
    fn add_rows(
        &self,
        scope: &Scope<'_, B>,
        columns: usize,
        table: B::ViewRef<'_, f32>,
        indices: B::ViewRef<'_, u32>,
        to: &mut B::View<'_, f32>,
    ) -> Result<(), Failure>;

    /// Products of matrices, each plus a row of `bias` if there is one: [`Product`] says of which.
    ///
    /// # Errors
    ///
    /// As [`add_rows`](Self::add_rows).
    fn multiply(
        &self,
        scope: &Scope<'_, B>,
        product: &Product,
        factors: (B::ViewRef<'_, f32>, B::ViewRef<'_, f32>),
        bias: Option<B::ViewRef<'_, f32>>,
        to: &mut B::View<'_, f32>,
    ) -> Result<(), Failure>;

    /// The numbers of a dense step's weight, rows of so many, in the order in which [`dense`](Self::dense) wants them: as
    /// they are, unless an algebra has a better one.
    fn arranged<'n>(&self, inner: usize, weight: Cow<'n, [f32]>) -> Cow<'n, [f32]> {
        let _ = inner;
        weight
    }

    /// A dense step for each row of `x`: as many numbers as `bias` has, each the product of that row and one of the weight,
    /// plus the bias. They go into `to`, from there on. The weight is [as the algebra wants it](Self::arranged).
    ///
    /// # Errors
    ///
    /// As [`add_rows`](Self::add_rows).
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

    /// `y = y · Φ(y)`, with the distribution function of the normal distribution (Hendrycks and Gimpel, 2016).
    ///
    /// # Errors
    ///
    /// As [`add_rows`](Self::add_rows).
    fn gelu(&self, scope: &Scope<'_, B>, y: &mut B::View<'_, f32>) -> Result<(), Failure>;

    /// Makes the first `lengths[sequence]` numbers of each row their softmax, and all others 0. Where that is more than
    /// there are columns, the row is all of it; where it is none, the row becomes 0.
    ///
    /// # Errors
    ///
    /// As [`add_rows`](Self::add_rows).
    fn softmax(
        &self,
        scope: &Scope<'_, B>,
        columns: usize,
        lengths: B::ViewRef<'_, u32>,
        sequence: usize,
        y: &mut B::View<'_, f32>,
    ) -> Result<(), Failure>;

    /// `y = norm(y + update)`, row by row: mean 0 and variance 1 (Ba, Kiros and Hinton, 2016), times `scale`, plus
    /// `shift`, which have as many elements as a row.
    ///
    /// # Errors
    ///
    /// As [`add_rows`](Self::add_rows).
    fn add_and_normalize(
        &self,
        scope: &Scope<'_, B>,
        update: B::ViewRef<'_, f32>,
        norm: NormOf<'_, B>,
        y: &mut B::View<'_, f32>,
    ) -> Result<(), Failure>;

    /// The mean of the first `lengths[s]` rows of each sequence s of so many rows, at length 1, in row s of `to`.
    ///
    /// # Errors
    ///
    /// As [`add_rows`](Self::add_rows).
    fn unit_means(
        &self,
        scope: &Scope<'_, B>,
        rows_of_each: usize,
        x: B::ViewRef<'_, f32>,
        lengths: B::ViewRef<'_, u32>,
        to: &mut B::View<'_, f32>,
    ) -> Result<(), Failure>;
}

/// A layer norm's numbers: the scale and the shift of each column, and what is added to the variance.
pub type NormOf<'a, B> =
    (<B as PoolBackend>::ViewRef<'a, f32>, <B as PoolBackend>::ViewRef<'a, f32>, f32);

/// Where the matrices of a view are, in elements. The numbers of a row follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Where the first matrix starts.
    pub start: usize,
    /// From one row to the next.
    pub row: usize,
    /// From one matrix to the next.
    pub matrix: usize,
}

impl Layout {
    /// One matrix at the start of a view, rows of so many columns without gaps.
    #[must_use]
    pub const fn of_rows(columns: usize) -> Self {
        Self { start: 0, row: columns, matrix: 0 }
    }

    /// Where a matrix starts.
    #[must_use]
    pub const fn at(&self, index: usize) -> usize {
        self.start + index * self.matrix
    }

    /// The elements that a view of so many matrices of this shape has at least; `None` where that is no number.
    fn extent(&self, count: usize, rows: usize, columns: usize) -> Option<usize> {
        let [Some(matrices), Some(rows)] = [count.checked_sub(1), rows.checked_sub(1)] else {
            return Some(0);
        };
        let last = matrices.checked_mul(self.matrix)?.checked_add(rows.checked_mul(self.row)?)?;
        self.start.checked_add(last)?.checked_add(columns)
    }
}

/// Products of matrices, one of each view at a time: `to = factor · left · right`, where `left` has `rows` × `inner`
/// numbers and `right` `inner` × `columns`, or, where it is turned, `columns` × `inner`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// How many products.
    pub count: usize,
    /// Rows of each.
    pub rows: usize,
    /// Columns of each.
    pub columns: usize,
    /// Terms of each number of the result.
    pub inner: usize,
    /// Where the left matrices are.
    pub left: Layout,
    /// Where the right matrices are.
    pub right: Layout,
    /// Whether the right matrices are turned.
    pub right_is_turned: bool,
    /// Where the results go.
    pub to: Layout,
    /// What each result is multiplied by.
    pub factor: f32,
}

impl Product {
    /// What a dense step multiplies, by the lengths of what it reads: rows, a weight with a row for each number that comes
    /// out, and a bias. The result starts there in its view.
    ///
    /// # Errors
    ///
    /// Where the lengths are not those of rows.
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

    /// Whether all matrices are within views of these lengths: a kernel asks nobody.
    ///
    /// # Errors
    ///
    /// With the first view that is too short, and by how many elements.
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
                let needed = needed.map_or("more than there can be".to_owned(), |n| n.to_string());
                Err(format!("the {view} of a product has {length} elements, and needs {needed}")
                    .into())
            }
        }
    }
}

/// As many rows of so many columns as a view has.
pub(crate) fn rows_of(length: usize, columns: usize) -> Result<usize, Failure> {
    match length.checked_rem(columns) {
        Some(0) => Ok(length / columns),
        _ => Err(format!("{length} elements are not rows of {columns}").into()),
    }
}

/// Answers with an error where two lengths that must agree do not.
pub(crate) fn agree(what: &str, has: usize, wanted: usize) -> Result<(), Failure> {
    if has == wanted {
        return Ok(());
    }
    Err(format!("{what}: {has} elements, and {wanted} are needed").into())
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
            (check(108, 24, None, 16), "the left of a product has 108 elements, and needs 109"),
            (check(109, 23, None, 16), "the right of a product has 23 elements, and needs 24"),
            (check(109, 24, Some(3), 16), "the bias of a product has 3 elements, and needs 4"),
            (check(109, 24, None, 15), "the result of a product has 15 elements, and needs 16"),
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
        assert!(error.to_string().ends_with("needs more than there can be"), "{error}");
        let none = Product { count: 0, left, ..product() };
        assert!(none.check((0, 0), None, 0).is_ok());
    }
}
