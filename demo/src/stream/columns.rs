//! The compared ways, and their programs.

use std::env::consts::EXE_EXTENSION;
use std::path::{Path, PathBuf};
use std::process::Command;

use plotters::style::RGBColor;

use super::scenario::Scenario;
use crate::{Addition, TaskError};

/// One way: the source of temporaries, and the global allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// The name in tables.
    pub(super) name: &'static str,
    /// The argument of the program.
    pub(super) source: &'static str,
    program: &'static str,
    pub(super) colour: RGBColor,
}

const SYSTEM: &str = "stream";

impl Column {
    pub(super) const POOL: Self =
        Self { name: "pool", source: "pool", program: SYSTEM, colour: RGBColor(0, 90, 180) };
    const STACKED: Self = Self {
        name: "pool, stacked",
        source: "stacked",
        colour: RGBColor(60, 170, 220),
        ..Self::POOL
    };
    pub(super) const VEC: Self =
        Self { name: "Vec", source: "vec", program: SYSTEM, colour: RGBColor(230, 120, 0) };
    const KEPT: Self = Self {
        name: "kept by hand",
        source: "kept",
        program: SYSTEM,
        colour: RGBColor(110, 110, 110),
    };
    const BUMP_SCOPE: Self = Self {
        name: "bump-scope",
        source: "bump-scope",
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

    pub(super) const WGPU: Self =
        Self { name: "pool, wgpu", source: "wgpu", program: SYSTEM, colour: RGBColor(120, 80, 30) };

    /// The ways of every build, and those of some builds.
    const PLAIN: &[Self] = &[Self::POOL, Self::STACKED, Self::VEC, Self::KEPT];
    const ALL: &[Self] = &[
        Self::POOL,
        Self::STACKED,
        Self::VEC,
        Self::MIMALLOC,
        Self::JEMALLOC,
        Self::BUMP_SCOPE,
        Self::KEPT,
    ];

    pub(super) fn is_pool(&self) -> bool {
        *self == Self::POOL
    }
}

/// The available columns.
#[derive(Debug)]
pub(crate) struct Columns {
    columns: Vec<Column>,
    programs: PathBuf,
    /// The adapter of wgpu.
    adapter: Option<String>,
}

impl Columns {
    /// Makes the columns of the programs in a folder, which were built with some additions. Without
    /// an adapter there is no column of wgpu, and it prints that.
    ///
    /// # Errors
    ///
    /// Fails if a program cannot be started.
    pub(crate) fn new(programs: &Path, with: &[Addition]) -> Result<Self, TaskError> {
        let has_allocators = with.contains(&Addition::Allocators);
        let columns = if has_allocators { Column::ALL } else { Column::PLAIN };
        let mut columns =
            Self { columns: columns.to_vec(), programs: programs.to_owned(), adapter: None };
        if with.contains(&Addition::Wgpu) {
            columns.add_wgpu()?;
        }
        Ok(columns)
    }

    fn add_wgpu(&mut self) -> Result<(), TaskError> {
        let answer = Command::new(self.program(Column::WGPU)).arg("adapter").output()?;
        if answer.status.success() {
            self.adapter = Some(String::from_utf8(answer.stdout)?.trim().to_owned());
            self.columns.push(Column::WGPU);
        } else {
            println!("SKIPPED: wgpu: {}", String::from_utf8_lossy(&answer.stderr).trim());
        }
        Ok(())
    }

    pub(super) fn all(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the adapter of wgpu, if it has a column.
    pub(super) fn adapter(&self) -> Option<&str> {
        self.adapter.as_deref()
    }

    /// Returns the program of a way.
    pub(super) fn program(&self, column: Column) -> PathBuf {
        self.programs.join(column.program).with_extension(EXE_EXTENSION)
    }

    /// Writes the frames that all ways read.
    pub(super) fn make_film(&self, scenario: &Scenario, film: &Path) -> Result<(), TaskError> {
        let mut make = Command::new(self.program(Column::POOL));
        make.args(["film", "--size", &format!("{}x{}", scenario.width, scenario.height)]);
        make.args(["--frames", &scenario.film_frames().to_string()]).arg(film);
        let status = make.status()?;
        if status.success() { Ok(()) } else { Err(format!("{make:?} ended with {status}").into()) }
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
        assert!(Column::ALL.iter().all(|column| column.colour != Column::WGPU.colour));
        assert!(Column::PLAIN.iter().all(|plain| Column::ALL.contains(plain)));
    }
}
