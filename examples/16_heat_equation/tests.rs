use pool_examples::algebra::{Precision, Target, greatest_difference, norm, run};

use crate::problem::Heat;
use crate::stepper::Stepper;
use crate::{check, last};

#[test]
fn the_exact_temperatures_are_those_of_the_steps() {
    let heat = Heat::new(9, 5);
    for steps in 0..heat.steps {
        let (now, next) = (heat.exact(steps), heat.exact(steps + 1));
        let difference: Vec<f64> = next.iter().zip(&now).map(|(next, now)| next - now).collect();
        let moved = heat.explicit.multiply(&now);
        let right: Vec<f64> = moved.iter().zip(&heat.boundary).map(|(a, b)| a + b).collect();
        let left = heat.implicit.multiply(&difference);
        assert!(greatest_difference(&left, &right) < 1e-13, "step {steps}");
    }
    assert!(greatest_difference(&heat.exact(0), &heat.exact(5)) > 0.1, "nothing happens");
}

#[test]
fn temperatures_are_within_their_bounds_and_the_bounds_say_something() {
    let heat = Heat::new(12, 6);
    for precision in [Precision::F32, Precision::F64] {
        let history = run(&Stepper { heat: &heat, frames: 3 }, Target::Host, precision).unwrap();
        let steps: Vec<usize> = history.frames.iter().map(|(steps, _)| *steps).collect();
        assert_eq!(steps, [0, 2, 4, 6]);
        let bound = heat.bound(&history, precision);
        for (steps, temperatures) in &history.frames {
            let error = greatest_difference(temperatures, &heat.exact(*steps));
            assert!(error <= bound, "{precision}, {steps}: the error {error:e} exceeds {bound:e}");
        }
        assert!(bound < norm(last(&history)) / 100.0, "{precision}: {bound:e}");
        assert_eq!(check(&history, 0.0, bound), Ok(()));
        assert!(check(&history, 1.1 * bound, bound).is_err());
    }
}
