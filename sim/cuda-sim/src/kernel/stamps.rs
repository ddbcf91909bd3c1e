//! One stamp for each cell of a memory range. Stamps are only stored for the pages that a launch
//! accesses. A launch usually touches little of a large allocation, and each launch creates,
//! searches and drops its stamps.

use super::stamp::Stamp;

/// The base-2 logarithm of the number of cells in a page.
const SHIFT: u32 = 9;
const PAGE: usize = 1 << SHIFT;

/// The stamps, indexed by the number of their cell. A cell without a stamp reads as "no access".
#[derive(Debug, Default)]
pub(super) struct Stamps {
    /// The pages, up to the last page that contains a stamp.
    pages: Vec<Option<Box<[Stamp; PAGE]>>>,
}

impl Stamps {
    /// Returns the stamp of the given cell.
    pub(super) fn get(&self, cell: usize) -> Stamp {
        let page = self.pages.get(cell >> SHIFT).and_then(Option::as_deref);
        page.map_or(Stamp::default(), |page| page[cell % PAGE])
    }

    /// Sets the stamp of a cell, and returns the previous one.
    pub(super) fn replace(&mut self, cell: usize, stamp: Stamp) -> Stamp {
        let page = cell >> SHIFT;
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages[page].get_or_insert_with(|| Box::new([Stamp::default(); PAGE]));
        std::mem::replace(&mut page[cell % PAGE], stamp)
    }

    /// Removes the stamp of a cell, and returns it.
    pub(super) fn take(&mut self, cell: usize) -> Stamp {
        let page = self.pages.get_mut(cell >> SHIFT).and_then(Option::as_deref_mut);
        page.map_or(Stamp::default(), |page| std::mem::take(&mut page[cell % PAGE]))
    }

    /// Splits each cell into two cells that share its stamp.
    pub(super) fn double(&mut self) {
        let pages = std::mem::take(&mut self.pages);
        self.pages = pages.into_iter().flat_map(|page| halves(page.as_deref())).collect();
    }

    /// Returns the cells that have a stamp, in order.
    pub(super) fn cells(&self) -> impl Iterator<Item = usize> {
        let pages = self.pages.iter().enumerate();
        let pages = pages.filter_map(|(at, page)| Some((at << SHIFT, page.as_deref()?)));
        let of_page = |(first, page): (usize, &[Stamp; PAGE])| {
            let cells = (0..PAGE).filter(|at| page[*at].is_some());
            cells.map(move |at| first + at).collect::<Vec<_>>()
        };
        pages.flat_map(of_page)
    }
}

/// Returns the two pages into which a page is split. Each cell appears twice.
fn halves(page: Option<&[Stamp; PAGE]>) -> [Option<Box<[Stamp; PAGE]>>; 2] {
    let half = |first: usize| {
        let page = page?;
        Some(Box::new(std::array::from_fn(|at| page[first + at / 2])))
    };
    [half(0), half(PAGE / 2)]
}

#[cfg(test)]
mod tests {
    use super::super::stamp::Stamp;
    use super::{PAGE, Stamps};

    fn stamp(thread: u32) -> Stamp {
        Stamp::new(1, thread, 0, false, 0)
    }

    #[test]
    fn stamps_are_those_of_a_plain_list_however_far_apart() {
        let mut stamps = Stamps::default();
        let mut plain = vec![Stamp::default(); 9 * PAGE];
        let places = [0, 1, PAGE - 1, PAGE, 5 * PAGE + 7, 9 * PAGE - 1, 1];
        for (thread, cell) in (0..).zip(places) {
            assert_eq!(stamps.replace(cell, stamp(thread)), plain[cell]);
            plain[cell] = stamp(thread);
        }
        assert_eq!(stamps.take(PAGE), std::mem::take(&mut plain[PAGE]));
        assert_eq!(stamps.take(100 * PAGE), Stamp::default());
        assert_eq!(stamps.pages.iter().flatten().count(), 4, "pages without an access");
        for _ in 0..2 {
            let cells = 0..plain.len() + PAGE;
            let expected = |cell: usize| plain.get(cell).copied().unwrap_or_default();
            assert!(cells.clone().all(|cell| stamps.get(cell) == expected(cell)));
            assert!(stamps.cells().eq(cells.filter(|cell| expected(*cell).is_some())));
            stamps.double();
            plain = plain.iter().flat_map(|stamp| [*stamp; 2]).collect();
        }
    }
}
