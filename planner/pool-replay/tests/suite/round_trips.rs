//! Written files can be read back, whatever the names and contents of the buffers.

use pool_plan::{Buffer, IntervalProblem};
use pool_replay::csv::{CsvError, CsvOptions, quoted, read, write};
use proptest::prelude::*;

use super::placed::placed;

const FIXED: CsvOptions = CsvOptions { fixed: true, alignment: None };

/// Returns a file of these buffers in another program's style, with quotes around all fields, or
/// only around those that need them.
fn file(buffers: &[Buffer], always: bool, line_end: &str) -> String {
    let mut text = format!("id,lower,upper,size,gaps{line_end}");
    for Buffer { id, lower, upper, size, gaps, .. } in buffers {
        let id =
            if always { format!("\"{}\"", id.replace('"', "\"\"")) } else { quoted(id).into() };
        let gaps =
            gaps.first().map_or_else(String::new, |gap| format!("{}-{}", gap.lower, gap.upper));
        text.push_str(&format!("{id},\"{lower}\", {upper},{size},\"{gaps}\"{line_end}"));
    }
    text
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn any_name_is_read_back(
        (buffers, offsets) in placed(),
        always in any::<bool>(),
        line_end in prop::sample::select(vec!["\n", "\r\n", "\r", "\n\n"]),
        mark in prop::sample::select(vec!["", "\u{feff}"]),
    ) {
        let text = format!("{mark}{}", file(&buffers, always, line_end));
        let problem = IntervalProblem::new(buffers.clone()).unwrap();
        prop_assert_eq!(&read(&text, CsvOptions::default()).unwrap(), &problem);
        let written = write(&text, &offsets).unwrap();
        let mut expected = buffers;
        expected.iter_mut().zip(&offsets).for_each(|(one, &offset)| one.offset = Some(offset));
        let again = read(&written, FIXED).unwrap();
        prop_assert_eq!(again.buffers(), &expected[..]);
        // Writing the file again gives the same text.
        prop_assert_eq!(&write(&written, &offsets).unwrap(), &written);
    }

    #[test]
    fn any_text_is_a_field(text in any::<String>()) {
        let line = format!("id,lower,upper,size\n{},0,1,1\n", quoted(&text));
        let problem = read(&line, CsvOptions::default()).unwrap();
        prop_assert_eq!(&problem.buffers()[0].id, &text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(id,lower,upper,size,gaps\n)?([0-9a,\u{fe0f}\n \"@-]|é|18446744073709551615){0,60}") {
        let _ = read(&text, CsvOptions::default());
    }

    /// Arbitrary bytes, with or without a header.
    #[test]
    fn any_bytes_are_read_or_refused(
        header in any::<bool>(),
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b",\"\r\n-1 ".to_vec())], 0..80),
    ) {
        let start = if header { "id,lower,upper,size,gaps\n" } else { "" };
        let text = format!("{start}{}", String::from_utf8_lossy(&bytes));
        if let Ok(problem) = read(&text, CsvOptions::default()) {
            let offsets = vec![0; problem.buffers().len()];
            let written = write(&text, &offsets).unwrap();
            let again = read(&written, CsvOptions::default()).unwrap();
            prop_assert_eq!(again, problem);
        }
    }
}

#[test]
fn positions_count_lines_in_quotes() {
    let place = |text: &str| match read(text, CsvOptions::default()) {
        Err(CsvError::Field { line, column, .. } | CsvError::Buffer { line, column, .. }) => {
            (line, column)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(place("id,lower,upper,size\n\"a\nb\",0,x,1\n"), (3, 6));
    assert_eq!(place("id,lower,upper,size\n\"é,\",0,x,1\n"), (2, 8));
    assert_eq!(place("id,lower,upper,size\r\n\r\n\"a\",0,1,1\r\n\"a\",0,1,1\r\n"), (4, 1));
    assert_eq!(place("id,lower,upper,size\n\"a\nb\",0,1,1\nc,5,5,1\n"), (4, 5));
    let commas = format!("id,lower,upper,size\na,0,1,1{}\n", ",".repeat(1_000));
    assert_eq!(place(&commas), (2, 9));
    let offsets = write("id,lower,upper,size\na,0,1,1\n", &[0, 1]).unwrap_err();
    assert_eq!(offsets.to_string(), "line 1, column 1: the plan has 2 offsets for 1 lines");
}
