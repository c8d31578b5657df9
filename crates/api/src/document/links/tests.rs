//! Tests of `links.rs`.

use super::*;
use runtime::HashMap;

#[test]
fn every_link_names_operations_that_are_there_and_a_parameter_that_is_taken() {
    let mut document = crate::document();
    let mut known: HashMap<String, Value> = HashMap::default();
    for (_, item) in document["paths"].as_object_mut().expect("paths") {
        for operation in operations(item) {
            known.insert(operation["operationId"].as_str().expect("an id").to_owned(), operation.clone());
        }
    }
    for named in NAMED {
        let links = &known[named.by]["responses"][named.status]["links"];
        for next in named.used_by {
            assert_eq!(links[*next]["operationId"], *next, "{}", named.by);
            let parameters = known[*next]["parameters"].as_array().expect("parameters");
            assert!(parameters.iter().any(|one| one["name"] == named.parameter), "{next}");
        }
    }
}
