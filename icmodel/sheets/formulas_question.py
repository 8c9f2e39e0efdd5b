"""Formulas of a living workbook, first part: completion or refusal of a question, and its limits by theory.

A step is one column of the calculation sheet; one row is one question.  In a formula ``[name]`` is the cell of another
step in the same row.  Names that begin with ``t_``, ``k_``, ``p_`` and ``l_`` are columns of the look-up sheets.  An empty
text stands for an unknown number, and `ENDLESS` for infinity.  All functions exist in Excel 2016 and in LibreOffice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from icmodel.ranges import OTHERS_WITHOUT_ENDPOINTS, VALID_RANGES
from icmodel.sheets.lookup import CORES, ENDLESS, PAYLOAD, SWITCHES, Lookup
from icmodel.theory import ethernet
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
NEVER = f"{ENDLESS:g}"
LONGEST_LITERAL = 200
"""Greatest number of characters of a text in a formula; Excel allows 255."""


class Step(NamedTuple):
    """One column of the calculation sheet: its group, its name and its formula."""

    group: str
    name: str
    formula: str


def question_steps(found: Lookup) -> Iterator[Step]:
    """Yield the formulas that complete or refuse a question, and that compute its limits by theory."""
    yield from _checks(found)
    yield from _theory(found)


def text(words: str) -> str:
    """Return a text as string literals of a spreadsheet formula.

    A bracket becomes ``CHAR(91)``, since ``[name]`` stands for a cell.
    """
    pieces = [words[at : at + LONGEST_LITERAL] for at in range(0, len(words), LONGEST_LITERAL)]
    literals = ['"' + piece.replace('"', '""') + '"' for piece in pieces or [""]]
    return "&".join(literals).replace("[", '"&CHAR(91)&"')


def first_of(cases: Iterator[tuple[str, str]]) -> str:
    """Return a formula for the first sentence whose condition holds; an empty text if none holds."""
    every = list(cases)
    choices = "".join(f"IF({condition},{sentence}," for condition, sentence in every)
    return choices + '""' + ")" * len(every)


# --- the question ---------------------------------------------------------------------------------


def _checks(found: Lookup) -> Iterator[Step]:
    """Yield formulas that complete a question, or refuse a question that the dataset cannot answer."""
    axes, link = found.tables.axes, found.tables.link
    _, cores, switches = axes.shape
    numbers = {
        "protocol row": "=IFERROR(MATCH([protocol],p_protocol,0),0)",
        "p": "=MAX([protocol row],1)",
        "bytes": "=IF(ISNUMBER([payload]),MAX(INT([payload]),1),1)",
        "asked": f"=IF(ISNUMBER([requested]),MAX([requested]*1E9,0),IF(ISNUMBER([rate]),MAX([rate]*[bytes]*8,0),{NEVER}))",
        "request": f"=IF([asked]>={NEVER},{NEVER},IF(ABS([asked]-ROUND([asked],0))<=4E-16*[asked],ROUND([asked],0),[asked]))",
        "core count": "=IF(ISNUMBER([cores]),[cores],INDEX(p_default_cores,[p]))",
        "core match": "=IFERROR(MATCH([core count],l_cores,0),0)",
        "switch count": "=IF(ISNUMBER([switches]),MAX(INT([switches]),0),0)",
        "endpoint count": "=IF(ISNUMBER([endpoints]),MAX(INT([endpoints]),1),1)",
        "others": "=IF(ISNUMBER([other]),MAX([other]*1E9,0),0)",
        "extra cable": f"=IF(ISNUMBER([distance]),[distance]-{link.cable_length_m or 0.0!r},0)",
        "configuration": f"=(([p]-1)*{cores}+MAX([core match],1)-1)*{switches}+MIN([switch count],{switches - 1})+1",
        "slot": "=MATCH([request],l_levels,1)-1",
        "above": f"=IF([request]>={NEVER},0,[request]-INDEX(l_levels,[slot]+1))",
        "lossy": "=INDEX(p_loses_frames,[p])=1",
    }
    for name, formula in numbers.items():
        yield Step("question", name, formula)
    yield Step("question", "refused", f"={first_of(_refusals(found))}")


def _refusals(found: Lookup) -> Iterator[tuple[str, str]]:
    """Yield condition and sentence, as formulas, of each reason to refuse a question, in icmodel's order."""
    data = found.data
    for protocol, reason in found.refused.items():
        yield f"[protocol]={text(protocol)}", text(reason)
    known = f"': it has {', '.join(data.protocols)}"
    yield (
        "[protocol row]=0",
        f'{text(f"{data.id} has no protocol ")}&"\'"&[protocol]&{text(known)}',
    )
    yield '[payload]=""', text("payload is empty: give bytes, such as 1448 B")
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
        yield (
            f'IF({cell}="",FALSE,NOT({allowed}))',
            f"{text(before)}&{cell}&{text(after)}",
        )
    yield (
        'AND([rate]<>"",[requested]<>"")',
        text("rate and requested goodput are both given: keep one of them"),
    )
    yield "AND([others]>0,[endpoint count]=1)", text(OTHERS_WITHOUT_ENDPOINTS)
    yield 'AND([cores]<>"",INDEX(p_states_cores,[p])=0)', "INDEX(p_no_cores,[p])"
    yield "AND([endpoint count]>1,INDEX(p_sharing,[p])=0)", "INDEX(p_no_sharing,[p])"
    switches = f'"{SWITCHES}",[switch count]'
    yield (
        "[switch count]<INDEX(p_least_switches,[p])",
        f"SUBSTITUTE(INDEX(p_few_switches,[p]),{switches})",
    )
    yield (
        "[switch count]>INDEX(p_most_switches,[p])",
        f"SUBSTITUTE(INDEX(p_many_switches,[p]),{switches})",
    )
    yield 'AND([distance]<>"",INDEX(p_cable,[p])=0)', "INDEX(p_no_cable,[p])"
    yield (
        "[bytes]>INDEX(p_greatest_payload,[p])",
        f'SUBSTITUTE(INDEX(p_too_large,[p]),"{PAYLOAD}",[bytes])',
    )
    yield (
        "AND(INDEX(p_states_cores,[p])=1,OR([core match]=0,INDEX(k_asked_cores_are_measured,[configuration])=0))",
        f'SUBSTITUTE(INDEX(p_other_cores,[p]),"{CORES}",[core count])',
    )


# --- theory ---------------------------------------------------------------------------------------


def _theory(found: Lookup) -> Iterator[Step]:
    """Yield formulas for the bytes of a frame on the wire, the greatest goodput, and a lone frame's least time."""
    link, framing = found.tables.link, found.tables.wires[0].framing
    rate = link.line_rate_bps
    if rate is None or framing is None:
        yield Step("theory", "greatest", f"={NEVER}")
        yield Step("theory", "lone", "=0")
    else:
        for name, formula in _wire_bytes(framing):
            yield Step("theory", name, formula)
        own = f"[bytes]*8/(8*[wire bytes]/{rate!r})"
        merged = "INDEX(p_greatest_merged_goodput,[p])"
        yield Step("theory", "greatest", f"=IF({merged}<{NEVER},{merged},{own})")
        lone = (
            f"8*([wire bytes]-{framing.gap_bytes})/{rate!r}-{8 * (link.burst_bytes or 0) / rate!r}"
        )
        yield Step("theory", "lone", f"=MAX({lone},0)")
    propagation = (link.cable_length_m or 0.0) * (link.propagation_s_per_m or 0.0)
    yield Step("theory", "least time", f"=[lone]+{propagation!r}")
    yield Step("theory", "cable time", f"=[extra cable]*{link.propagation_s_per_m or 0.0!r}")


def _wire_bytes(framing: object) -> Iterator[tuple[str, str]]:
    """Yield formulas for the packets of a frame and its bytes on the wire, as in `icmodel.theory`."""
    if isinstance(framing, ethernet.Framing):
        cut = {part: f"INDEX(p_packet_{part},[p])" for part in framing._cut()._fields}
        yield "data", f"=[bytes]+{cut['once']}"
        more = f"1+INT(([data]-{cut['last']}+{cut['full']}-1)/{cut['full']})"
        yield "packets", f"=IF([data]<={cut['whole']},1,{more})"
        yield "header", f"={cut['header']}+IF([packets]>1,{cut['fragment_header']},0)"
        short = f"{ethernet.MIN_PACKET_BYTES}-[header]-([data]-([packets]-1)*{cut['full']})"
        each = f"[packets]*([header]+{ethernet.ETHERNET_BYTES})"
        yield "wire bytes", f"=[data]+{each}+MAX({short},0)"
    elif isinstance(framing, RdmaFraming):
        yield "packets", f"=INT(([bytes]+{framing.mtu_bytes - 1})/{framing.mtu_bytes})"
        filled = f"{WORD_BYTES}*INT(([bytes]+{WORD_BYTES - 1})/{WORD_BYTES})"
        yield "wire bytes", f"={filled}+[packets]*{framing.packet_bytes}"
    else:
        from icmodel.theory import rapidio

        assert isinstance(framing, rapidio.Framing)
        full = int(framing.train(np.array([2 * rapidio.MAX_DATA_BYTES])).full_packet_bytes)
        most, words, word = rapidio.MAX_DATA_BYTES, rapidio.DOUBLE_WORD_BYTES, rapidio.WORD_BYTES
        yield "packets", f"=INT(([bytes]+{most - 1})/{most})"
        rest = f"([bytes]-([packets]-1)*{most}+{words - 1})"
        yield "covered", f"={framing.header_bytes}+{words}*INT({rest}/{words})"
        checked = f"[covered]+{rapidio.CRC_BYTES}*IF([covered]>{rapidio.SINGLE_CRC_BYTES},2,1)"
        last = f"{word}*INT(({checked}+{word - 1})/{word})+{framing.control_symbol_bytes}"
        yield "wire bytes", f"=([packets]-1)*{full}+{last}"
