//! The names that a source file defines, imports and mentions. Code for tests is left out.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, File, Item, ItemMod, ItemUse, Meta, Path, UseTree, Visibility};

/// A path as written in the source, with the names of the inline modules that contain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) scope: Vec<String>,
    pub(super) path: Vec<String>,
    /// `true` if the path is in a `use` from which other modules may import.
    pub(super) is_reexport: bool,
}

/// The names in one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// `true` if the file begins with documentation of the module (`//!`).
    pub(super) is_documented: bool,
    /// The modules that have their own files, each with the file that an attribute `path` gives.
    pub(super) declared_modules: Vec<(String, Option<String>)>,
    /// The names of the items that the file defines.
    pub(super) defined: BTreeSet<String>,
    /// The names of the types and traits that are declared `pub`. A type inside a private inline
    /// module is left out, because no other crate can name it.
    pub(super) public_types: BTreeSet<String>,
    /// The names that the file's `use` declarations bind.
    pub(super) bound: BTreeMap<String, Named>,
    /// The paths that precede `*` in the file's `use` declarations.
    pub(super) globs: Vec<Named>,
    /// All paths in the file, including those in `use` declarations.
    pub(super) mentioned: Vec<Named>,
}

/// Collects the names in a file.
pub(super) fn of(file: &File) -> Names {
    let mut reader = Reader::default();
    reader.visit_file(file);
    reader.names.is_documented =
        file.attrs.iter().any(|attribute| attribute.path().is_ident("doc"));
    reader.names
}

#[derive(Default)]
struct Reader {
    names: Names,
    scope: Vec<String>,
    /// The number of private inline modules that contain the current item.
    private_modules: usize,
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        if self.scope.is_empty() {
            self.names.defined.extend(name(item));
        }
        if self.private_modules == 0 && is_public_type(item) {
            self.names.public_types.extend(name(item));
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let name = module.ident.to_string();
        if module.content.is_none() {
            self.names.declared_modules.push((name, named_file(&module.attrs)));
            return;
        }
        let is_private = usize::from(!is_public(&module.vis));
        self.scope.push(name);
        self.private_modules += is_private;
        visit::visit_item_mod(self, module);
        self.private_modules -= is_private;
        self.scope.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_reexport = !matches!(item.vis, Visibility::Inherited);
        self.imports(&mut Vec::new(), &item.tree, is_reexport);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let segments = path.segments.iter().map(|segment| segment.ident.to_string());
        self.mention(segments.collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
    }
}

impl Reader {
    fn mention(&mut self, path: Vec<String>) {
        let scope = self.scope.clone();
        self.names.mentioned.push(Named { scope, path, is_reexport: false });
    }

    fn imports(&mut self, before: &mut Vec<String>, tree: &UseTree, is_reexport: bool) {
        match tree {
            UseTree::Path(part) => {
                before.push(part.ident.to_string());
                self.imports(before, &part.tree, is_reexport);
                before.pop();
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.imports(before, item, is_reexport));
            }
            UseTree::Name(last) => self.import(before, &last.ident, &last.ident, is_reexport),
            UseTree::Rename(last) => self.import(before, &last.ident, &last.rename, is_reexport),
            UseTree::Glob(_) => {
                let scope = self.scope.clone();
                self.names.globs.push(Named { scope, path: before.clone(), is_reexport });
            }
        }
    }

    fn import(&mut self, before: &[String], name: &syn::Ident, bound: &syn::Ident, public: bool) {
        let mut path = before.to_vec();
        if name != "self" {
            path.push(name.to_string());
        }
        let is_self = name == "self" && bound == "self";
        let bound = if is_self { path.last().cloned() } else { Some(bound.to_string()) };
        let named = Named { scope: self.scope.clone(), path, is_reexport: public };
        if let Some(bound) = bound {
            self.names.bound.insert(bound, named.clone());
        }
        self.names.mentioned.push(named);
    }

    /// Collects paths in the arguments of a macro. The arguments are tokens without syntax, so a
    /// path is a sequence of names separated by `::`.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut colons, mut is_of_a_macro) = (0, false);
        for token in tokens {
            match token {
                TokenTree::Ident(name) if colons == 2 || path.is_empty() => {
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => colons += 1,
                other => {
                    self.end(&mut path, is_of_a_macro);
                    colons = 0;
                    is_of_a_macro =
                        matches!(&other, TokenTree::Punct(mark) if mark.as_char() == '$');
                    match other {
                        TokenTree::Group(group) => self.tokens(group.stream()),
                        TokenTree::Ident(name) => path.push(name.to_string()),
                        TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                    }
                }
            }
        }
        self.end(&mut path, is_of_a_macro);
    }

    /// Finishes a path of tokens. A path that begins with `$crate` belongs to the calling crate and
    /// is ignored.
    fn end(&mut self, path: &mut Vec<String>, is_of_a_macro: bool) {
        let path = std::mem::take(path);
        if path.len() > 1 && !is_of_a_macro {
            self.mention(path);
        }
    }
}

/// Returns `true` if one of the attributes is a `cfg` for tests.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    let asks = |meta: &Meta| match meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition == "test" || condition.starts_with("all (test")
        }
        _ => false,
    };
    attributes.iter().any(|attribute| asks(&attribute.meta))
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Returns `true` if the item is a type or a trait that is declared `pub`.
fn is_public_type(item: &Item) -> bool {
    match item {
        Item::Enum(item) => is_public(&item.vis),
        Item::Struct(item) => is_public(&item.vis),
        Item::Trait(item) => is_public(&item.vis),
        Item::Type(item) => is_public(&item.vis),
        Item::Union(item) => is_public(&item.vis),
        _ => false,
    }
}

/// Returns the file that an attribute `path` gives.
fn named_file(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(file), .. }) => Some(file.value()),
            _ => None,
        },
        _ => None,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
