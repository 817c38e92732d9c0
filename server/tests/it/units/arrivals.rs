use whycrash_server::pipeline::arrivals::{Arrivals, REMEMBERED};
use whycrash_server::store::ModuleUse;

#[test]
fn only_what_came_since_counts() {
    let module = |id: &str| ModuleUse {
        id: id.to_owned(),
        lacks_symbols: true,
    };
    let arrivals = Arrivals::default();
    arrivals.add("a");
    let then = arrivals.now();
    assert!(!arrivals.since(then, &[module("a")]));
    arrivals.add("b");
    assert!(!arrivals.since(then, &[module("a")]));
    assert!(arrivals.since(then, &[module("a"), module("b")]));
    assert!(arrivals.since(0, &[module("a")]));
    (0..REMEMBERED).for_each(|_| arrivals.add("c"));
    assert!(arrivals.since(then, &[module("a")]), "too many to tell");
    assert!(!arrivals.since(then, &[]), "nothing to come");
}
