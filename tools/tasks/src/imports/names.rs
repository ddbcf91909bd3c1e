//! The names that one source file defines, imports and mentions, without code for tests.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, File, Item, ItemMod, ItemUse, Meta, Path, UseTree};

/// A path as it is written, with the names of the inline modules around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) scope: Vec<String>,
    pub(super) path: Vec<String>,
    /// True if it is in a `use` that others may import from.
    pub(super) is_reexport: bool,
}

/// The names of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// True where the file opens with documentation of the module (`//!`).
    pub(super) is_documented: bool,
    /// The modules that have files of their own, each with the file that an attribute `path` names.
    pub(super) declared_modules: Vec<(String, Option<String>)>,
    /// The names of its items.
    pub(super) defined: BTreeSet<String>,
    /// The names that its `use` lines bind.
    pub(super) bound: BTreeMap<String, Named>,
    /// The paths before `*` in its `use` lines.
    pub(super) globs: Vec<Named>,
    /// All paths, those of `use` lines included.
    pub(super) mentioned: Vec<Named>,
}

/// Reads a file.
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
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        if self.scope.is_empty() {
            self.names.defined.extend(name(item));
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let name = module.ident.to_string();
        if module.content.is_none() {
            self.names.declared_modules.push((name, named_file(&module.attrs)));
            return;
        }
        self.scope.push(name);
        visit::visit_item_mod(self, module);
        self.scope.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_reexport = !matches!(item.vis, syn::Visibility::Inherited);
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

    /// Paths in the arguments of a macro, which are tokens and no syntax: names with `::` between.
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

    /// A path of tokens ends; one of `$crate` is the calling crate's business.
    fn end(&mut self, path: &mut Vec<String>, is_of_a_macro: bool) {
        let path = std::mem::take(path);
        if path.len() > 1 && !is_of_a_macro {
            self.mention(path);
        }
    }
}

/// Returns true if a `cfg` among the attributes asks for tests.
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

/// The file that an attribute `path` names.
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
