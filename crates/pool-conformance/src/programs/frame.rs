//! The views of a scope, stored in the Rust stack frame of the function that interprets the scope.
//! The frame refers to the views of the enclosing scopes, so that all views can be read and written
//! while an inner scope is open.

use std::mem::forget;

use pool_core::{DynamicShape, LendView, PoolView};

use super::checks::Checks;
use crate::element::{Sample, are_equal, samples};
use crate::host::HeldSlice;
use crate::probe::{BackendProbe, View};

/// A collection of views that are in use.
pub(super) trait Views<P: BackendProbe> {
    /// Compares every view with its expected contents.
    fn verify(&self, checks: &Checks<'_, P>);

    /// Returns the total number of views in this frame and all enclosing frames.
    fn count(&self) -> usize;

    /// Writes new contents to the view at `index`.
    fn rewrite(&mut self, probe: &P, index: usize, seed: u64);
}

/// A view whose element type has been erased.
pub(super) trait AnyView<P: BackendProbe> {
    fn verify(&self, checks: &Checks<'_, P>);
    fn rewrite(&mut self, probe: &P, seed: u64);
    /// Returns the number of elements in the view.
    fn length(&self) -> usize;
    /// Passes the view to `mem::forget`. Safe code may forget a view.
    fn forget(self: Box<Self>);
}

/// The views of one scope.
pub(super) struct Frame<'o, 's, P: BackendProbe> {
    pub(super) views: Vec<Box<dyn AnyView<P> + 's>>,
    outer: Option<&'o mut (dyn Views<P> + 'o)>,
}

impl<'o, P: BackendProbe> Frame<'o, '_, P> {
    /// Creates an empty frame for a scope. `outer` contains the views of the enclosing scopes.
    pub(super) fn within(outer: &'o mut (dyn Views<P> + 'o)) -> Self {
        Self { views: Vec::new(), outer: Some(outer) }
    }

    /// Creates an empty frame for a scope that has no enclosing scope.
    pub(super) fn outermost() -> Self {
        Self { views: Vec::new(), outer: None }
    }
}

impl<P: BackendProbe> Views<P> for Frame<'_, '_, P> {
    fn verify(&self, checks: &Checks<'_, P>) {
        for view in &self.views {
            view.verify(checks);
        }
        if let Some(outer) = &self.outer {
            outer.verify(checks);
        }
    }

    fn count(&self) -> usize {
        self.views.len() + self.outer.as_ref().map_or(0, |outer| outer.count())
    }

    fn rewrite(&mut self, probe: &P, index: usize, seed: u64) {
        let own = self.views.len();
        if let Some(view) = self.views.get_mut(index) {
            view.rewrite(probe, seed);
        } else if let Some(outer) = &mut self.outer {
            outer.rewrite(probe, index - own, seed);
        }
    }
}

/// A view, along with its expected contents and its address.
pub(super) struct LiveView<'s, P: BackendProbe, T: Sample> {
    view: View<'s, P, T>,
    start: usize,
    length: usize,
    seed: u64,
    /// A shape borrowed from the shape cache, together with its expected dimensions.
    shape: Option<(DynamicShape<'s>, Vec<usize>)>,
}

impl<'s, P: BackendProbe, T: Sample> LiveView<'s, P, T> {
    /// Stores a view and fills it with the contents generated from `seed`.
    pub(super) fn new(
        probe: &P,
        mut view: View<'s, P, T>,
        shape: Option<(DynamicShape<'s>, Vec<usize>)>,
        seed: u64,
    ) -> Self {
        let (start, length) = (probe.address(&view), view.len());
        probe.write(&mut view, &samples(seed, length));
        Self { view, start, length, seed, shape }
    }
}

impl<P: BackendProbe, T: Sample> AnyView<P> for LiveView<'_, P, T> {
    fn verify(&self, checks: &Checks<'_, P>) {
        assert_eq!(checks.probe().address(&self.view), self.start, "a live view moved");
        assert_eq!(self.view.len(), self.length, "a live view changed its length");
        let (seed, length) = (self.seed, self.length);
        checks.compare::<T>(&self.view.as_view(), move |content| {
            let right = samples(seed, length);
            assert!(are_equal(&content, &right), "a live view changed: {content:?}");
        });
        if let Some((shape, dims)) = &self.shape {
            assert_eq!(shape.dims(), dims, "a live shape changed");
            assert_eq!(shape.strides(), row_major_strides(dims), "live strides changed");
        }
    }

    fn rewrite(&mut self, probe: &P, seed: u64) {
        self.seed = seed;
        probe.write(&mut self.view, &samples(seed, self.length));
    }

    fn length(&self) -> usize {
        self.length
    }

    fn forget(self: Box<Self>) {
        forget(self.view);
    }
}

/// A slice of host memory that stores its own expected contents.
pub(super) struct LiveSlice<'s>(HeldSlice<'s>);

impl<'s> LiveSlice<'s> {
    pub(super) fn new(held: HeldSlice<'s>) -> Self {
        Self(held)
    }
}

impl<P: BackendProbe> AnyView<P> for LiveSlice<'_> {
    fn verify(&self, _: &Checks<'_, P>) {
        self.0.verify();
    }

    fn rewrite(&mut self, _: &P, seed: u64) {
        self.0.rewrite(seed);
    }

    fn length(&self) -> usize {
        self.0.length()
    }

    fn forget(self: Box<Self>) {
        drop(self);
    }
}

/// Returns the expected strides, in elements, of a row-major array. If any dimension is zero, all
/// strides are zero.
fn row_major_strides(dims: &[usize]) -> Vec<usize> {
    if dims.contains(&0) {
        return vec![0; dims.len()];
    }
    (0..dims.len()).map(|axis| dims[axis + 1..].iter().product()).collect()
}
