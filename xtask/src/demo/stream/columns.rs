//! The ways that are compared, and the programs that have them.

use std::path::{Path, PathBuf};
use std::process::Command;

use plotters::style::RGBColor;

use super::scenario::Scenario;
use crate::TaskError;
use crate::programs;

/// One way: where temporaries come from, and under which global allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// As in tables.
    pub(super) name: &'static str,
    /// As the program's argument.
    pub(super) way: &'static str,
    program: &'static str,
    pub(super) colour: RGBColor,
}

const SYSTEM: &str = "stream";

impl Column {
    pub(super) const POOL: Self =
        Self { name: "pool", way: "pool", program: SYSTEM, colour: RGBColor(0, 90, 180) };
    pub(super) const VEC: Self =
        Self { name: "Vec", way: "vec", program: SYSTEM, colour: RGBColor(230, 120, 0) };
    const KEPT: Self = Self {
        name: "kept by hand",
        way: "kept",
        program: SYSTEM,
        colour: RGBColor(110, 110, 110),
    };
    const BUMP_SCOPE: Self = Self {
        name: "bump-scope",
        way: "bump-scope",
        program: SYSTEM,
        colour: RGBColor(0, 150, 80),
    };
    const MIMALLOC: Self = Self {
        name: "Vec, mimalloc",
        program: "stream-mimalloc",
        colour: RGBColor(200, 30, 60),
        ..Self::VEC
    };
    const JEMALLOC: Self = Self {
        name: "Vec, jemalloc",
        program: "stream-jemalloc",
        colour: RGBColor(140, 60, 180),
        ..Self::VEC
    };

    /// What every build has, and what is asked for besides.
    const PLAIN: &[Self] = &[Self::POOL, Self::VEC, Self::KEPT];
    const ALL: &[Self] =
        &[Self::POOL, Self::VEC, Self::MIMALLOC, Self::JEMALLOC, Self::BUMP_SCOPE, Self::KEPT];

    pub(super) fn is_pool(&self) -> bool {
        *self == Self::POOL
    }
}

/// The columns that there are, built.
#[derive(Debug)]
pub(super) struct Columns {
    columns: &'static [Column],
    programs: Vec<(String, PathBuf)>,
}

impl Columns {
    /// Builds the programs, with other allocators if wanted. Where those cannot be had, it says so and goes without.
    pub(super) fn build(with_allocators: bool) -> Result<Self, TaskError> {
        if with_allocators {
            match Self::of(Column::ALL, &["--features", "bump-scope,jemalloc,mimalloc"]) {
                Ok(columns) => return Ok(columns),
                Err(why) => println!("SKIPPED: mimalloc, jemalloc and bump-scope: {why}"),
            }
        }
        Self::of(Column::PLAIN, &[])
    }

    fn of(columns: &'static [Column], features: &[&str]) -> Result<Self, TaskError> {
        let mut build = programs::cargo();
        build.args(["build", "--release", "--package", "pool-stream", "--bins"]).args(features);
        let built = programs::build(build.current_dir(env!("CARGO_MANIFEST_DIR")))?;
        let programs = built.into_iter().filter_map(|one| Some((one.target.name, one.executable?)));
        Ok(Self { columns, programs: programs.collect() })
    }

    pub(super) fn all(&self) -> &'static [Column] {
        self.columns
    }

    /// The program of a way.
    pub(super) fn program(&self, column: Column) -> Result<&Path, TaskError> {
        let found = self.programs.iter().find(|(name, _)| name == column.program);
        let (_, path) = found.ok_or_else(|| format!("cargo built no {}", column.program))?;
        Ok(path)
    }

    /// Writes the frames that all ways read.
    pub(super) fn make_film(&self, scenario: &Scenario, film: &Path) -> Result<(), TaskError> {
        let mut make = Command::new(self.program(Column::POOL)?);
        make.args(["film", "--size", &format!("{}x{}", scenario.width, scenario.height)]);
        make.args(["--frames", &scenario.film_frames().to_string()]).arg(film);
        programs::output(&mut make).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::Column;

    #[test]
    fn columns_differ_in_name_and_colour() {
        for (index, column) in Column::ALL.iter().enumerate() {
            for other in &Column::ALL[index + 1..] {
                assert!(column.name != other.name && column.colour != other.colour);
            }
        }
        assert!(Column::PLAIN.iter().all(|plain| Column::ALL.contains(plain)));
    }
}
