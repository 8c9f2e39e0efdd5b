//! Point of a run: axes and requested options, named as in a dataset.

use crate::host::environment::Environment;
use crate::settings::{Body, Pattern, Protocol, RunSettings, Waiting};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Names set by the run itself; labels must not use them.
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

/// Requested values and the user's labels; values chosen by the system are not included.
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
    let batch = Some(settings.batch_frames).filter(|frames| *frames > 1);
    let waiting = Some(settings.waiting).filter(|waiting| *waiting != Waiting::Blocking);
    let body = Some(settings.body).filter(|body| calls && *body != Body::Bytes);
    let sockets = Some(settings.zeromq_socket).filter(|_| zeromq && !calls);
    let all = [
        ("dscp", asked(settings.dscp)),
        ("send_buffer_bytes", asked(settings.send_buffer_bytes)),
        ("receive_buffer_bytes", asked(settings.receive_buffer_bytes)),
        ("waiting", asked(waiting)),
        ("realtime_priority", asked(settings.realtime_priority)),
        ("batch_frames", asked(batch)),
        ("reverse", asked(settings.reverse.then_some(true))),
        ("body", asked(body)),
        ("reply_bytes", asked(settings.reply_bytes.filter(|_| calls))),
        ("zeromq_socket", asked(sockets)),
        ("io_threads", asked(settings.io_threads)),
        ("high_water_mark", asked(settings.high_water_mark)),
        ("batch_bytes", asked(settings.batch_bytes)),
    ];
    all.into_iter()
        .filter_map(|(name, value)| value.map(|v| (name, v)))
        .collect()
}

fn asked<T: Serialize>(value: Option<T>) -> Option<Value> {
    value.map(|value| json!(value))
}

#[cfg(test)]
mod tests;
