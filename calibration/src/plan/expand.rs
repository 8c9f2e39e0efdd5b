//! From a plan and a place to the points: products, model breaks, ratios of the line rate, held-out points.

use super::breaks;
use super::document::{ALWAYS, BREAKS, Grid, NONE, Plan, SAME, Written, list};
use super::mark::RunKind;
use super::options::{self, Setting, Settings};
use super::point::{Background, Point, digest_of};
use crate::error::{Error, Result, require};
use serde::Serialize;
use std::collections::BTreeSet;
use toml::Value;

/// Where a plan is carried out, as far as its points depend on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Context {
    /// `lab:TOPOLOGY` or `to:ADDRESS`.
    pub place: String,
    /// The line rate that ratios mean, in b/s.
    pub line_rate_bps: Option<f64>,
    /// The MTU of the path where a point sets none, in bytes.
    pub mtu_bytes: u64,
    /// The plan is in its short form.
    pub short: bool,
}

/// One way through a grid: a value for each option, and the names of the streams beside.
type Choice<'a> = Vec<(&'a str, &'a Value)>;

/// Options whose lists go side by side.
type Group<'a> = Vec<(&'a str, &'a [Value])>;

impl Plan {
    /// SHA-256 of all that decides which runs are made and where, in hexadecimal.
    pub fn digest(&self, context: &Context) -> String {
        digest_of(&serde_json::json!({"plan": self.canonical(), "context": context}))
    }

    /// The points of the plan, each once, in the order of the text; the reference point last.
    ///
    /// # Errors
    /// [`Error::Question`] for a point that `icprobe run` would refuse, lists of unequal length that
    /// go side by side, or a ratio of an unknown line rate.
    pub fn points(&self, context: &Context) -> Result<Vec<Point>> {
        let context = Context {
            line_rate_bps: context.line_rate_bps.or(self.line_rate_bps()),
            ..context.clone()
        };
        let mut points: Vec<Point> = Vec::new();
        let mut known = BTreeSet::new();
        for grid in &self.grids {
            let expanded = Expansion {
                plan: self,
                grid,
                context: &context,
            }
            .points()?;
            points.extend(
                expanded
                    .into_iter()
                    .filter(|point| known.insert(point.id.clone())),
            );
        }
        points.extend(self.reference_point(&context)?);
        points.iter().try_for_each(Point::check)?;
        Ok(points)
    }

    fn reference_point(&self, context: &Context) -> Result<Option<Point>> {
        let Some(reference) = &self.reference else {
            return Ok(None);
        };
        let mut settings = read_all(&self.defaults, context)?;
        settings.extend(read_all(&reference.options, context)?);
        Ok(Some(Point::new(RunKind::Reference, settings, Vec::new())))
    }
}

fn read_all(written: &Written, context: &Context) -> Result<Settings> {
    let mut settings = Settings::new();
    for (name, value) in written {
        if let Some(setting) = options::read(name, value, context.line_rate_bps)? {
            settings.insert(name.clone(), setting);
        }
    }
    Ok(settings)
}

struct Expansion<'a> {
    plan: &'a Plan,
    grid: &'a Grid,
    context: &'a Context,
}

impl Expansion<'_> {
    fn points(&self) -> Result<Vec<Point>> {
        let always = [ALWAYS.to_owned()];
        let backgrounds = self.grid.background.as_deref().unwrap_or(&always);
        let mut points = Vec::new();
        let mut inner = Vec::new();
        for choice in self.choices()? {
            let settings = self.settings(&choice)?;
            for (settings, edge) in self.payloads(settings)? {
                for background in backgrounds {
                    points.push(self.point(settings.clone(), background)?);
                    inner.push(!edge);
                }
            }
        }
        self.hold_out(&mut points, &inner)?;
        Ok(points)
    }

    /// Every way through the lists, payload apart unless it goes side by side with another option.
    fn choices(&self) -> Result<Vec<Choice<'_>>> {
        let mut choices: Vec<Choice<'_>> = vec![Vec::new()];
        for group in self.groups()? {
            let length = group
                .iter()
                .map(|(_, values)| values.len())
                .max()
                .unwrap_or(0);
            choices =
                (choices.iter())
                    .flat_map(|choice| {
                        (0..length).map(|index| {
                            let mut longer = choice.clone();
                            longer.extend(group.iter().map(|(name, values)| {
                                (*name, &values[index.min(values.len() - 1)])
                            }));
                            longer
                        })
                    })
                    .collect();
        }
        Ok(choices)
    }

    /// The options that go side by side, and each other one alone; empty lists are refused.
    fn groups(&self) -> Result<Vec<Group<'_>>> {
        let options = &self.grid.options;
        let mut groups = Vec::new();
        let mut zipped = BTreeSet::new();
        for names in &self.grid.zip {
            let group: Group<'_> = (names.iter())
                .filter_map(|name| options.get_key_value(name))
                .map(|(name, values)| (name.as_str(), list(values)))
                .collect();
            let lengths: BTreeSet<usize> = group.iter().map(|(_, values)| values.len()).collect();
            let several = lengths.iter().filter(|length| **length != 1).count();
            require(group.len() == names.len() && several <= 1, || {
                format!(
                    "zip {names:?}: give options of this grid with lists of one length, each in one group"
                )
            })?;
            for (name, _) in &group {
                require(zipped.insert(*name), || {
                    format!("`{name}` stands in two groups of zip")
                })?;
            }
            groups.push(group);
        }
        let alone = options
            .iter()
            .filter(|(name, _)| !zipped.contains(name.as_str()));
        groups.extend(
            alone
                .filter(|(name, _)| *name != "payload")
                .map(|(name, v)| vec![(name.as_str(), list(v))]),
        );
        let empty = options.iter().find(|(_, values)| list(values).is_empty());
        require(empty.is_none(), || {
            format!(
                "the list of `{}` is empty: give a value",
                empty.map_or("", |(name, _)| name)
            )
        })?;
        Ok(groups)
    }

    fn settings(&self, choice: &Choice<'_>) -> Result<Settings> {
        let mut settings = read_all(&self.plan.defaults, self.context)?;
        for (name, value) in choice {
            match options::read(name, value, self.context.line_rate_bps)? {
                Some(setting) => settings.insert((*name).to_owned(), setting),
                None => settings.remove(*name),
            };
        }
        if settings.contains_key("frames") {
            settings.remove("duration");
        }
        Ok(settings)
    }

    /// The settings with each payload of the list, and whether it is the smallest or largest of them.
    fn payloads(&self, settings: Settings) -> Result<Vec<(Settings, bool)>> {
        let zipped = self.grid.zip.iter().flatten().any(|name| name == "payload");
        let Some(values) = self.grid.options.get("payload").filter(|_| !zipped) else {
            return Ok(vec![(settings, false)]);
        };
        let mut payloads = BTreeSet::new();
        for value in list(values) {
            if value.as_str() == Some(BREAKS) {
                payloads.extend(self.breaks(&settings)?);
            } else if let Some(Setting::Count(bytes)) = options::read("payload", value, None)? {
                payloads.insert(bytes);
            }
        }
        let ends = [payloads.first().copied(), payloads.last().copied()];
        let with = |bytes: u64| {
            let mut settings = settings.clone();
            settings.insert("payload".into(), Setting::Count(bytes));
            (settings, ends.contains(&Some(bytes)))
        };
        Ok(payloads.iter().map(|bytes| with(*bytes)).collect())
    }

    fn breaks(&self, settings: &Settings) -> Result<Vec<u64>> {
        let Some(Setting::Text(protocol)) = settings.get("protocol") else {
            return Err(Error::question(
                "payload breaks need a protocol: set `protocol`",
            ));
        };
        let mtu_bytes = match settings.get("mtu") {
            Some(Setting::Count(bytes)) => *bytes,
            _ => self.context.mtu_bytes,
        };
        Ok(breaks::payloads(protocol, mtu_bytes))
    }

    fn point(&self, settings: Settings, background: &str) -> Result<Point> {
        let kind = match (self.grid.search, self.grid.held_out) {
            (true, _) => RunKind::Search,
            (false, true) => RunKind::HeldOut,
            (false, false) => RunKind::Grid,
        };
        let loaded = settings.contains_key("load") || settings.contains_key("rate");
        require(!(self.grid.search && loaded), || {
            "a grid that is searched has no load or rate of its own: leave them out".into()
        })?;
        let beside = self.background(background, &settings)?;
        let mut point = Point::new(kind, settings, beside);
        point.optional = self.grid.optional;
        Ok(point)
    }

    fn background(&self, name: &str, measured: &Settings) -> Result<Vec<Background>> {
        let named = self
            .plan
            .backgrounds
            .iter()
            .filter(|stream| stream.name == name && name != NONE);
        named
            .map(|stream| {
                let mut settings = Settings::new();
                for (name, value) in &stream.options {
                    let setting = if value.as_str() == Some(SAME) {
                        measured.get(name).cloned()
                    } else {
                        options::read(name, value, self.context.line_rate_bps)?
                    };
                    settings.extend(setting.map(|setting| (name.clone(), setting)));
                }
                Ok(Background {
                    from: stream.from.clone(),
                    to: stream.to.clone(),
                    settings,
                })
            })
            .collect()
    }

    /// Marks the held-out points: those that match, and the share of the inner ones with the
    /// smallest identities, so that neither order nor chance decides and no fit must extrapolate.
    fn hold_out(&self, points: &mut [Point], inner: &[bool]) -> Result<()> {
        let rule = &self.plan.held_out;
        let matching: Vec<Settings> = rule
            .matching
            .iter()
            .map(|w| read_all(w, self.context))
            .collect::<Result<_>>()?;
        let share = (rule.fraction * (1u64 << 32) as f64) as u64;
        for (point, inner) in points.iter_mut().zip(inner) {
            let has = |wanted: &Settings| {
                wanted
                    .iter()
                    .all(|(name, setting)| point.settings.get(name) == Some(setting))
            };
            let number = u64::from_str_radix(&point.id[..8], 16).unwrap_or(u64::MAX);
            let chosen = *inner && number < share;
            if point.kind == RunKind::Grid && (chosen || matching.iter().any(has)) {
                point.kind = RunKind::HeldOut;
                point.held_out = true;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "expand_tests.rs"]
mod tests;
