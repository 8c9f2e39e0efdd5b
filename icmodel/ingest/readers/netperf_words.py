"""netperf's words: its units, its tests, and the names of omni's columns."""

from __future__ import annotations

UNITS = {
    "10^3bits/s": 10**3,
    "10^6bits/s": 10**6,
    "10^9bits/s": 10**9,
    "bytes/s": 8,
    "Bytes/s": 8,
    "KBytes/s": 8 * 2**10,
    "MBytes/s": 8 * 2**20,
    "GBytes/s": 8 * 2**30,
}
"""Bits per second of a unit; a B with a prefix is of 1024."""

PROTOCOLS = {"TCP": "tcp", "UDP": "udp", "SCTP": "sctp"}

LATENCIES = {
    "MIN_LATENCY": "min",
    "MEAN_LATENCY": "mean",
    "STDDEV_LATENCY": "std",
    "P50_LATENCY": "p50",
    "P90_LATENCY": "p90",
    "P99_LATENCY": "p99",
    "MAX_LATENCY": "max",
}

COLUMNS = {
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
    "Throughput Confidence Width (%)": "THROUGHPUT_CONFID",
    "Confidence Iterations Run": "CONFIDENCE_ITERATION",
    "Minimum Latency Microseconds": "MIN_LATENCY",
    "Mean Latency Microseconds": "MEAN_LATENCY",
    "Stddev Latency Microseconds": "STDDEV_LATENCY",
    "50th Percentile Latency Microseconds": "P50_LATENCY",
    "90th Percentile Latency Microseconds": "P90_LATENCY",
    "99th Percentile Latency Microseconds": "P99_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY",
    "Request Size Bytes": "REQUEST_SIZE",
    "Response Size Bytes": "RESPONSE_SIZE",
    "Local Send Size": "LOCAL_SEND_SIZE",
    "Local CPU Util %": "LOCAL_CPU_UTIL",
    "Remote CPU Util %": "REMOTE_CPU_UTIL",
    "Protocol": "PROTOCOL",
}
"""What omni's CSV calls the keys of its key=value form."""
