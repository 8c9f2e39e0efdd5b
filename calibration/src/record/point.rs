//! The point of a run, in the words of a dataset: its axes and the options that were asked for.

use crate::host::environment::Environment;
use crate::settings::{Body, Pattern, Protocol, RunSettings, Waiting};
use serde_json::{Map, Value, json};

/// Names that the run itself gives a value; no label may take one.
pub const RESERVED: &[&str] = &[
    "protocol",
    "payload_bytes",
    "pattern",
    "rate_fps",
    "load_bps",
    "cores",
    "streams",
    "nagle",
    "mtu_bytes",
    "dscp",
    "send_buffer_bytes",
    "receive_buffer_bytes",
    "waiting",
    "realtime_priority",
    "batch_frames",
    "reverse",
    "body",
    "reply_bytes",
    "zeromq_socket",
    "io_threads",
    "high_water_mark",
    "batch_bytes",
    "switches",
    "endpoints",
    "other_goodput_bps",
];

/// What was asked, with the asker's labels; what was left to the system is not in it.
pub fn point(
    settings: &RunSettings,
    labels: Map<String, Value>,
    sender: &Environment,
) -> Map<String, Value> {
    let mut point = Map::new();
    let mut put = |name: &str, value: Value| point.insert(name.to_owned(), value);
    put("protocol", json!(settings.protocol));
    put("payload_bytes", json!(settings.payload_bytes));
    put("pattern", json!(settings.pattern));
    if let Some(rate) = settings.rate_fps {
        put("rate_fps", json!(rate));
    }
    if let Some(load) = settings.load_bps() {
        put("load_bps", json!(load));
    }
    put("cores", json!(settings.cores));
    if settings.streams != settings.cores {
        put("streams", json!(settings.streams));
    }
    if settings.protocol == Protocol::Tcp {
        put("nagle", json!(settings.nagle));
    }
    if let Some(mtu) = sender.mtu_bytes {
        put("mtu_bytes", json!(mtu));
    }
    for (name, value) in options(settings) {
        put(name, value);
    }
    point.extend(labels);
    point
}

fn options(settings: &RunSettings) -> Vec<(&'static str, Value)> {
    let zeromq = settings.protocol == Protocol::Zeromq;
    let calls = settings.pattern != Pattern::Stream;
    let all = [
        ("dscp", settings.dscp.map(|v| json!(v))),
        (
            "send_buffer_bytes",
            settings.send_buffer_bytes.map(|v| json!(v)),
        ),
        (
            "receive_buffer_bytes",
            settings.receive_buffer_bytes.map(|v| json!(v)),
        ),
        (
            "waiting",
            (settings.waiting != Waiting::Blocking).then(|| json!(settings.waiting)),
        ),
        (
            "realtime_priority",
            settings.realtime_priority.map(|v| json!(v)),
        ),
        (
            "batch_frames",
            (settings.batch_frames > 1).then(|| json!(settings.batch_frames)),
        ),
        ("reverse", settings.reverse.then_some(Value::Bool(true))),
        (
            "body",
            (calls && settings.body != Body::Bytes).then(|| json!(settings.body)),
        ),
        (
            "reply_bytes",
            settings.reply_bytes.filter(|_| calls).map(|v| json!(v)),
        ),
        (
            "zeromq_socket",
            (zeromq && !calls).then(|| json!(settings.zeromq_socket)),
        ),
        ("io_threads", settings.io_threads.map(|v| json!(v))),
        (
            "high_water_mark",
            settings.high_water_mark.map(|v| json!(v)),
        ),
        ("batch_bytes", settings.batch_bytes.map(|v| json!(v))),
    ];
    all.into_iter()
        .filter_map(|(name, value)| value.map(|v| (name, v)))
        .collect()
}
