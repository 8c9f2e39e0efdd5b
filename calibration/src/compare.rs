//! Comparison of two runs or campaigns: differences between the hosts first, then point by point.

mod text;

use crate::error::{Context, Error, Result};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Confidence level of the interval of a ratio.
const CONFIDENCE: f64 = 0.95;

/// The records of one side.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    records: Vec<Value>,
}

/// Result of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Properties of hosts and settings that differ between A and B, or vary within one of them.
    pub environment: Vec<EnvironmentDifference>,
    /// Points present in both A and B.
    pub points: Vec<PointComparison>,
    /// Points only A has.
    pub only_a: Vec<String>,
    /// Points only B has.
    pub only_b: Vec<String>,
    /// Number of flagged records in A and in B.
    pub flagged: [usize; 2],
}

/// One property of the environment whose values differ.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EnvironmentDifference {
    /// Path in the record, e.g. `send.kernel`.
    pub key: String,
    /// All its values in A.
    pub a: Vec<String>,
    /// All its values in B.
    pub b: Vec<String>,
}

/// One point present in both A and B.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PointComparison {
    /// Settings common to A and B, as text.
    pub point: String,
    /// Settings that differ, if A and B have a single point each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<EnvironmentDifference>,
    /// All quantities measured in both A and B.
    pub metrics: BTreeMap<String, MetricComparison>,
}

/// One quantity at one point.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MetricComparison {
    /// Number of runs in A and in B.
    pub n: [usize; 2],
    /// Median of A, in SI.
    pub median_a: f64,
    /// Median of B, in SI.
    pub median_b: f64,
    /// Minimum and maximum of A.
    pub range_a: [f64; 2],
    /// Minimum and maximum of B.
    pub range_b: [f64; 2],
    /// Median of B divided by median of A; absent if A's median is zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Distribution-free 95 % interval of the ratio (Moses 1953, from the ranks of Mann and Whitney).
    /// Absent if there are too few runs or if a value is not positive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_interval: Option<[f64; 2]>,
}

impl Side {
    /// Reads a record file: one JSON object, or one per line. An incomplete last line is ignored.
    ///
    /// # Errors
    /// [`Error::Question`] if the file cannot be read or contains no record.
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).or_question(path.display())?;
        Self::parse(&text).or_question(path.display())
    }

    /// Reads the text of a record file.
    ///
    /// # Errors
    /// [`Error::Question`] if the text contains no record, or anything else than records.
    pub fn parse(text: &str) -> Result<Self> {
        let mut records = Vec::new();
        for record in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
            match record {
                Ok(record) if record.get("result").is_some_and(Value::is_object) => {
                    records.push(record)
                }
                Ok(_) => return Err(Error::question("it contains JSON that is not a record")),
                Err(error) if error.is_eof() && !records.is_empty() => break,
                Err(error) => return Err(Error::question(format!("it is not JSON: {error}"))),
            }
        }
        if records.is_empty() {
            return Err(Error::question("it contains no record"));
        }
        Ok(Self { records })
    }

    fn points(&self, ignore: &[String]) -> BTreeMap<Settings, Vec<&Value>> {
        let mut points: BTreeMap<Settings, Vec<&Value>> = BTreeMap::new();
        for record in &self.records {
            let mut settings = flattened(record.get("point"));
            settings.retain(|name, _| !ignore.contains(name));
            points.entry(settings).or_default().push(record);
        }
        points
    }

    fn environment(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for record in &self.records {
            for (key, value) in flattened(record.get("environment")) {
                all.entry(key).or_default().insert(value);
            }
        }
        all
    }

    fn flagged(&self) -> usize {
        let flagged = |record: &&Value| {
            record
                .get("flags")
                .and_then(Value::as_array)
                .is_some_and(|flags| !flags.is_empty())
        };
        self.records.iter().filter(flagged).count()
    }
}

/// Settings by name, as text.
type Settings = BTreeMap<String, String>;

/// Collects an object's scalars by their path, as text.
fn flattened(value: Option<&Value>) -> Settings {
    fn walk(path: &str, value: &Value, into: &mut Settings) {
        match value {
            Value::Object(map) => {
                for (key, inner) in map {
                    let path = if path.is_empty() {
                        key.clone()
                    } else {
                        format!("{path}.{key}")
                    };
                    walk(&path, inner, into);
                }
            }
            Value::String(text) => {
                into.insert(path.to_owned(), text.clone());
            }
            Value::Null => {}
            other => {
                into.insert(path.to_owned(), other.to_string());
            }
        }
    }
    let mut settings = Settings::new();
    if let Some(value) = value {
        walk("", value, &mut settings);
    }
    settings
}

/// Compares A and B. Points match if all settings except the ignored ones are equal.
/// If A and B have a single point each, these two are compared even if their settings differ.
pub fn compare(a: &Side, b: &Side, ignore: &[String], metrics: &[String]) -> Comparison {
    let (points_a, points_b) = (a.points(ignore), b.points(ignore));
    let mut comparison = Comparison {
        environment: differences(&a.environment(), &b.environment()),
        points: Vec::new(),
        only_a: Vec::new(),
        only_b: Vec::new(),
        flagged: [a.flagged(), b.flagged()],
    };
    if points_a.len() == 1 && points_b.len() == 1 {
        let pair = points_a.first_key_value().zip(points_b.first_key_value());
        comparison
            .points
            .extend(pair.map(|((a, runs_a), (b, runs_b))| {
                let common = a.iter().filter(|(key, value)| b.get(*key) == Some(value));
                let common = common
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect();
                point(
                    &common,
                    differences(&as_sets(a), &as_sets(b)),
                    runs_a,
                    runs_b,
                    metrics,
                )
            }));
        return comparison;
    }
    for (settings, runs_a) in &points_a {
        match points_b.get(settings) {
            Some(runs_b) => {
                comparison
                    .points
                    .push(point(settings, Vec::new(), runs_a, runs_b, metrics));
            }
            None => comparison.only_a.push(words(settings)),
        }
    }
    let only_b = points_b
        .keys()
        .filter(|settings| !points_a.contains_key(*settings));
    comparison.only_b = only_b.map(words).collect();
    comparison
}

fn as_sets(settings: &Settings) -> BTreeMap<String, BTreeSet<String>> {
    settings
        .iter()
        .map(|(key, value)| (key.clone(), BTreeSet::from([value.clone()])))
        .collect()
}

/// Keys whose values differ between A and B or within one of them.
fn differences(
    a: &BTreeMap<String, BTreeSet<String>>,
    b: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<EnvironmentDifference> {
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let values = |side: &BTreeMap<String, BTreeSet<String>>, key: &String| -> Vec<String> {
        side.get(key).into_iter().flatten().cloned().collect()
    };
    let all = keys.into_iter().map(|key| EnvironmentDifference {
        key: key.clone(),
        a: values(a, key),
        b: values(b, key),
    });
    all.filter(|difference| difference.a != difference.b || difference.a.len() > 1)
        .collect()
}

fn words(settings: &Settings) -> String {
    settings
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect::<Vec<_>>()
        .join(" ")
}

fn point(
    settings: &Settings,
    differing: Vec<EnvironmentDifference>,
    a: &[&Value],
    b: &[&Value],
    metrics: &[String],
) -> PointComparison {
    let (values_a, values_b) = (by_metric(a), by_metric(b));
    let asked = |name: &String| metrics.is_empty() || metrics.contains(name);
    let both = values_a.iter().filter(|(name, _)| asked(name));
    let both = both.filter_map(|(name, a)| Some((name.clone(), metric(a, values_b.get(name)?))));
    PointComparison {
        point: words(settings),
        differing,
        metrics: both.collect(),
    }
}

/// All numbers of the records' results by quantity; values sorted.
fn by_metric(records: &[&Value]) -> BTreeMap<String, Vec<f64>> {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for result in records
        .iter()
        .filter_map(|record| record.get("result")?.as_object())
    {
        for (name, value) in crate::campaign::reading::numbers(result) {
            all.entry(name).or_default().push(value);
        }
    }
    all.values_mut()
        .for_each(|values| values.sort_by(f64::total_cmp));
    all
}

/// Compares sorted, non-empty values.
fn metric(a: &[f64], b: &[f64]) -> MetricComparison {
    let range = |values: &[f64]| {
        [
            values.first().copied().unwrap_or(f64::NAN),
            values.last().copied().unwrap_or(f64::NAN),
        ]
    };
    let (median_a, median_b) = (median(a), median(b));
    MetricComparison {
        n: [a.len(), b.len()],
        median_a,
        median_b,
        range_a: range(a),
        range_b: range(b),
        ratio: (median_a != 0.0).then(|| median_b / median_a),
        ratio_interval: ratio_interval(a, b, CONFIDENCE),
    }
}

fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[half],
        _ => (sorted[half - 1] + sorted[half]) / 2.0,
    }
}

/// Confidence interval of the ratio of the distributions' positions, between two ranks of all ratios b/a;
/// distribution-free (Moses; Hollander and Wolfe §4.3).
fn ratio_interval(a: &[f64], b: &[f64], confidence: f64) -> Option<[f64; 2]> {
    if a.iter().chain(b).any(|value| *value <= 0.0) {
        return None;
    }
    let rank = mann_whitney_rank(a.len(), b.len(), (1.0 - confidence) / 2.0)?;
    let mut ratios: Vec<f64> = b
        .iter()
        .flat_map(|b| a.iter().map(move |a| b / a))
        .collect();
    ratios.sort_by(f64::total_cmp);
    Some([ratios[rank - 1], ratios[ratios.len() - rank]])
}

/// Maximum runs per side for the exact distribution; above it the normal approximation is used.
const EXACT_MOST: usize = 30;

/// The greatest rank k ≥ 1 with P(U ≤ k − 1) ≤ `tail` for the Mann–Whitney statistic; `None` with too few values.
fn mann_whitney_rank(a: usize, b: usize, tail: f64) -> Option<usize> {
    if a.max(b) > EXACT_MOST {
        let (n, m) = (a as f64, b as f64);
        let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
        // Normal quantile, computed as Student's t with very many degrees of freedom.
        let quantile = crate::statistics::confidence::student_t(1.0 - 2.0 * tail, 1e9);
        let rank = (n * m / 2.0 - quantile * deviation).floor();
        return (rank >= 1.0).then_some(rank as usize);
    }
    let counts = mann_whitney_counts(a, b);
    let all: f64 = counts.iter().sum();
    let mut sum = 0.0;
    let rank = counts.iter().take_while(|count| {
        sum += **count;
        sum / all <= tail
    });
    let rank = rank.count();
    (rank > 0).then_some(rank)
}

/// Number of orderings of a + b distinct values for each value of U: the coefficients of the Gaussian
/// binomial, ∏ (1 − q^(b+i)) / (1 − q^i) for i = 1…a (Mann and Whitney 1947).
fn mann_whitney_counts(a: usize, b: usize) -> Vec<f64> {
    let mut counts = vec![0.0; a * b + 1];
    counts[0] = 1.0;
    for i in 1..=a {
        for u in ((b + i)..counts.len()).rev() {
            counts[u] -= counts[u - b - i];
        }
        for u in i..counts.len() {
            counts[u] += counts[u - i];
        }
    }
    counts
}

#[cfg(test)]
mod tests;
