//! Expansion of a plan into points: products of the lists, loads in percent resolved.

use super::document::{ALWAYS, Grid, NONE, Plan, SAME, list};
use super::mark::RunKind;
use super::options::{Options, resolved};
use super::point::{Background, Point, digest_of};
use crate::error::{Result, require};
use serde::Serialize;
use std::collections::BTreeSet;

/// Properties of the place that the points depend on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Context {
    /// `lab:TOPOLOGY` or `to:ADDRESS`.
    pub place: String,
    /// Line rate to which loads in percent refer, in b/s.
    pub line_rate_bps: Option<f64>,
    /// The plan is in its short form.
    pub short: bool,
}

impl Plan {
    /// SHA-256 (hexadecimal) of the canonical plan and the context: identifies the campaign.
    pub fn digest(&self, context: &Context) -> String {
        digest_of(&serde_json::json!({"plan": self.canonical(), "context": context}))
    }

    /// The points of the plan, each once, in the order of the text; the reference point last.
    ///
    /// # Errors
    /// [`crate::error::Error::Question`] if `icprobe run` would refuse a point, zipped lists have
    /// unequal lengths, or a load is in percent and the line rate is unknown.
    pub fn points(&self, context: &Context) -> Result<Vec<Point>> {
        let line_rate_bps = context.line_rate_bps.or(self.line_rate_bps());
        let always = [ALWAYS.to_owned()];
        let mut points = Vec::new();
        let mut known = BTreeSet::new();
        for grid in &self.grids {
            for choice in grid.choices(&self.defaults)? {
                let options = resolved(&choice, line_rate_bps)?;
                for beside in grid.background.as_deref().unwrap_or(&always) {
                    let beside = self.beside(beside, &options, line_rate_bps)?;
                    let point = grid.point(options.clone(), beside)?;
                    if known.insert(point.id.clone()) {
                        points.push(point);
                    }
                }
            }
        }
        points.extend(self.reference_point(line_rate_bps)?);
        Ok(points)
    }

    fn reference_point(&self, line_rate_bps: Option<f64>) -> Result<Option<Point>> {
        let Some(reference) = &self.reference else {
            return Ok(None);
        };
        let mut options = self.defaults.clone();
        options.extend(reference.options.clone());
        let options = resolved(&options, line_rate_bps)?;
        Point::new(RunKind::Reference, options, Vec::new()).map(Some)
    }

    /// Background streams of a name, with `same` replaced by the measured stream's values.
    fn beside(
        &self,
        name: &str,
        measured: &Options,
        line_rate_bps: Option<f64>,
    ) -> Result<Vec<Background>> {
        let streams = self.backgrounds.iter();
        let named = streams.filter(|stream| stream.name == name && name != NONE);
        named
            .map(|stream| {
                let (same, mut own): (Options, Options) = (stream.options.clone().into_iter())
                    .partition(|(_, value)| value.as_str() == Some(SAME));
                own = resolved(&own, line_rate_bps)?;
                let taken = same.into_keys().filter_map(|name| {
                    let value = measured.get(&name)?.clone();
                    Some((name, value))
                });
                own.extend(taken);
                Ok(Background {
                    from: stream.from.clone(),
                    to: stream.to.clone(),
                    options: own,
                })
            })
            .collect()
    }
}

impl Grid {
    /// All combinations of the lists, on top of the plan's defaults.
    fn choices(&self, defaults: &Options) -> Result<Vec<Options>> {
        let together: Vec<&String> = self.zip.iter().flatten().collect();
        let distinct: BTreeSet<&String> = together.iter().copied().collect();
        require(distinct.len() == together.len(), || {
            format!("zip {:?}: name each option once", self.zip)
        })?;
        let alone = self.options.keys().filter(|name| !distinct.contains(name));
        let alone = alone.map(|name| vec![name.clone()]);
        let mut choices = vec![defaults.clone()];
        for names in self.zip.iter().cloned().chain(alone) {
            let steps = self.steps(&names)?;
            let longer = |choice: &Options| -> Vec<Options> {
                let with = |step: &Options| {
                    let mut longer = choice.clone();
                    longer.extend(step.clone());
                    longer
                };
                steps.iter().map(with).collect()
            };
            choices = choices.iter().flat_map(longer).collect();
        }
        Ok(choices)
    }

    /// Values of zipped options; a single value is used for all elements.
    fn steps(&self, names: &[String]) -> Result<Vec<Options>> {
        let lists: Vec<_> = names
            .iter()
            .map(|name| self.options.get(name).map_or(&[][..], list))
            .collect();
        let length = lists.iter().map(|values| values.len()).max().unwrap_or(0);
        require(
            lists
                .iter()
                .all(|values| values.len() == length || values.len() == 1),
            || format!("zip {names:?}: give options of this grid with lists of one length"),
        )?;
        require(length > 0, || {
            format!("the list of {names:?} is empty: give a value")
        })?;
        let step = |index: usize| {
            let values = names.iter().cloned().zip(&lists);
            values
                .map(|(name, values)| (name, values[index.min(values.len() - 1)].clone()))
                .collect()
        };
        Ok((0..length).map(step).collect())
    }

    fn point(&self, options: Options, beside: Vec<Background>) -> Result<Point> {
        let kind = match (self.search, self.held_out) {
            (true, _) => RunKind::Search,
            (false, true) => RunKind::HeldOut,
            (false, false) => RunKind::Grid,
        };
        let loaded = options.contains_key("load") || options.contains_key("rate");
        require(!(self.search && loaded), || {
            "a grid that is searched has no load or rate of its own: leave them out".into()
        })?;
        let mut point = Point::new(kind, options, beside)?;
        point.optional = self.optional;
        Ok(point)
    }
}

#[cfg(test)]
#[path = "expand_tests.rs"]
mod tests;
