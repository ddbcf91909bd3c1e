//! Finds loops that are not counted.
//!
//! A solver only keeps its budget if every loop whose length depends on the input counts its
//! passes. A function that contains a loop must therefore mention a counter, or have a comment
//! `// Uncounted: ` that states why it does not. `for`, `while`, `loop`, and calls that consume an
//! iterator or traverse a slice are treated as loops.

use syn::visit::Visit;

use crate::TaskError;

/// Calls whose time is proportional to the length of what they traverse.
const LOOPING: &[&str] = &[
    "all",
    "any",
    "collect",
    "dedup",
    "extend",
    "extend_from_slice",
    "fill",
    "find",
    "find_map",
    "fold",
    "for_each",
    "is_sorted",
    "max",
    "max_by",
    "max_by_key",
    "min",
    "min_by",
    "min_by_key",
    "position",
    "resize",
    "retain",
    "retain_mut",
    "rposition",
    "sort",
    "sort_by",
    "sort_by_cached_key",
    "sort_by_key",
    "sort_unstable",
    "sort_unstable_by_key",
    "sum",
    "to_vec",
];
/// The names of counters, and of functions that pass a count on.
const COUNTERS: &[&str] = &["watch", "work", "is_needed", "looked"];
/// The start of a comment that excuses a function.
const EXCUSE: &str = "// Uncounted: ";

/// Returns the functions in a source that loop, mention no counter and have no excuse. Tests are
/// left out.
///
/// # Errors
///
/// Fails if the source is not valid Rust.
pub fn uncounted(text: &str) -> Result<Vec<String>, TaskError> {
    let syntax = syn::parse_file(text)?;
    let mut functions = Functions::default();
    functions.visit_file(&syntax);
    let mut lines_of = std::collections::HashMap::<String, Vec<usize>>::new();
    let lines: Vec<&str> = text.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        if let Some(rest) = code.split("fn ").nth(1).filter(|_| code.contains("fn ")) {
            let name: String =
                rest.chars().take_while(|one| one.is_alphanumeric() || *one == '_').collect();
            lines_of.entry(name).or_default().push(number);
        }
    }
    let mut seen = std::collections::HashMap::<&str, usize>::new();
    let mut complaints = Vec::new();
    for function in &functions.found {
        let place = seen.entry(&function.name).or_default();
        let line = lines_of.get(&function.name).and_then(|lines| lines.get(*place)).copied();
        *place += 1;
        let line = line.unwrap_or(0);
        let above = lines[..line].iter().rev().take_while(|line| !line.trim().is_empty());
        let is_excused = above.take(8).any(|line| line.trim().starts_with(EXCUSE));
        if function.loops && !function.counts && !is_excused {
            complaints.push(format!("line {}: `{}`", line + 1, function.name));
        }
    }
    Ok(complaints)
}

/// A function, with flags for whether it loops and whether it mentions a counter.
#[derive(Default)]
struct Function {
    name: String,
    loops: bool,
    counts: bool,
}

/// The functions in a source, in order.
#[derive(Default)]
struct Functions {
    found: Vec<Function>,
}

impl Functions {
    fn enter(&mut self, name: &syn::Ident, visit: impl FnOnce(&mut Body)) {
        let mut body = Body(Function { name: name.to_string(), ..Function::default() });
        visit(&mut body);
        self.found.push(body.0);
    }
}

impl<'a> Visit<'a> for Functions {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        let is_test = |one: &syn::Attribute| {
            one.path().is_ident("cfg")
                && one.parse_args::<syn::Ident>().is_ok_and(|name| name == "test")
        };
        if !module.attrs.iter().any(is_test) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        self.enter(&function.sig.ident, |body| syn::visit::visit_item_fn(body, function));
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        self.enter(&function.sig.ident, |body| syn::visit::visit_impl_item_fn(body, function));
    }

    fn visit_trait_item_fn(&mut self, function: &'a syn::TraitItemFn) {
        self.enter(&function.sig.ident, |body| syn::visit::visit_trait_item_fn(body, function));
    }
}

/// Visits the body of one function.
struct Body(Function);

impl<'a> Visit<'a> for Body {
    fn visit_expr_for_loop(&mut self, one: &'a syn::ExprForLoop) {
        self.0.loops = true;
        syn::visit::visit_expr_for_loop(self, one);
    }

    fn visit_expr_while(&mut self, one: &'a syn::ExprWhile) {
        self.0.loops = true;
        syn::visit::visit_expr_while(self, one);
    }

    fn visit_expr_loop(&mut self, one: &'a syn::ExprLoop) {
        self.0.loops = true;
        syn::visit::visit_expr_loop(self, one);
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        let name = call.method.to_string();
        // With an argument, these methods compare two values and do not loop.
        let is_of_two = matches!(name.as_str(), "max" | "min") && !call.args.is_empty();
        self.0.loops |= LOOPING.contains(&name.as_str()) && !is_of_two;
        self.0.counts |= matches!(name.as_str(), "count" | "over") && call.args.len() == 1;
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_ident(&mut self, name: &'a syn::Ident) {
        self.0.counts |= COUNTERS.iter().any(|counter| name == counter);
    }
}

#[cfg(test)]
mod tests {
    use super::uncounted;

    #[test]
    fn uncounted_loops_are_found() {
        let found = |text: &str| uncounted(text).unwrap();
        assert_eq!(found("fn a(b: &[u32]) { for c in b {} }"), ["line 1: `a`"]);
        assert_eq!(
            found("struct A;\nimpl A { fn b(c: &[u32]) -> u32 { c.iter().sum() } }"),
            ["line 2: `b`"]
        );
        assert_eq!(found("fn a() { while true {} }\n\nfn b() { loop {} }").len(), 2);
        assert_eq!(found("fn a(b: &[u32], work: &Work) { for c in work.over(b) {} }"), [""; 0]);
        assert_eq!(
            found("// Uncounted: there are three.\nfn a(b: &[u32]) { for c in b {} }"),
            [""; 0]
        );
        assert_eq!(
            found("// Uncounted: not this one.\nfn a() {}\n\nfn b() { loop {} }"),
            ["line 4: `b`"]
        );
        assert_eq!(found("fn a(b: u32) -> u32 { b.max(3) }"), [""; 0]);
        assert_eq!(found("#[cfg(test)]\nmod tests { fn a() { loop {} } }"), [""; 0]);
    }
}
