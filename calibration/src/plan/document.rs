//! Plan document: TOML text, rejected as a whole if any part is invalid.

use super::options::Options;
use super::search::SearchDocument;
use crate::error::{Context, Error, Result, require};
use serde::Deserialize;
use toml::{Table, Value};

/// Plan, in full or short form.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name, also written to records.
    pub name: String,
    /// Purpose of the plan.
    pub description: String,
    /// Published experiment that the plan repeats.
    pub source: String,
    /// Line rate to which loads in percent refer, if the place has none.
    line_rate: Option<String>,
    /// Default options of all points; a grid can override them.
    #[serde(default)]
    pub defaults: Options,
    /// The grids.
    #[serde(default, rename = "grid")]
    pub grids: Vec<Grid>,
    /// Reference point, repeated between the others.
    pub reference: Option<Reference>,
    /// Number of repeats of each point.
    #[serde(default)]
    pub repeats: Repeats,
    /// Search for the highest loss-free rate.
    pub search: Option<SearchDocument>,
    /// Background streams.
    #[serde(default, rename = "background")]
    pub backgrounds: Vec<Stream>,
    /// Test network of the plan.
    pub lab: Option<LabChoice>,
    /// Changes made by `--short`.
    short: Option<Table>,
    #[serde(skip)]
    canonical: Table,
}

/// A list of values for each option; their product is measured.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Grid {
    /// Groups of options whose lists are combined element by element (zip), not multiplied.
    #[serde(default)]
    pub zip: Vec<Vec<String>>,
    /// Names of the background streams, one point each; `none` for silence.
    #[serde(default)]
    pub background: Option<Vec<String>>,
    /// All its points are held out of fits.
    #[serde(default)]
    pub held_out: bool,
    /// If the hosts refuse its points, the campaign still succeeds.
    #[serde(default)]
    pub optional: bool,
    /// Search the highest loss-free load of its points instead of setting a load.
    #[serde(default)]
    pub search: bool,
    /// The options, each with one value or a list.
    #[serde(flatten)]
    pub options: Options,
}

/// The reference point.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Reference {
    /// Number of other runs between two reference runs.
    pub every: u32,
    /// Its options.
    #[serde(flatten)]
    pub options: Options,
}

/// Number of repeats of each point.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Repeats {
    /// Minimum number of runs.
    pub min: u32,
    /// Maximum number of runs.
    pub max: u32,
    /// Confidence of the intervals of the mean, 0…1.
    pub confidence: f64,
    /// Target half-width of the interval, relative to the mean.
    pub width: f64,
    /// Quantities of the record's `result` to which the target applies.
    pub metrics: Vec<String>,
}

/// Background stream.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Stream {
    /// Name used by grids; streams with the same name run together.
    #[serde(default = "always")]
    pub name: String,
    /// The lab's host that sends.
    pub from: String,
    /// The lab's host that receives.
    pub to: String,
    /// Its options; the value `same` takes the measured stream's.
    #[serde(flatten)]
    pub options: Options,
}

/// The test network a plan is meant for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabChoice {
    /// Name or path of the topology.
    pub topology: String,
    /// The host that calls.
    pub from: String,
    /// The host that responds.
    pub to: String,
}

/// Default name of background streams; grids need not list it.
pub const ALWAYS: &str = "always";
/// Name that selects no background stream.
pub const NONE: &str = "none";
/// Option value that copies the measured stream's value to a background stream.
pub const SAME: &str = "same";

fn always() -> String {
    ALWAYS.into()
}

impl Default for Repeats {
    fn default() -> Self {
        Self {
            min: 1,
            max: 1,
            confidence: 0.95,
            width: 0.05,
            metrics: vec!["goodput_bps".into()],
        }
    }
}

impl Plan {
    /// Reads a plan in its full form.
    ///
    /// # Errors
    /// [`Error::Question`] for an invalid plan; names the key and the allowed values.
    pub fn parse(text: &str) -> Result<Self> {
        let table: Table = text.parse().or_question("the plan is not TOML")?;
        Self::read(table)
    }

    /// Applies the `[short]` section: tables are merged, other values are replaced.
    ///
    /// # Errors
    /// [`Error::Question`] if the section is missing or the result is invalid.
    pub fn shortened(&self) -> Result<Self> {
        let short = self.short.as_ref().ok_or_else(|| {
            Error::question(format!(
                "the plan {} has no section [short]: leave --short out",
                self.name
            ))
        })?;
        let mut table = self.canonical.clone();
        merge(&mut table, short);
        Self::read(table)
    }

    fn read(table: Table) -> Result<Self> {
        let mut plan: Self = Value::Table(table.clone())
            .try_into()
            .or_question("the plan")?;
        plan.canonical = table;
        plan.canonical.remove("short");
        plan.check()
            .map_err(|error| Error::question(format!("the plan {}: {error}", plan.name)))?;
        Ok(plan)
    }

    /// The line rate the plan itself names, in b/s.
    pub fn line_rate_bps(&self) -> Option<f64> {
        self.line_rate
            .as_deref()
            .and_then(|text| crate::units::parse_bits_per_s(text).ok())
    }

    /// Canonical form of the plan for its digest, without descriptions.
    pub(super) fn canonical(&self) -> serde_json::Value {
        let mut table = self.canonical.clone();
        table.remove("description");
        table.remove("source");
        serde_json::to_value(table).unwrap_or_default()
    }

    fn check(&self) -> Result<()> {
        if let Some(rate) = &self.line_rate {
            crate::units::parse_bits_per_s(rate)?;
        }
        require(!self.grids.is_empty(), || {
            "it has no [[grid]]: give at least one".into()
        })?;
        self.repeats.check()?;
        for grid in &self.grids {
            self.check_grid(grid)?;
        }
        if let Some(reference) = &self.reference {
            require(reference.every > 0, || {
                "the reference's `every` must be 1 or more".into()
            })?;
        }
        self.backgrounds.iter().try_for_each(Stream::check)?;
        self.search
            .as_ref()
            .map_or(Ok(()), |search| search.rule(Some(1e9)).map(|_| ()))
    }

    fn check_grid(&self, grid: &Grid) -> Result<()> {
        let known =
            |name: &String| name == NONE || self.backgrounds.iter().any(|b| b.name == *name);
        let unknown = grid.background.iter().flatten().find(|name| !known(name));
        require(unknown.is_none(), || {
            format!("a grid names the background {unknown:?}, which no [[background]] has")
        })?;
        require(!grid.search || self.search.is_some(), || {
            "a grid asks for a search: add a section [search]".into()
        })
    }
}

impl Repeats {
    fn check(&self) -> Result<()> {
        require(
            1 <= self.min && self.min <= self.max && self.max <= 1000,
            || {
                format!(
                    "{} to {} repeats: give 1 ≤ min ≤ max ≤ 1000",
                    self.min, self.max
                )
            },
        )?;
        require(self.min == self.max || self.min >= 2, || {
            "repeats with a target width need `min` of 2 or more".into()
        })?;
        let inside = |value: f64| value > 0.0 && value < 1.0;
        require(
            inside(self.confidence) && self.width > 0.0 && self.width.is_finite(),
            || "the repeats' confidence must lie between 0 and 1 and the width above 0".into(),
        )?;
        require(!self.metrics.is_empty(), || {
            "the repeats name no metric: give one".into()
        })
    }
}

impl Stream {
    fn check(&self) -> Result<()> {
        require(self.name != NONE, || {
            format!("`{NONE}` means no background: give another name")
        })
    }
}

/// One value, or the values of a list.
pub(super) fn list(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) => values,
        one => std::slice::from_ref(one),
    }
}

fn merge(base: &mut Table, over: &Table) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(Value::Table(inner)), Value::Table(changes)) => merge(inner, changes),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
