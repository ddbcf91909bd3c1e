//! Failing calls of the driver. They are in a separate program, because a planned failure hits the
//! next call of any test.

use cudarc_user::Squares;

#[test]
fn what_a_failing_call_leaves_is_given_back() {
    let simulator = cuda_sim_test::start();
    let squares = Squares::new(0).unwrap();
    simulator.fail_call("cuMemcpyDtoHAsync_v2", 1, 700);
    assert!(squares.sum(&[1.0; 300]).is_err());
    assert_eq!(squares.sum(&[1.0; 300]), Ok(300.0));
}
