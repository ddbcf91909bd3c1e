//! Finds cycles of imports: modules that import each other, directly or through other modules.

use std::collections::BTreeMap;

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

use super::path::{ModulePath, shown};
use super::resolve::Imports;

/// Returns the cycles, which are the largest sets of modules that all reach each other through
/// imports.
pub(super) fn of(imports: &Imports) -> Vec<Vec<String>> {
    let mut graph = DiGraph::<&ModulePath, ()>::new();
    let mut nodes = BTreeMap::new();
    for (from, to) in imports {
        let [from, to] =
            [from, to].map(|module| *nodes.entry(module).or_insert_with(|| graph.add_node(module)));
        graph.add_edge(from, to, ());
    }
    let components = tarjan_scc(&graph).into_iter().filter(|component| component.len() > 1);
    let mut circles: Vec<Vec<String>> = components
        .map(|component| {
            let mut names: Vec<String> = component.iter().map(|node| shown(graph[*node])).collect();
            names.sort();
            names
        })
        .collect();
    circles.sort();
    circles
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::imports::modules::Modules;
    use crate::imports::resolve::imports;

    fn circles(texts: &[(&str, &str)]) -> Vec<Vec<String>> {
        of(&imports(&Modules::of(texts)))
    }

    #[test]
    fn a_planted_circle_is_found() {
        let lib = ("", "mod a; mod b; mod c;");
        let (a, b) = (("a", "use crate::b::B; pub struct A(B);"), ("b", "pub struct B;"));
        let c = ("c", "use crate::a::A; pub struct C(A);");
        assert!(circles(&[lib, a, b, c]).is_empty());
        let planted = ("b", "pub struct B; fn f() { crate::c::C; }");
        assert_eq!(circles(&[lib, a, planted, c]), [["a", "b", "c"]]);
    }
}
