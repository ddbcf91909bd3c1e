//! One document with its links and its headings.

use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::TaskError;

/// A Markdown document.
#[derive(Debug)]
pub(super) struct Document {
    /// The path, relative to the root of the repository.
    pub(super) path: PathBuf,
    links: Vec<String>,
    headings: Vec<String>,
}

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// Fails if the file does not exist.
    pub(super) fn read(root: &Path, path: &Path) -> Result<Self, TaskError> {
        let text = std::fs::read_to_string(root.join(path))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let (mut links, mut headings, mut heading) = (Vec::new(), Vec::new(), None);
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    headings.extend(heading.take().map(|text| anchor(&text)));
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                _ => {}
            }
        }
        Ok(Self { path: path.to_owned(), links, headings })
    }

    pub(super) fn links(&self) -> &[String] {
        &self.links
    }

    /// Returns the anchors of the document's headings.
    pub(super) fn headings(&self) -> &[String] {
        &self.headings
    }
}

/// Returns the anchor of a heading: its letters and digits in lower case, with hyphens instead of
/// spaces.
fn anchor(heading: &str) -> String {
    let small = heading.trim().to_lowercase();
    let kept = small.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}
