//! `icprobe campaign`: measure the points of a plan and record the runs in a file.

use super::output::{print, print_json};
use crate::campaign::place::{ProcessRunner, Remote, Workshop};
use crate::campaign::{Campaign, Progress, duration_span};
use crate::error::{Context as _, Error, Result};
use crate::host::network;
use crate::interrupt;
use crate::lab::{self, Topology};
use crate::plan::options::arguments;
use crate::plan::{Context, Plan, catalogue, digest_of};
use crate::units::parse_bits_per_s;
use clap::Args;
use serde_json::json;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Arguments of `icprobe campaign`.
#[derive(Debug, Args)]
pub struct CampaignArgs {
    /// Name of a built-in plan (see --list), or path of a TOML file.
    #[arg(required_unless_present = "list")]
    plan: Option<String>,
    /// Record file, one JSON line per run. If it holds records of the same campaign, the campaign continues.
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["list", "dry_run"])]
    output: Option<PathBuf>,
    /// Measure in a new test network: name or file of a topology. Without a value: the plan's topology.
    #[arg(long, value_name = "TOPOLOGY", num_args = 0..=1, default_missing_value = "", conflicts_with = "to")]
    lab: Option<String>,
    /// Measure against the host where `icprobe serve` runs.
    #[arg(long, value_name = "ADDRESS", requires = "key")]
    to: Option<IpAddr>,
    /// Key file; both ends need the same key.
    #[arg(long, value_name = "FILE", conflicts_with = "lab")]
    key: Option<PathBuf>,
    /// Port of the control connection.
    #[arg(long, requires = "to")]
    port: Option<u16>,
    /// Network interface for direct Ethernet. Default: the interface that routes to ADDRESS.
    #[arg(long, requires = "to")]
    interface: Option<String>,
    /// Line rate to which loads in percent refer, e.g. "10 Gb/s". Default: the rate of the lab or interface.
    #[arg(long, value_name = "RATE", value_parser = parse_bits_per_s)]
    line_rate: Option<f64>,
    /// Use the short form of the plan: few points, short windows.
    #[arg(long)]
    short: bool,
    /// Print digest, points and estimated time as JSON without measuring.
    #[arg(long)]
    dry_run: bool,
    /// Print the names and descriptions of the built-in plans.
    #[arg(long)]
    list: bool,
}

/// Place of the measurement.
enum Target {
    Lab {
        topology: Box<Topology>,
        from: String,
        to: String,
    },
    Remote(IpAddr),
}

impl CampaignArgs {
    /// Starts or resumes the campaign.
    ///
    /// # Errors
    /// [`Error::Question`] for an invalid plan, place or file; [`Error::Peer`] if the lab cannot be used.
    pub fn run(self) -> Result<u8> {
        if self.list {
            return list();
        }
        let plan = catalogue::load(self.plan.as_deref().unwrap_or_default())?;
        let plan = if self.short { plan.shortened()? } else { plan };
        let target = self.target(&plan)?;
        let context = self.context(&target);
        match &self.output {
            Some(records) if !self.dry_run => self.measure(&plan, &context, target, records),
            _ => dry_run(&plan, &context),
        }
    }

    fn target(&self, plan: &Plan) -> Result<Target> {
        if let Some(address) = self.to {
            return Ok(Target::Remote(address));
        }
        let chosen = plan.lab.as_ref();
        let Some(lab) = &self.lab else {
            return Err(Error::question(
                "no place to measure: give --lab TOPOLOGY, or --to ADDRESS with --key FILE",
            ));
        };
        let name = match (lab.as_str(), chosen) {
            ("", Some(chosen)) => chosen.topology.as_str(),
            ("", None) => {
                return Err(Error::question(
                    "the plan names no lab: give --lab TOPOLOGY",
                ));
            }
            (given, _) => given,
        };
        let topology = Box::new(Topology::load(name)?);
        let host = |index: usize| topology.hosts.get(index).cloned().unwrap_or_default();
        let from = chosen.map_or_else(|| host(0), |chosen| chosen.from.clone());
        let to = chosen.map_or_else(|| host(1), |chosen| chosen.to.clone());
        Ok(Target::Lab { topology, from, to })
    }

    fn context(&self, target: &Target) -> Context {
        let (place, line_rate_bps) = match target {
            Target::Lab { topology, .. } => {
                (format!("lab:{}", topology.name), topology.line_rate_bps)
            }
            Target::Remote(address) => {
                let named = self.interface.clone();
                let interface = named.or_else(|| network::interface_towards(*address).ok());
                (
                    format!("to:{address}"),
                    interface.as_deref().and_then(speed_bps),
                )
            }
        };
        Context {
            place,
            line_rate_bps: self.line_rate.or(line_rate_bps),
            short: self.short,
        }
    }

    fn measure(
        &self,
        plan: &Plan,
        context: &Context,
        target: Target,
        records: &Path,
    ) -> Result<u8> {
        let mut campaign = Campaign::open(plan, context, records)?;
        announce(plan, &campaign);
        if campaign.agenda().next().is_none() {
            eprintln!("nothing left to do: all runs are recorded");
            return Ok(crate::campaign::Summary::default().exit_code(campaign.agenda()));
        }
        let program = std::env::current_exe().or_peer("the path of icprobe")?;
        match target {
            Target::Remote(address) => {
                let mut runner = ProcessRunner::remote(&program, self.remote(address)?);
                conduct(&mut campaign, &mut runner)
            }
            Target::Lab { topology, from, to } => {
                let topology = topology.renamed(&lab_name(records)?)?;
                in_lab(&mut campaign, &program, topology, [&from, &to], records)
            }
        }
    }

    fn remote(&self, address: IpAddr) -> Result<Remote> {
        let key = self
            .key
            .as_ref()
            .ok_or_else(|| Error::question("--to needs --key FILE"))?;
        let mut reach = vec![
            format!("--to={address}"),
            format!("--key={}", key.display()),
        ];
        reach.extend(self.port.map(|port| format!("--port={port}")));
        reach.extend(
            self.interface
                .as_ref()
                .map(|interface| format!("--interface={interface}")),
        );
        Ok(Remote { reach })
    }
}

fn list() -> Result<u8> {
    for (name, text) in catalogue::PLANS {
        print(&format!("{name:<20} {}", Plan::parse(text)?.description))?;
    }
    Ok(0)
}

fn dry_run(plan: &Plan, context: &Context) -> Result<u8> {
    let digest = plan.digest(context);
    let points = plan.points(context)?;
    let agenda =
        crate::campaign::Agenda::new(plan, points.clone(), &digest, context.line_rate_bps)?;
    let ((least, least_s), (most, most_s)) = agenda.remaining();
    let listed: Vec<_> = (points.iter())
        .map(|point| json!({"point": point, "arguments": arguments(&point.options)}))
        .collect();
    print_json(&json!({
        "name": plan.name, "digest": digest, "context": context, "points": listed,
        "runs_least": least, "runs_most": most, "time_least_s": least_s, "time_most_s": most_s,
    }))?;
    Ok(0)
}

/// Prints the number of runs, the estimated time and the digest before the start.
fn announce(plan: &Plan, campaign: &Campaign) {
    let agenda = campaign.agenda();
    let ((least, least_s), (most, most_s)) = agenda.remaining();
    let runs = if least == most {
        least.to_string()
    } else {
        format!("{least} to {most}")
    };
    eprintln!("{}: {}", plan.name, plan.description);
    eprintln!(
        "{} points, {} runs done, {runs} to come, about {}; digest {}",
        agenda.points().len(),
        agenda.done().len(),
        duration_span(least_s, most_s),
        &campaign.digest()[..16],
    );
}

fn conduct(campaign: &mut Campaign, runner: &mut ProcessRunner) -> Result<u8> {
    runner.check(campaign.agenda().points())?;
    let summary = campaign.conduct(runner, &mut Progress::new())?;
    eprint!("{}", summary.text(campaign.agenda()));
    Ok(summary.exit_code(campaign.agenda()))
}

/// Builds the lab, measures in it, and takes it down, also after an error or a signal.
/// After SIGKILL the lab stays up; the next campaign with the same record file finds it by name and rebuilds
/// it.
fn in_lab(
    campaign: &mut Campaign,
    program: &Path,
    topology: Topology,
    [from, to]: [&str; 2],
    records: &Path,
) -> Result<u8> {
    let workshop = Workshop::beside(records)?;
    let name = topology.name.clone();
    let tidy = {
        let workshop = workshop.clone();
        move || {
            let _ = lab::down(&name);
            workshop.close();
        }
    };
    interrupt::tidy_at_end(tidy.clone())?;
    let built = lab::up(&topology).and_then(|lab| {
        let key = workshop.key(program)?;
        ProcessRunner::in_lab(program, lab, from, to, &key)
    });
    let ended = built.and_then(|mut runner| conduct(campaign, &mut runner));
    tidy();
    ended
}

/// Lab name derived from the path of the record file: stable, and unique per file.
fn lab_name(records: &Path) -> Result<String> {
    let path = std::path::absolute(records).or_question("the path of the records")?;
    let digest = digest_of(&json!(path.to_string_lossy()));
    Ok(format!("campaign-{}", &digest[..6]))
}

/// Speed reported by an interface, in b/s (`/sys/class/net/NAME/speed` is in Mb/s, −1 if unknown).
fn speed_bps(interface: &str) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/sys/class/net/{interface}/speed")).ok()?;
    text.trim()
        .parse::<f64>()
        .ok()
        .filter(|speed| *speed > 0.0)
        .map(|speed| speed * 1e6)
}
