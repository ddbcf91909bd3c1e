//! The linear Gaussian state space model, in the notation of Durbin and Koopman: `y = Z α + ε` with
//! `ε ~ N(0, H)`, and `α' = T α + R η` with `η ~ N(0, Q)`.

use super::matrix::Matrix;

/// The variance of one year's measurement around the level (Durbin and Koopman, chapter 2).
const OBSERVATION_VARIANCE: f64 = 15_099.0;

/// The variance of the level's change from one year to the next (same source).
const LEVEL_VARIANCE: f64 = 1_469.1;

type Owned = Matrix<Vec<f64>>;

/// A state and its variance.
#[derive(Clone, Debug)]
pub(crate) struct Moments<Storage> {
    pub(crate) state: Matrix<Storage>,
    pub(crate) variance: Matrix<Storage>,
}

/// A model, and the state after its first observation.
#[derive(Debug)]
pub(crate) struct StateSpace {
    /// `T`: the transition of the state.
    pub(crate) transition: Owned,
    /// `Z`: the part of the state that is observed.
    pub(crate) design: Owned,
    /// `H`: the variance of an observation.
    pub(crate) observation_variance: Owned,
    /// `R`: the part of the state that is disturbed.
    pub(crate) selection: Owned,
    /// `Q`: the variance of the disturbance.
    pub(crate) disturbance_variance: Owned,
    /// The moments of the state, given the first observation.
    pub(crate) first: Moments<Vec<f64>>,
}

impl StateSpace {
    /// Creates a model whose level is a random walk. The diffuse start is exact: after one
    /// observation, only that observation is known. The level is therefore `y₁` with variance `H`,
    /// and `a₂ = y₁`, `P₂ = H + Q`.
    pub(crate) fn local_level(first_observation: f64) -> Self {
        Self {
            transition: scalar(1.0),
            design: scalar(1.0),
            observation_variance: scalar(OBSERVATION_VARIANCE),
            selection: scalar(1.0),
            disturbance_variance: scalar(LEVEL_VARIANCE),
            first: Moments {
                state: scalar(first_observation),
                variance: scalar(OBSERVATION_VARIANCE),
            },
        }
    }
}

fn scalar(value: f64) -> Owned {
    Matrix { rows: 1, columns: 1, values: vec![value] }
}
