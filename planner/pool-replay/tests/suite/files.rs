//! CSV files: the meaning of columns and offsets, plans that round-trip, and errors with line and column.

use pool_plan::{Gap, Options, PlanError};
use pool_replay::csv::{CsvError, CsvOptions, read, write};

#[test]
fn old_and_new_columns_mean_the_same() {
    let new = "id,lower,upper,size,alignment,gaps\na,0,4,8,2,1-3\nb,-2,4,8,1,\n";
    let old = "buffer_id,start,end,size,alignment,gaps\r\na,0,3,8,2,1-2\r\nb,-2,3,8,1,\r\n";
    let problem = read(new, CsvOptions::default()).unwrap();
    assert_eq!(problem, read(old, CsvOptions::default()).unwrap());
    assert_eq!(problem.buffers()[0].gaps, [Gap { lower: 1, upper: 3 }]);
    assert_eq!(problem.buffers()[1].lower, -2);
}

#[test]
fn offsets_are_fixed_only_on_request() {
    let text = "id,lower,upper,size,offset\na,0,4,8,16\n";
    let fixed = CsvOptions { fixed: true, ..CsvOptions::default() };
    assert_eq!(read(text, fixed).unwrap().buffers()[0].offset, Some(16));
    assert_eq!(read(text, CsvOptions::default()).unwrap().buffers()[0].offset, None);
}

#[test]
fn plans_round_trip() {
    let text = include_str!("../../../../crates/pool-plan/tests/data/iree_mobilebert.csv");
    let problem = read(text, CsvOptions::default()).unwrap();
    let plan = problem.solve(&Options { rounds: Some(0), ..Options::default() }).unwrap();
    let written = write(text, &plan.offsets).unwrap();
    assert!(written.starts_with("id,lower,upper,size,offset\n"));
    let fixed = read(&written, CsvOptions { fixed: true, ..CsvOptions::default() }).unwrap();
    let offsets: Vec<u64> = fixed.buffers().iter().filter_map(|one| one.offset).collect();
    assert_eq!(offsets, plan.offsets);
    assert_eq!(fixed.validate(&offsets), Ok(plan.certificate.peak));
}

#[test]
fn errors_have_line_and_column() {
    let place = |text: &str| match read(text, CsvOptions::default()) {
        Err(CsvError::Field { line, column, .. }) => (line, column),
        other => panic!("{other:?}"),
    };
    assert_eq!(place("id,lower,upper,size\na,0,x,8\n"), (2, 5));
    assert_eq!(place("id,lower,upper,size\n\na,0, 1y,8\n"), (3, 6));
    assert_eq!(place("id,lower,upper,size\na,0,1\n"), (2, 6));
    assert_eq!(place("id,lower,upper,size\na,0,1,2,3\n"), (2, 9));
    assert_eq!(place("id,lower,upper,size\na,0,1,-4\n"), (2, 7));
    assert_eq!(place("id,lower,upper,shape\n"), (1, 1));
    assert_eq!(place("id,lower,upper,size\ra,0,1,8\r\rb,0,x,8\r"), (4, 5));
    assert_eq!(place("id,lower,upper,size\r\na,0,1,8\r\nb,0,x,8\r\n"), (3, 5));
    assert_eq!(place("id,lower,upper,end,size\n"), (1, 16));
    assert_eq!(place("id,lower,size\n"), (1, 1));
    assert_eq!(place("id,lower,upper,size,gaps\na,0,9,8,2+4\n"), (2, 9));
    assert_eq!(place("id,lower,upper,size,gaps\na,0,9,8,2-4@0\n"), (2, 9));
    assert_eq!(place("id,lower,upper,size,gaps\na,0,9,8,2-4@3:3\n"), (2, 9));
    assert_eq!(place("id,lower,upper,size,gaps\na,0,9,8,2-4@1:x\n"), (2, 9));
    assert_eq!(read("", CsvOptions::default()), Err(CsvError::Problem(PlanError::Empty)));
    assert_eq!(
        read("id,lower,upper,size\n", CsvOptions::default()),
        Err(CsvError::Problem(PlanError::Empty))
    );
}

/// Columns of other programs are ignored, and written again with a plan.
#[test]
fn columns_of_others_are_kept() {
    let text = "name,id,lower,upper,size,name\nx,a,0,4,8,\"y,z\"\n";
    let problem = read(text, CsvOptions::default()).unwrap();
    assert_eq!(problem.buffers()[0].size, 8);
    let written = write(text, &[16]).unwrap();
    assert_eq!(written, "name,id,lower,upper,size,name,offset\nx,a,0,4,8,\"y,z\",16\n");
}

/// While a gap has a window, the buffer is planned as live, with all of its bytes.
#[test]
fn gaps_with_windows_are_planned_as_live() {
    let text = "id,lower,upper,size,alignment,gaps\n0,5,10,15,1,\n1,6,12,18,2,7-8 9-10@1:17\n";
    let problem = read(text, CsvOptions::default()).unwrap();
    assert_eq!(problem.buffers()[1].gaps, [Gap { lower: 7, upper: 8 }]);
    let plan = problem.solve(&Options { rounds: Some(0), ..Options::default() }).unwrap();
    assert_eq!(plan.certificate.peak, 33);
}

#[test]
fn wrong_lines_are_named() {
    let place = |text: &str| {
        let options = CsvOptions { fixed: true, ..CsvOptions::default() };
        match read(text, options) {
            Err(CsvError::Buffer { line, column, .. }) => (line, column),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(place("id,lower,upper,size\n\na,0,1,1\nb,5, 3,8\n"), (4, 6));
    assert_eq!(place("id,lower,upper,size\na,0,1,1\nb,0,1,1\na,0,1,1\n"), (4, 1));
    assert_eq!(place("id,lower,upper,size\na,0,1,18446744073709551615\n"), (2, 7));
    assert_eq!(place("id,lower,upper,size,alignment\na,0,1,1,1\nb,0,1,1,24\n"), (3, 9));
    assert_eq!(place("id,lower,upper,size,gaps\na,0,4,1,2-6\n"), (2, 9));
    assert_eq!(place("offset,id,lower,upper,size\n0,a,0,4,8\n4,b,0,4,8\n"), (3, 1));
}
