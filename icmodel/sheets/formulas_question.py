"""Formulas of a living workbook, first part: completion or refusal of a question, and its limits by theory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from icmodel.ranges import OTHERS_WITHOUT_ENDPOINTS, VALID_RANGES
from icmodel.sheets.formulas import NEVER, Step, first_of, parse_steps, text
from icmodel.sheets.lookup import CORES, PAYLOAD, SWITCHES, Lookup
from icmodel.theory import ethernet, rapidio
from icmodel.theory._rdma import WORD_BYTES, RdmaFraming

INPUTS = (
    "protocol",
    "payload",
    "rate",
    "requested",
    "cores",
    "switches",
    "endpoints",
    "other",
    "distance",
)
"""Input columns of a question in the workbook. Goodputs are in Gb/s, the distance is in metres."""
QUESTION = """
protocol row = IFERROR(MATCH([protocol],p_protocol,0),0)
p = MAX([protocol row],1)
bytes = IF(ISNUMBER([payload]),MAX(INT([payload]),1),1)
# Requested goodput [b/s]; a product of rate and payload that is whole but for rounding is rounded.
asked = IF(ISNUMBER([requested]),MAX([requested]*1E9,0),IF(ISNUMBER([rate]),MAX([rate]*[bytes]*8,0),{NEVER}))
request = IF([asked]>={NEVER},{NEVER},
  IF(ABS([asked]-ROUND([asked],0))<=4E-16*[asked],ROUND([asked],0),[asked]))
core count = IF(ISNUMBER([cores]),[cores],INDEX(p_default_cores,[p]))
core match = IFERROR(MATCH([core count],l_cores,0),0)
switch count = IF(ISNUMBER([switches]),MAX(INT([switches]),0),0)
endpoint count = IF(ISNUMBER([endpoints]),MAX(INT([endpoints]),1),1)
others = IF(ISNUMBER([other]),MAX([other]*1E9,0),0)
extra cable = IF(ISNUMBER([distance]),[distance]-{cable_m!r},0)
# Row of the configurations sheet, slot of load, and load above the lowest load of the slot.
configuration = (([p]-1)*{cores}+MAX([core match],1)-1)*{switches}+MIN([switch count],{most_switches})+1
slot = MATCH([request],l_levels,1)-1
above = IF([request]>={NEVER},0,[request]-INDEX(l_levels,[slot]+1))
lossy = INDEX(p_loses_frames,[p])=1
refused = {refused}
"""
"""Completion of a question, as icmodel completes it, and the reason of a refusal."""
WITHOUT_WIRE = """
greatest = {NEVER}
lone = 0
"""
"""Limits by theory of a dataset without a line rate."""
ETHERNET = """
data = [bytes]+INDEX(p_packet_once,[p])
packets = IF([data]<=INDEX(p_packet_whole,[p]),1,
  1+INT(([data]-INDEX(p_packet_last,[p])+INDEX(p_packet_full,[p])-1)/INDEX(p_packet_full,[p])))
header = INDEX(p_packet_header,[p])+IF([packets]>1,INDEX(p_packet_fragment_header,[p]),0)
wire bytes = [data]+[packets]*([header]+{frame})
  +MAX({least}-[header]-([data]-([packets]-1)*INDEX(p_packet_full,[p])),0)
"""
RDMA = """
packets = INT(([bytes]+{mtu_less_1})/{mtu})
wire bytes = {word}*INT(([bytes]+{word_less_1})/{word})+[packets]*{packet}
"""
RAPIDIO = """
packets = INT(([bytes]+{most_less_1})/{most})
# The last packet: header and data in double words, then one or two checksums, then a control symbol.
covered = {header}+{words}*INT(([bytes]-([packets]-1)*{most}+{words_less_1})/{words})
wire bytes = ([packets]-1)*{full}
  +{word}*INT(([covered]+{crc}*IF([covered]>{single_crc},2,1)+{word_less_1})/{word})+{symbol}
"""
"""Bytes of a frame on the wire, as in `icmodel.theory`."""
LIMITS = """
greatest = IF(INDEX(p_greatest_merged_goodput,[p])<{NEVER},INDEX(p_greatest_merged_goodput,[p]),
  [bytes]*8/(8*[wire bytes]/{rate!r}))
lone = MAX(8*([wire bytes]-{gap})/{rate!r}-{burst_s!r},0)
"""
"""Greatest goodput [b/s] and least time of a lone frame [s]."""
TIMES = """
least time = [lone]+{propagation_s!r}
cable time = [extra cable]*{s_per_m!r}
"""


def question_steps(found: Lookup) -> Iterator[Step]:
    """Yield the formulas that complete or refuse a question, and that compute its limits by theory."""
    link, framing = found.tables.link, found.tables.wires[0].framing
    cable_m, s_per_m = link.cable_length_m or 0.0, link.propagation_s_per_m or 0.0
    _, cores, switches = found.tables.axes.shape
    yield from parse_steps(
        "question",
        QUESTION,
        NEVER=NEVER,
        cable_m=cable_m,
        cores=cores,
        switches=switches,
        most_switches=switches - 1,
        refused=first_of(refusals(found)),
    )
    if link.line_rate_bps is None or framing is None:
        yield from parse_steps("theory", WITHOUT_WIRE, NEVER=NEVER)
    else:
        yield from wire_steps(framing)
        burst_s = 8 * (link.burst_bytes or 0) / link.line_rate_bps
        words = {"rate": link.line_rate_bps, "gap": framing.gap_bytes, "burst_s": burst_s}
        yield from parse_steps("theory", LIMITS, NEVER=NEVER, **words)
    yield from parse_steps("theory", TIMES, propagation_s=cable_m * s_per_m, s_per_m=s_per_m)


def refusals(found: Lookup) -> Iterator[tuple[str, str]]:
    """Yield condition and sentence, as formulas, of each reason to refuse a question, in icmodel's order."""
    data = found.data
    # Protocol and payload.
    for protocol, reason in found.refused.items():
        yield f"[protocol]={text(protocol)}", text(reason)
    unknown, known = f"{data.id} has no protocol ", f"': it has {', '.join(data.protocols)}"
    yield "[protocol row]=0", f'{text(unknown)}&"\'"&[protocol]&{text(known)}'
    yield '[payload]=""', text("payload is empty: give bytes, such as 1448 B")

    # Ranges that hold for every dataset.
    names = {
        "payload": "payload_bytes",
        "cores": "cores",
        "switches": "switches",
        "endpoints": "endpoints",
        "other": "other_goodput_bps",
        "distance": "distance_m",
        "rate": "rate_fps",
        "requested": "requested_goodput_bps",
    }
    for column, name in names.items():
        valid, cell = VALID_RANGES[name], f"[{column}]"
        least = f"{cell}{'>' if valid.above else '>='}{valid.least:g}"
        whole = f",{cell}=INT({cell})" if valid.whole else ""
        allowed = f"IF(ISNUMBER({cell}),AND({least}{whole}),FALSE)"
        before, after = valid.refusal(name, "\0").split("'\\x00'")
        yield f'IF({cell}="",FALSE,NOT({allowed}))', f"{text(before)}&{cell}&{text(after)}"
    both = "rate and requested goodput are both given: keep one of them"
    yield 'AND([rate]<>"",[requested]<>"")', text(both)
    yield "AND([others]>0,[endpoint count]=1)", text(OTHERS_WITHOUT_ENDPOINTS)

    # Refusals of parameters without rows or rules in this dataset: texts from the protocol's row, with numbers.
    def said(column: str, placeholder: str, number: str) -> str:
        return f'SUBSTITUTE(INDEX(p_{column},[p]),"{placeholder}",[{number}])'

    yield 'AND([cores]<>"",INDEX(p_states_cores,[p])=0)', "INDEX(p_no_cores,[p])"
    yield "AND([endpoint count]>1,INDEX(p_sharing,[p])=0)", "INDEX(p_no_sharing,[p])"
    few, many = (said(f"{amount}_switches", SWITCHES, "switch count") for amount in ("few", "many"))
    yield "[switch count]<INDEX(p_least_switches,[p])", few
    yield "[switch count]>INDEX(p_most_switches,[p])", many
    yield 'AND([distance]<>"",INDEX(p_cable,[p])=0)', "INDEX(p_no_cable,[p])"
    yield "[bytes]>INDEX(p_greatest_payload,[p])", said("too_large", PAYLOAD, "bytes")
    unmeasured = "OR([core match]=0,INDEX(k_asked_cores_are_measured,[configuration])=0)"
    condition = f"AND(INDEX(p_states_cores,[p])=1,{unmeasured})"
    yield condition, said("other_cores", CORES, "core count")


def wire_steps(framing: object) -> Iterator[Step]:
    """Yield formulas for the packets of a frame and its bytes on the wire, as in `icmodel.theory`."""
    match framing:
        case ethernet.Framing():
            sizes = {"frame": ethernet.ETHERNET_BYTES, "least": ethernet.MIN_PACKET_BYTES}
            yield from parse_steps("theory", ETHERNET, **sizes)
        case RdmaFraming():
            yield from parse_steps(
                "theory",
                RDMA,
                mtu=framing.mtu_bytes,
                mtu_less_1=framing.mtu_bytes - 1,
                word=WORD_BYTES,
                word_less_1=WORD_BYTES - 1,
                packet=framing.packet_bytes,
            )
        case rapidio.Framing():
            most, words, word = (
                rapidio.MAX_DATA_BYTES,
                rapidio.DOUBLE_WORD_BYTES,
                rapidio.WORD_BYTES,
            )
            yield from parse_steps(
                "theory",
                RAPIDIO,
                most=most,
                most_less_1=most - 1,
                header=framing.header_bytes,
                words=words,
                words_less_1=words - 1,
                full=int(framing.train(np.array([2 * most])).full_packet_bytes),
                crc=rapidio.CRC_BYTES,
                single_crc=rapidio.SINGLE_CRC_BYTES,
                word=word,
                word_less_1=word - 1,
                symbol=framing.control_symbol_bytes,
            )
