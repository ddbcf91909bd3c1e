//! Feature sets that a step builds.

/// A crate with some of its features. The default features are only included on request.
#[derive(Clone, Copy, Debug)]
pub struct FeatureSet {
    /// The name of the crate.
    pub package: &'static str,
    /// `true` if the default features are enabled.
    pub default_features: bool,
    /// The other features that are enabled.
    pub features: &'static [&'static str],
}

impl FeatureSet {
    /// Returns a crate with only these features.
    #[must_use]
    pub const fn with(package: &'static str, features: &'static [&'static str]) -> Self {
        Self { package, default_features: false, features }
    }

    /// Returns a crate with its default features.
    #[must_use]
    pub const fn with_defaults(package: &'static str) -> Self {
        Self { package, default_features: true, features: &[] }
    }

    /// Returns the cargo arguments that select this feature set.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["--package".to_owned(), self.package.to_owned()];
        if !self.default_features {
            arguments.push("--no-default-features".to_owned());
        }
        if !self.features.is_empty() {
            arguments.extend(["--features".to_owned(), self.features.join(",")]);
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::FeatureSet;

    #[test]
    fn a_set_is_chosen_by_its_arguments() {
        let set = FeatureSet::with("a", &["b", "c"]);
        assert_eq!(
            set.arguments(),
            ["--package", "a", "--no-default-features", "--features", "b,c"]
        );
        assert_eq!(FeatureSet::with_defaults("a").arguments(), ["--package", "a"]);
    }
}
