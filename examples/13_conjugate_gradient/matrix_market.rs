//! Matrix Market files: sparse matrices of real numbers as text, with one entry per line. Files of
//! symmetric matrices contain only one half (Boisvert, Pozo and Remington, *The Matrix Market
//! exchange formats*, 1996).

use pool_examples::algebra::SparseMatrix;

use crate::problem::Problem;

/// An entry: its row, its column, and its value.
type Entry = (usize, usize, f64);

/// Parses the problem of a symmetric matrix of real numbers in coordinate format. Other files are
/// rejected.
///
/// # Errors
///
/// Describes the mistake and gives its line, counted from 1.
pub(crate) fn parse(text: &str) -> Result<Problem, String> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let header = lines.next().map_or("", |(_, line)| line);
    if !header.split_whitespace().map(str::to_lowercase).eq(HEADER) {
        return Err(format!(
            "line 1: not a symmetric matrix of real numbers in coordinate format: {header}"
        ));
    }
    let mut lines = lines.filter(|(_, line)| !line.starts_with('%') && !line.trim().is_empty());
    let (number, sizes) = lines.next().ok_or("there are no sizes")?;
    let [rows, columns, count] =
        numbers(sizes).ok_or_else(|| format!("line {number}: expected three sizes"))?;
    if rows != columns || u32::try_from(rows).is_err() {
        return Err(format!("line {number}: the matrix is not square or is too large"));
    }
    let mut entries = Vec::new();
    let mut found = 0;
    for (number, line) in lines {
        let entry = parse_entry(line, rows);
        let (row, column, value) = entry
            .ok_or_else(|| format!("line {number}: not an entry of a {rows}×{rows} matrix"))?;
        found += 1;
        entries.push((row, column, value));
        if row != column {
            entries.push((column, row, value));
        }
    }
    if found != count {
        return Err(format!("{count} entries were declared, but there are {found}"));
    }
    Ok(Problem::of_matrix(in_compressed_rows(entries, rows)?))
}

/// The words on the first line.
const HEADER: [&str; 5] = ["%%matrixmarket", "matrix", "coordinate", "real", "symmetric"];

fn numbers<const N: usize>(line: &str) -> Option<[usize; N]> {
    let numbers: Option<Vec<usize>> =
        line.split_whitespace().map(|word| word.parse().ok()).collect();
    numbers?.try_into().ok()
}

/// Parses an entry. Its indices are counted from 0.
fn parse_entry(line: &str, rows: usize) -> Option<Entry> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[row, column, value] = words.as_slice() else { return None };
    let place = |word: &str| word.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < rows);
    let value: f64 = value.parse().ok()?;
    value.is_finite().then_some((place(row)?, place(column)?, value))
}

fn in_compressed_rows(mut entries: Vec<Entry>, rows: usize) -> Result<SparseMatrix, String> {
    entries.sort_by_key(|(row, column, _)| (*row, *column));
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let starts = (0..=rows).map(|row| entries.partition_point(|entry| entry.0 < row));
    SparseMatrix::new(
        entries.iter().map(|(_, _, value)| *value).collect(),
        entries.iter().map(|(_, column, _)| small(*column)).collect(),
        starts.map(small).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn both_halves_of_a_symmetric_matrix_are_there() {
        let text =
            "%%MatrixMarket matrix coordinate real symmetric\n% a remark\n2 2 2\n2 1 -1\n1 1 4\n";
        let problem = parse(text).unwrap();
        let matrix = problem.matrix;
        assert_eq!(matrix.values(), [4.0, -1.0, -1.0]);
        assert_eq!((matrix.columns(), matrix.starts()), (&[0, 1, 0][..], &[0, 2, 3][..]));
    }

    #[test]
    fn the_bundled_matrix() {
        let problem = crate::waveguide().unwrap();
        assert_eq!((problem.rows(), problem.matrix.values().len()), (62, 342));
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line() {
        let header = "%%MatrixMarket matrix coordinate real symmetric\n";
        for (rest, reported) in [
            ("", "no sizes"),
            ("2 2\n", "line 2: expected three sizes"),
            ("2 3 1\n", "line 2: the matrix is not square"),
            ("2 2 1\n3 1 1.0\n", "line 3: not an entry of a 2×2 matrix"),
            ("2 2 1\n0 1 1.0\n", "line 3"),
            ("2 2 1\n1 1 nan\n", "line 3"),
            ("2 2 2\n1 1 1.0\n", "2 entries were declared, but there are 1"),
        ] {
            let error = parse(&format!("{header}{rest}")).unwrap_err();
            assert!(error.contains(reported), "{error}");
        }
        for header in ["", "%%MatrixMarket matrix coordinate real general\n"] {
            assert!(parse(header).is_err_and(|error| error.starts_with("line 1")));
        }
    }
}
