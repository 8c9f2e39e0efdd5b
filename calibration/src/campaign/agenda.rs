//! Agenda: the remaining runs, computed only from the plan and the recorded runs.

use super::reading::{Reading, is_repeated};
use crate::error::Result;
use crate::plan::mark::{ConfidenceMark, SearchMark};
use crate::plan::search::{self, SearchRule, Step, Trial};
use crate::plan::{Plan, Point, Repeats, RunId, RunKind, RunSpec, schedule};
use crate::statistics::confidence::StoppingRule;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Runs of a plan: finished runs and remaining runs.
#[derive(Debug)]
pub struct Agenda {
    runs: Vec<Slot>,
    /// Index in `runs` of each run.
    places: BTreeMap<RunId, usize>,
    /// Every point once; measured points come before searched points.
    points: Vec<Arc<Point>>,
    /// State of each point.
    known: Vec<Known>,
    repeats: Repeats,
    every: usize,
    search: Option<SearchRule>,
    done: BTreeMap<RunId, Reading>,
    given_up: BTreeSet<RunId>,
}

/// A run of the schedule.
#[derive(Debug)]
struct Slot {
    spec: RunSpec,
    /// Index of its point in the list of points.
    point: usize,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Done,
    GivenUp,
}

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// Number of the repeat at which the runs of the point agreed.
    met: Option<u32>,
    /// Whether the hosts refused the point.
    refused: bool,
}

impl Agenda {
    /// Creates the agenda of a plan's points, with no run done.
    ///
    /// # Errors
    /// [`crate::error::Error::Question`] if a search states loads in percent and the line rate is
    /// unknown.
    pub fn new(
        plan: &Plan,
        points: Vec<Point>,
        digest: &str,
        line_rate_bps: Option<f64>,
    ) -> Result<Self> {
        let points: Vec<Arc<Point>> = points.into_iter().map(Arc::new).collect();
        let every = plan.reference.as_ref().map(|reference| reference.every);
        let line_rate_bps = line_rate_bps.or(plan.line_rate_bps());
        let search = plan
            .search
            .as_ref()
            .map(|search| search.rule(line_rate_bps))
            .transpose()?;
        let mut agenda = Self {
            runs: Vec::new(),
            places: BTreeMap::new(),
            points: Vec::new(),
            known: Vec::new(),
            repeats: plan.repeats.clone(),
            every: every.unwrap_or(1) as usize,
            search,
            done: BTreeMap::new(),
            given_up: BTreeSet::new(),
        };
        agenda.fill(
            schedule(&points, plan.repeats.max, every, digest),
            schedule::searches(&points, digest),
        );
        Ok(agenda)
    }

    fn fill(&mut self, runs: Vec<RunSpec>, searched: Vec<Arc<Point>>) {
        let mut index = BTreeMap::new();
        for spec in runs {
            let next = self.points.len();
            let point = *index
                .entry((spec.point.id.clone(), spec.point.kind))
                .or_insert(next);
            if point == next {
                self.points.push(Arc::clone(&spec.point));
            }
            self.places.insert(spec.id(), self.runs.len());
            self.runs.push(Slot {
                spec,
                point,
                state: State::Open,
            });
        }
        self.points.extend(searched);
        self.known = vec![Known::default(); self.points.len()];
    }

    /// The next run to make, or `None` at the end.
    pub fn next(&self) -> Option<RunSpec> {
        let next = (0..self.runs.len()).find(|place| self.may_come(*place));
        let searches = || (0..self.points.len()).find_map(|point| self.next_trial(point));
        next.map(|place| self.runs[place].spec.clone())
            .or_else(searches)
    }

    /// Records the reading of a finished run.
    pub fn learn(&mut self, id: RunId, reading: Reading) {
        self.done.insert(id.clone(), reading);
        let Some(place) = self.places.get(&id).copied() else {
            return;
        };
        self.runs[place].state = State::Done;
        if self
            .confidence(&id.point, id.kind, id.repeat)
            .is_some_and(|mark| mark.met)
        {
            let met = &mut self.known[self.runs[place].point].met;
            *met = Some(met.map_or(id.repeat, |met| met.min(id.repeat)));
        }
    }

    /// Skips a run whose peer or network failed; the next campaign retries it.
    pub fn give_up(&mut self, id: RunId) {
        match self.places.get(&id) {
            Some(place) => self.runs[*place].state = State::GivenUp,
            None => {
                self.given_up.insert(id);
            }
        }
    }

    /// Skips all runs of a point that the hosts refuse.
    pub fn refuse(&mut self, id: &RunId) {
        let same = |point: &Arc<Point>| point.id == id.point && point.kind == id.kind;
        if let Some(point) = self.points.iter().position(same) {
            self.known[point].refused = true;
        }
    }

    /// The runs done.
    pub fn done(&self) -> &BTreeMap<RunId, Reading> {
        &self.done
    }

    /// The points that are measured or searched, each once, in the order of the runs.
    pub fn points(&self) -> &[Arc<Point>] {
        &self.points
    }

    /// Least and greatest number of remaining runs, each with the total time of these runs in
    /// seconds.
    ///
    /// The least number counts one trial per search. The greatest number counts all bisections,
    /// each with all its trials.
    pub fn remaining(&self) -> ((usize, f64), (usize, f64)) {
        let mut least = (0, 0.0);
        let mut most = (0, 0.0);
        let count = |sum: &mut (usize, f64), runs: usize, point: &Point| {
            sum.0 += runs;
            sum.1 += runs as f64 * point.estimate_s();
        };
        let sure_runs = self.sure_runs();
        for (place, slot) in self
            .runs
            .iter()
            .enumerate()
            .filter(|(place, _)| self.may_come(*place))
        {
            let point = &slot.spec.point;
            count(&mut most, 1, point);
            let sure = match point.kind {
                RunKind::Reference => place / (self.every + 1) * self.every < sure_runs,
                _ => slot.spec.repeat < self.repeats.min,
            };
            count(&mut least, usize::from(sure), point);
        }
        for index in (0..self.points.len()).filter(|point| self.next_trial(*point).is_some()) {
            let point = &self.points[index];
            let trials = self.search.as_ref().map_or(0, most_trials);
            count(&mut least, 1, point);
            count(
                &mut most,
                trials.saturating_sub(self.trials(point).len()).max(1),
                point,
            );
        }
        (least, most)
    }

    /// Agreement of the first `repeat + 1` runs of a point; `None` if the plan has no repeats.
    pub fn confidence(&self, point: &str, kind: RunKind, repeat: u32) -> Option<ConfidenceMark> {
        if !is_repeated(kind) || self.repeats.max < 2 {
            return None;
        }
        let metrics = &self.repeats.metrics;
        let shared = 1.0 - (1.0 - self.repeats.confidence) / metrics.len() as f64;
        let rule = StoppingRule {
            min: self.repeats.min,
            max: self.repeats.max,
            confidence: shared,
            relative_width: self.repeats.width,
        };
        let runs: Vec<&Reading> = (0..=repeat)
            .filter_map(|r| self.reading(point, kind, r))
            .collect();
        let mut mark = ConfidenceMark {
            confidence: self.repeats.confidence,
            adjusted_confidence: shared,
            relative_width: self.repeats.width,
            runs: runs.len() as u32,
            met: true,
            relative_half_widths: BTreeMap::new(),
        };
        for metric in metrics {
            let values: Vec<f64> = runs
                .iter()
                .filter_map(|run| run.values.get(metric).copied())
                .collect();
            let judgement = rule.judge(&values);
            mark.adjusted_confidence = judgement.adjusted_confidence;
            mark.met &= judgement.met;
            mark.relative_half_widths
                .extend(judgement.relative_half_width.map(|w| (metric.clone(), w)));
        }
        Some(mark)
    }

    /// State of a search after its trial `repeat`.
    pub fn search(&self, spec: &RunSpec) -> Option<SearchMark> {
        let rule = self
            .search
            .as_ref()
            .filter(|_| spec.point.kind == RunKind::Search)?;
        let trials = self.trials(&spec.point);
        let mut mark = SearchMark {
            load_bps: spec.load_bps?,
            passed: trials.get(spec.repeat as usize).is_some_and(Trial::passed),
            ended: false,
            loss_free_bps: None,
            lossy_bps: None,
            loss_rate_high: None,
        };
        if let Step::Found(found) = search::next(rule, &trials) {
            mark.ended = true;
            mark.loss_free_bps = found.loss_free_bps;
            mark.lossy_bps = found.lossy_bps;
            mark.loss_rate_high = found.loss_free_bps.map(|_| found.loss_rate_high);
        }
        Some(mark)
    }

    /// Result of a finished search; `None` if unfinished or if the point is not searched.
    pub fn found(&self, point: &Point) -> Option<search::Found> {
        let rule = self
            .search
            .as_ref()
            .filter(|_| point.kind == RunKind::Search)?;
        match search::next(rule, &self.trials(point)) {
            Step::Found(found) => Some(found),
            Step::Try(_) => None,
        }
    }

    /// The runs of a point, in the order of its repeats.
    pub fn readings(&self, point: &Point) -> Vec<&Reading> {
        let first = RunId {
            point: point.id.clone(),
            kind: point.kind,
            repeat: 0,
        };
        let last = RunId {
            repeat: u32::MAX,
            ..first.clone()
        };
        self.done
            .range(first..=last)
            .map(|(_, reading)| reading)
            .collect()
    }

    fn reading(&self, point: &str, kind: RunKind, repeat: u32) -> Option<&Reading> {
        self.done.get(&RunId {
            point: point.to_owned(),
            kind,
            repeat,
        })
    }

    /// Whether the run at an index of the schedule is still to be made. It must be neither done nor
    /// given up; its point must not be refused, and must need more repeats.
    fn may_come(&self, place: usize) -> bool {
        let slot = &self.runs[place];
        let known = self.known[slot.point];
        if slot.state != State::Open || known.refused {
            return false;
        }
        match slot.spec.point.kind {
            RunKind::Reference => place == 0 || self.block_comes(place),
            _ => {
                slot.spec.repeat < self.repeats.min
                    || known.met.is_none_or(|met| slot.spec.repeat <= met)
            }
        }
    }

    /// Whether a run between this reference run and the next was made or will be made; otherwise
    /// this reference run is skipped.
    fn block_comes(&self, place: usize) -> bool {
        let end = (place + 1 + self.every).min(self.runs.len());
        (place + 1..end).any(|place| self.runs[place].state == State::Done || self.may_come(place))
    }

    /// Number of runs that are made in any case: repeats up to the minimum, without reference runs.
    fn sure_runs(&self) -> usize {
        let sure =
            |slot: &&Slot| is_repeated(slot.spec.point.kind) && slot.spec.repeat < self.repeats.min;
        self.runs.iter().filter(sure).count()
    }

    fn trials(&self, point: &Point) -> Vec<Trial> {
        let trial = |repeat| {
            self.reading(&point.id, point.kind, repeat)
                .map(|reading| reading.trial)
        };
        (0..).map_while(trial).collect()
    }

    fn next_trial(&self, index: usize) -> Option<RunSpec> {
        let point = &self.points[index];
        let rule = self
            .search
            .as_ref()
            .filter(|_| point.kind == RunKind::Search)?;
        let trials = self.trials(point);
        let Step::Try(load) = search::next(rule, &trials) else {
            return None;
        };
        let spec = RunSpec {
            point: Arc::clone(point),
            repeat: trials.len() as u32,
            load_bps: Some(load),
        };
        let left_out = self.known[index].refused || self.given_up.contains(&spec.id());
        (!left_out).then_some(spec)
    }
}

/// Greatest number of trials of a search: all bisections, each with all its trials.
fn most_trials(rule: &SearchRule) -> usize {
    let halvings = ((rule.highest_bps - rule.lowest_bps) / rule.resolution_bps)
        .log2()
        .ceil()
        .max(0.0);
    (halvings as usize + 2) * rule.trials as usize
}

#[cfg(test)]
#[path = "agenda_tests.rs"]
mod tests;
