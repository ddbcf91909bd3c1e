//! The reference values come from an independent implementation, statsmodels 0.15: its exact
//! diffuse local level, and a local linear trend with a known start.

use pool_facade::prelude::*;

use crate::workload::{Matrix, Moments, StateSpace, allocating, check, nile, pooled};

fn flows() -> Vec<f64> {
    nile::series().unwrap().iter().map(|year| year.flow).collect()
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6 * expected.abs(), "{found} is not {expected}");
}

fn local_linear_trend() -> StateSpace {
    let square = |values: [f64; 4]| Matrix { rows: 2, columns: 2, values: values.to_vec() };
    StateSpace {
        transition: square([1.0, 1.0, 0.0, 1.0]),
        design: Matrix { rows: 1, columns: 2, values: vec![1.0, 0.0] },
        observation_variance: Matrix { rows: 1, columns: 1, values: vec![15_099.0] },
        selection: square([1.0, 0.0, 0.0, 1.0]),
        disturbance_variance: square([1_469.1, 0.0, 0.0, 10.0]),
        first: Moments {
            state: Matrix { rows: 2, columns: 1, values: vec![1_120.0, -2.5] },
            variance: square([15_099.0, 3.0, 3.0, 20.0]),
        },
    }
}

#[test]
fn the_series_is_complete() {
    let years = nile::series().unwrap();
    assert_eq!(years.len(), 100);
    assert!(years.iter().zip(1871..).all(|(year, expected)| year.year == expected));
    assert_eq!(years.iter().map(|year| year.flow).sum::<f64>(), 91_935.0);
}

#[test]
fn log_likelihood_and_levels_are_the_reference_ones() {
    let flows = flows();
    let result = allocating::smooth(&StateSpace::local_level(flows[0]), &flows).unwrap();
    assert_close(result.log_likelihood, -632.545_625_115_673_9);
    for (time, filtered, smoothed, variance) in [
        (0, 1_120.0, 1_111.668_319_126_795_7, 4_032.157_941_808_476_6),
        (27, 1_133.126_291_242_124_4, 999.585_218_705_269, 2_326.756_958_102_708),
        (99, 798.370_292_608_357_8, 798.370_292_608_357_8, 4_032.157_941_808_783),
    ] {
        assert_close(result.filtered[time].state.values[0], filtered);
        assert_close(result.smoothed[time].state.values[0], smoothed);
        assert_close(result.smoothed[time].variance.values[0], variance);
    }
}

#[test]
fn both_versions_agree_in_every_bit() {
    let flows = flows();
    let model = StateSpace::local_level(flows[0]);
    let expected = allocating::smooth(&model, &flows).unwrap();
    let mut pool = Pool::<Cpu>::new(());
    for _ in 0..3 {
        check(&expected, &pooled::smooth(&mut pool.scope(), &model, &flows).unwrap()).unwrap();
    }
}

#[test]
fn the_check_sees_a_changed_bit() {
    let flows = flows();
    let model = StateSpace::local_level(flows[0]);
    let mut expected = allocating::smooth(&model, &flows).unwrap();
    let last = &mut expected.smoothed[99].variance.values[0];
    *last = f64::from_bits(last.to_bits() + 1);
    let mut pool = Pool::<Cpu>::new(());
    let pooled = pooled::smooth(&mut pool.scope(), &model, &flows).unwrap();
    assert!(check(&expected, &pooled).is_err());
}

#[test]
fn a_state_of_two_numbers_is_smoothed_too() {
    let (flows, model) = (flows(), local_linear_trend());
    let expected = allocating::smooth(&model, &flows).unwrap();
    assert_close(expected.log_likelihood, -634.774_000_900_328_4);
    let middle = &expected.smoothed[50];
    assert_close(middle.state.values[0], 827.581_437_66);
    assert_close(middle.state.values[1], -1.838_163_54);
    assert_close(middle.variance.values[0], 2_380.960_664_51);
    assert_close(middle.variance.values[1], -6.415_362_53);
    assert_close(middle.variance.values[3], 61.949_632_55);
    let mut pool = Pool::<Cpu>::new(());
    let mut scope = pool.scope();
    let pooled = pooled::smooth(&mut scope, &model, &flows).unwrap();
    assert!(expected.numbers().map(f64::to_bits).eq(pooled.numbers().map(f64::to_bits)));
}

#[test]
fn a_negative_variance_is_refused_by_both() {
    let flows = flows();
    let mut model = StateSpace::local_level(flows[0]);
    model.observation_variance.values[0] = -1e9;
    let error = allocating::smooth(&model, &flows).unwrap_err();
    assert_eq!(error.row, 0);
    assert!(error.pivot < 0.0);
    let mut pool = Pool::<Cpu>::new(());
    assert_eq!(pooled::smooth(&mut pool.scope(), &model, &flows).unwrap_err(), error);
}
