//! The crate on a simulated device. The process also fails at its end after a race, a stale access
//! or a leak.

use cudarc_user::Squares;

#[test]
fn squares_are_added_up() {
    cuda_sim_test::start();
    let squares = Squares::new(0).unwrap();
    let numbers: Vec<f32> = (0..1000).map(|number| (number % 10) as f32).collect();
    assert_eq!(squares.sum(&numbers), Ok(28_500.0));
}

#[test]
fn the_order_of_the_streams_does_not_matter() {
    let simulator = cuda_sim_test::start();
    let squares = Squares::new(0).unwrap();
    simulator.each_order(|_seed| assert_eq!(squares.sum(&[3.0; 300]), Ok(2700.0)));
}
