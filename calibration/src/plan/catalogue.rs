//! Built-in plans, embedded in the program.

use super::Plan;
use crate::error::{Context, Error, Result};
use std::path::Path;

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../plans/", $name, ".toml")))),*]
    };
}

/// Name and text of every plan, in alphabetical order.
pub const PLANS: &[(&str, &str)] = embedded![
    "calls",
    "cpu",
    "dscp",
    "goodput",
    "held-out",
    "latency",
    "loss-free",
    "nagle",
    "offload",
    "switch-loaded-5",
    "switch-loaded-9.4",
    "switch-none",
    "switch-one",
    "two-senders",
    "zeromq-batch",
    "zeromq-latency",
    "zeromq-mtu",
    "zeromq-threads",
    "zeromq-throughput",
];

/// Reads a built-in plan by name, or a file if the argument is a path or ends in `.toml`.
///
/// # Errors
/// [`Error::Question`] if there is no such plan or file, or if it is invalid.
pub fn load(name_or_path: &str) -> Result<Plan> {
    if let Some((_, text)) = PLANS.iter().find(|(name, _)| *name == name_or_path) {
        return Plan::parse(text);
    }
    let path = Path::new(name_or_path);
    if path.extension().is_none_or(|extension| extension != "toml")
        && path.components().count() == 1
    {
        let names: Vec<&str> = PLANS.iter().map(|(name, _)| *name).collect();
        return Err(Error::question(format!(
            "there is no plan `{name_or_path}`: give a file ending in .toml, or one of {}",
            names.join(", ")
        )));
    }
    let text = std::fs::read_to_string(path).or_question(format!("the plan {name_or_path}"))?;
    Plan::parse(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Context as Place;

    fn place(short: bool) -> Place {
        Place {
            place: "lab:x".into(),
            line_rate_bps: Some(1e8),
            short,
        }
    }

    #[test]
    fn every_plan_expands_in_both_forms() {
        for (name, _) in PLANS {
            let plan = load(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(&plan.name, name);
            assert!(
                plan.source.len() > 10 && plan.description.len() > 10,
                "{name}"
            );
            let full = plan
                .points(&place(false))
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let short = plan
                .shortened()
                .unwrap()
                .points(&place(true))
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(full.len() > short.len(), "{name}");
            let seconds: f64 = short.iter().map(|point| point.estimate_s()).sum();
            assert!(seconds < 40.0, "{name}: the short form takes {seconds} s");
        }
    }

    #[test]
    fn the_names_are_sorted_and_the_unknown_refused() {
        assert!(PLANS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let error = load("goodputs").unwrap_err().to_string();
        assert!(
            error.contains("goodput,") && error.contains(".toml"),
            "{error}"
        );
        assert!(load("/nowhere/plan.toml").is_err());
    }
}
