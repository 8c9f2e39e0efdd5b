//! Campaigns: the runs of a plan in sequence, each recorded before the next starts, so that a killed campaign
//! can resume.

mod agenda;
pub mod children;
mod journal;
pub mod place;
mod progress;
pub mod reading;
mod summary;

pub use agenda::Agenda;
pub use journal::Journal;
pub use progress::{Progress, span as duration_span};
pub use summary::{Summary, table};

use crate::error::{Error, Result};
use crate::plan::mark::{BackgroundMark, PlanMark};
use crate::plan::{Context, Plan, RunSpec};
use reading::Reading;
use std::path::Path;

/// Consecutive failed runs after which a campaign ends early, because the peer is gone.
const FAILURES_IN_A_ROW: u32 = 5;

/// Result of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The record, one line of JSON as `icprobe run` printed it.
    pub line: String,
    /// Measurements of the background streams.
    pub background: Vec<BackgroundMark>,
}

/// Makes runs.
pub trait Runner {
    /// Makes one run.
    ///
    /// # Errors
    /// [`Error::Question`] if the hosts refuse the run, [`Error::Peer`] if the run failed.
    fn run(&mut self, spec: &RunSpec) -> Result<Measured>;

    /// Repairs what may have broken before a failed run is tried again.
    ///
    /// # Errors
    /// [`Error::Peer`] if the repair fails.
    fn recover(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Campaign that is ready to run.
#[derive(Debug)]
pub struct Campaign {
    name: String,
    digest: String,
    journal: Journal,
    agenda: Agenda,
}

impl Campaign {
    /// Expands the plan, opens the records, and finds what is still to be done.
    ///
    /// # Errors
    /// [`Error::Question`] if the plan cannot be carried out at this place, or the records belong
    /// to another plan.
    pub fn open(plan: &Plan, context: &Context, records: &Path) -> Result<Self> {
        let digest = plan.digest(context);
        let points = plan.points(context)?;
        let mut agenda = Agenda::new(plan, points, &digest, context.line_rate_bps)?;
        let (journal, runs) = Journal::open(records, &digest)?;
        for (id, reading) in runs {
            agenda.learn(id, reading);
        }
        Ok(Self {
            name: plan.name.clone(),
            digest,
            journal,
            agenda,
        })
    }

    /// The plan's digest.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Agenda of the campaign.
    pub fn agenda(&self) -> &Agenda {
        &self.agenda
    }

    /// Makes all remaining runs.
    ///
    /// A run that fails is tried once more, then left out and named in the summary; the next campaign
    /// with the same records tries it again.
    ///
    /// # Errors
    /// [`Error::Question`] if the records cannot be written.
    pub fn conduct(&mut self, runner: &mut dyn Runner, progress: &mut Progress) -> Result<Summary> {
        let mut summary = Summary::default();
        let mut failures = 0;
        while let Some(spec) = self.agenda.next() {
            progress.begin(&self.agenda, &spec);
            match attempt(runner, &spec) {
                Ok((measured, reading)) => {
                    failures = 0;
                    progress.end(&spec, &reading);
                    self.record(&spec, &measured, reading)?;
                }
                Err(error) => {
                    progress.failed(&spec, &error);
                    failures += u32::from(!spec.point.optional);
                    self.leave_out(&spec, error, &mut summary);
                }
            }
            if failures == FAILURES_IN_A_ROW {
                summary.ended_early = true;
                break;
            }
        }
        progress.finish();
        Ok(summary)
    }

    fn leave_out(&mut self, spec: &RunSpec, error: Error, summary: &mut Summary) {
        match &error {
            Error::Question(_) => self.agenda.refuse(&spec.id()),
            Error::Peer(_) => self.agenda.give_up(spec.id()),
        }
        summary.left_out(spec, error);
    }

    fn record(&mut self, spec: &RunSpec, measured: &Measured, reading: Reading) -> Result<()> {
        let id = spec.id();
        self.agenda.learn(id.clone(), reading);
        let mark = PlanMark {
            name: self.name.clone(),
            digest: self.digest.clone(),
            point: id.point.clone(),
            repeat: id.repeat,
            kind: id.kind,
            held_out: spec.point.held_out,
            confidence: self.agenda.confidence(&id.point, id.kind, id.repeat),
            search: self.agenda.search(spec),
            background: measured.background.clone(),
        };
        self.journal.append(&marked(&measured.line, &mark)?)
    }
}

/// Makes a run; tries it a second time if the peer or the network failed.
fn attempt(runner: &mut dyn Runner, spec: &RunSpec) -> Result<(Measured, Reading)> {
    match once(runner, spec) {
        Err(Error::Peer(_)) => {
            runner.recover()?;
            once(runner, spec)
        }
        outcome => outcome,
    }
}

fn once(runner: &mut dyn Runner, spec: &RunSpec) -> Result<(Measured, Reading)> {
    let measured = runner.run(spec)?;
    let record = serde_json::from_str(&measured.line)
        .map_err(|error| Error::peer(format!("icprobe run did not print JSON: {error}")))?;
    let reading = Reading::of(&record)?;
    Ok((measured, reading))
}

/// Adds the key `plan` at the end of a record's line; the rest of the line is unchanged.
fn marked(line: &str, mark: &PlanMark) -> Result<String> {
    let mark = serde_json::to_string(mark).map_err(|error| {
        Error::question(format!("the place in the plan cannot be written: {error}"))
    })?;
    let body = line
        .trim_end()
        .strip_suffix('}')
        .unwrap_or_default()
        .trim_end();
    let comma = if body.ends_with('{') { "" } else { "," };
    Ok(format!("{body}{comma}\"plan\":{mark}}}"))
}

#[cfg(test)]
#[path = "campaign_tests.rs"]
mod tests;
