"""Formulas of a living workbook as lines of text, ``name = formula``, from a question to its answer.

A living workbook is an XLSX file that answers a question by formulas, without icmodel. The formulas compute the model
variant (law) `corrected`.

A step is one column of the calculation sheet; a question is one row. In a formula, ``[name]`` is the cell of another
step in the same row. Names with the prefixes ``t_``, ``k_``, ``p_`` and ``l_`` are columns of the look-up sheets. An
empty text stands for an unknown number, and `INFINITY` for infinity. Excel 2016 and LibreOffice have all functions.

In the templates, ``{end}`` is one of the three numbers of an estimate: value, low or high. ``{other}`` is the opposite
end of the interval: high for low, low for high, and value for value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from icmodel.laws.corrected_tables import BEST, LIMITED_LOSS
from icmodel.laws.flow import CLOSE, INTERFACE_OVERLOADED, LATENCIES, SHARED, is_one_way, traversals
from icmodel.laws.metrics import (
    ASSUMED,
    BUSY,
    DERIVED,
    ONE_PROCESS,
    STATED,
    THEORY,
    UTILISATIONS,
    moves,
)
from icmodel.model.answering import LOST, NEAR_CPU, NEAR_WIRE
from icmodel.model.domain import BEYOND
from icmodel.ranges import OTHERS_WITHOUT_ENDPOINTS, VALID_RANGES
from icmodel.sheets.lookup import (
    CORES,
    INFINITY,
    PAYLOAD,
    REQUESTED,
    SCALE,
    SWITCHES,
    UNLIMITED,
    Lookup,
)
from icmodel.sheets.sheet import unit_of_metric
from icmodel.theory import ethernet, rapidio
from icmodel.theory.infiniband import WORD_BYTES, RdmaFraming

INFINITE = f"{INFINITY:g}"
"""Infinity as text in a formula."""
ENDS = ("value", "low", "high")
"""Parts of step names for the three numbers of an estimate: its value, and both ends of its interval."""
LONGEST_LITERAL = 200
"""Maximum number of characters of a text in a formula; Excel allows 255."""


class Step(NamedTuple):
    """One column of the calculation sheet: its group, its name and its formula."""

    group: str
    name: str
    formula: str


def parse_steps(group: str, lines: str, **words: object) -> Iterator[Step]:
    r"""Yield the steps (columns of the calculation sheet) of a group from lines ``name = formula``.

    Indented lines continue a formula. Lines with a leading ``#`` are comments. A placeholder ``{n}`` stands for the
    keyword argument ``n``.

    Examples
    --------
    >>> for step in parse_steps("times", "# both ways\nround trip = 2*(\n  [way {n}])", n=1):
    ...     print(step)
    Step(group='times', name='round trip', formula='=2*([way 1])')
    """
    written: list[str] = []
    for line in lines.splitlines():
        if line.startswith(" "):
            written[-1] += line.strip()
        elif line and not line.startswith("#"):
            written.append(line)
    for line in written:
        name, formula = line.split(" = ", 1)
        yield Step(group, name.format(**words), f"={formula.format(**words)}")


def text(words: str) -> str:
    """Return a text as string literals of a spreadsheet formula.

    A bracket becomes ``CHAR(91)``, since ``[name]`` stands for a cell.
    """
    pieces = [words[at : at + LONGEST_LITERAL] for at in range(0, len(words), LONGEST_LITERAL)]
    literals = ['"' + piece.replace('"', '""') + '"' for piece in pieces or [""]]
    return "&".join(literals).replace("[", '"&CHAR(91)&"')


def first_of(cases: Iterable[tuple[str, str]]) -> str:
    """Return a formula from pairs of condition and sentence: it gives the first sentence whose condition is true.

    If no condition is true, it gives an empty text.
    """
    every = list(cases)
    choices = "".join(f"IF({condition},{sentence}," for condition, sentence in every)
    return choices + '""' + ")" * len(every)


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
# Requested goodput [b/s]. A number within a rounding error of a whole number is rounded.
asked = IF(ISNUMBER([requested]),MAX([requested]*1E9,0),IF(ISNUMBER([rate]),MAX([rate]*[bytes]*8,0),{INFINITE}))
request = IF([asked]>={INFINITE},{INFINITE},
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
above = IF([request]>={INFINITE},0,[request]-INDEX(l_levels,[slot]+1))
lossy = INDEX(p_loses_frames,[p])=1
refused = {refused}
"""
"""Formulas for the defaults of empty inputs, as in icmodel, and for the reason of a refusal."""
WITHOUT_WIRE = """
greatest = {INFINITE}
lone = 0
"""
"""Formulas for the limits by theory if the dataset has no line rate."""
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
"""Formulas for the bytes of a RapidIO frame on the wire, as in `icmodel.theory`."""
THEORY_LIMITS = """
greatest = IF(INDEX(p_greatest_merged_goodput,[p])<{INFINITE},INDEX(p_greatest_merged_goodput,[p]),
  [bytes]*8/(8*[wire bytes]/{rate!r}))
lone = MAX(8*([wire bytes]-{gap})/{rate!r}-{burst_s!r},0)
"""
"""Formulas for two limits by theory: greatest goodput [b/s], and least time of a lone frame [s]."""
TIMES = """
least time = [lone]+{propagation_s!r}
cable time = [extra cable]*{s_per_m!r}
"""


def question_steps(found: Lookup) -> Iterator[Step]:
    """Yield the formulas for the inputs of a question: missing inputs get their defaults.

    Further formulas give the reason to refuse the question, if any, and the limits of the wire by theory.
    """
    link, framing = found.tables.link, found.tables.wires[0].framing
    cable_m, s_per_m = link.cable_length_m or 0.0, link.propagation_s_per_m or 0.0
    _, cores, switches = found.tables.axes.shape
    yield from parse_steps(
        "question",
        QUESTION,
        INFINITE=INFINITE,
        cable_m=cable_m,
        cores=cores,
        switches=switches,
        most_switches=switches - 1,
        refused=first_of(refusals(found)),
    )
    if link.line_rate_bps is None or framing is None:
        yield from parse_steps("theory", WITHOUT_WIRE, INFINITE=INFINITE)
    else:
        yield from wire_steps(framing)
        burst_s = 8 * (link.burst_bytes or 0) / link.line_rate_bps
        words = {"rate": link.line_rate_bps, "gap": framing.gap_bytes, "burst_s": burst_s}
        yield from parse_steps("theory", THEORY_LIMITS, INFINITE=INFINITE, **words)
    yield from parse_steps("theory", TIMES, propagation_s=cable_m * s_per_m, s_per_m=s_per_m)


def refusals(found: Lookup) -> Iterator[tuple[str, str]]:
    """Yield pairs of formulas (condition and sentence) for the reasons to refuse a question.

    They have the order in which icmodel checks a question. So the first true condition gives the same error as icmodel.
    """
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

    # Parameters without rows or rules in this dataset. A formula inserts the number into the protocol's sentence.
    def sentence(column: str, placeholder: str, number: str) -> str:
        return f'SUBSTITUTE(INDEX(p_{column},[p]),"{placeholder}",[{number}])'

    yield 'AND([cores]<>"",INDEX(p_states_cores,[p])=0)', "INDEX(p_no_cores,[p])"
    yield "AND([endpoint count]>1,INDEX(p_sharing,[p])=0)", "INDEX(p_no_sharing,[p])"
    few, many = (
        sentence(f"{amount}_switches", SWITCHES, "switch count") for amount in ("few", "many")
    )
    yield "[switch count]<INDEX(p_least_switches,[p])", few
    yield "[switch count]>INDEX(p_most_switches,[p])", many
    yield 'AND([distance]<>"",INDEX(p_cable,[p])=0)', "INDEX(p_no_cable,[p])"
    yield "[bytes]>INDEX(p_greatest_payload,[p])", sentence("too_large", PAYLOAD, "bytes")
    unmeasured = "OR([core match]=0,INDEX(k_asked_cores_are_measured,[configuration])=0)"
    condition = f"AND(INDEX(p_states_cores,[p])=1,{unmeasured})"
    yield condition, sentence("other_cores", CORES, "core count")


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


OPPOSITE = {"value": "value", "low": "high", "high": "low"}
GOODPUT, LOSS, FRAMES = "goodput_bps", "loss_rate", "frames_per_s"
NAMES = {BEST: "best", GOODPUT: "unlimited", LOSS: "overload loss", LIMITED_LOSS: "limited loss"}
"""Table of the law (model variant) `corrected` -> word for this table in the names of steps."""
LOOK_UP = """
{table} row = IF({surface}=0,0,MATCH(({surface}*{slots}+{slot})*{SCALE}+MIN([bytes],{most_bytes}),t_key,1))
{table} value = IF(IF([{table} row]=0,FALSE,ISNUMBER(INDEX(t_value,[{table} row]))),
  INDEX(t_value,[{table} row])+{past}*INDEX(t_value_per_byte,[{table} row]){value_of_load},"")
{table} low = IF([{table} value]="","",MAX(
  INDEX(t_low,[{table} row])+{past}*(INDEX(t_low_per_byte,[{table} row])+{past}*INDEX(t_low_bend,[{table} row])){low_of_load},
  INDEX(k_least,{place})))
{table} high = IF([{table} value]="","",MIN(
  INDEX(t_high,[{table} row])+{past}*(INDEX(t_high_per_byte,[{table} row])+{past}*INDEX(t_high_bend,[{table} row])){high_of_load},
  INDEX(k_most,{place})))
{table} basis = IF([{table} row]=0,0,{basis})
"""
"""Formulas that look up a metric: row of the polynomial, then value and interval at the payload and load, and basis."""
FLOW = """
best {end} = IF([best unlimited {end}]="","",MIN([best unlimited {end}],[greatest]))
unlimited {end} = IF([unlimited unlimited {end}]="","",MIN([unlimited unlimited {end}],[greatest]))
overload loss {end} = IF(OR(NOT([lossy]),[overload loss unlimited {other}]=""),0,
  MIN([overload loss unlimited {other}],1))
limited loss {end} = IF(NOT([lossy]),0,IF([limited loss requested {other}]="",
  INDEX(p_unmeasured_loss_{other},[p]),MAX(MIN([limited loss requested {other}],1),0)))
# saturated: the stream requests more than it can get alone. overloaded: all senders together request more.
saturated {end} = IF([request]>={INFINITE},TRUE,IF([best {end}]="",FALSE,[request]>[best {end}]*(1+{CLOSE})))
overloaded {end} = IF([request]>={INFINITE},[best {end}]<>"",
  IF([best {end}]="",FALSE,[request]+[others]>[best {end}]*(1+{CLOSE})))
capacity {end} = IF([saturated {end}],[unlimited {end}],[best {end}])
receiver {end} = IF([overloaded {end}],[unlimited {end}],[best {end}])
able {end} = IF([unlimited {end}]="","",[unlimited {end}]/MAX(1-[overload loss {end}],{CLOSE}))
# Share of the receiver, as in `icmodel.laws.flow.fair_share`. crowded: the receiver loses frames of several senders.
crowded {end} = AND([endpoint count]>1,[overloaded {end}],[others]>0,[overload loss {end}]>0,
  [able {end}]<>"",[receiver {end}]<>"")
own {end} = IF([crowded {end}],MIN([request],[able {end}]),0)
total {end} = IF([crowded {end}],[own {end}]+MIN([others],([endpoint count]-1)*[able {end}]),0)
offers {end} = IF([crowded {end}],IF([able {end}]>0,[total {end}]/[able {end}],0),0)
lowered receiver {end} = IF([offers {end}]>1,
  [receiver {end}]/(1+MIN([overload loss {end}],1-{CLOSE})/(1-MIN([overload loss {end}],1-{CLOSE}))*MIN([offers {end}]-1,1)),
  [receiver {end}])
part {end} = {part}
share {end} = IF([endpoint count]=1,[receiver {end}],
  IF([lowered receiver {end}]="",[part {end}],
  IF([part {end}]="",[lowered receiver {end}]-[others],MAX([lowered receiver {end}]-[others],[part {end}]))))
# Sent and received rates [b/s].
sent alone {end} = IF(AND([lossy],[saturated {end}]),IF([able {end}]="","",MIN([request],[able {end}]{bound})),[request])
offered {end} = IF([lossy],IF([saturated {end}],[sent alone {end}],[request]*(1-[limited loss {end}])),[request])
not achieved {end} = IF([saturated {end}],TRUE,IF([share {end}]="",FALSE,[share {end}]*(1+{CLOSE})<[request]))
goodput {end} = IF(OR([share {end}]="",[offered {end}]=""),"",MIN([offered {end}],[share {end}],[greatest]))
sent {end} = IF([lossy],[sent alone {end}],[goodput {end}])
"""
"""Formulas for the goodput, as in `icmodel.laws.corrected.flow`."""
ANSWERED = """
outside = AND(INDEX(k_surface,[configuration])>0,[goodput value]="")
answered = AND([refused]="",NOT([outside]))
loss lowers goodput = AND([endpoint count]>1,[others]>0,[overloaded value],[overload loss value]>0)
"""
LOST_SHARE = """
lost {end} = IF(NOT([lossy]),0,IF(OR([goodput {end}]="",[sent {end}]="",[share {end}]=""),"",
  IF([saturated {end}],MAX(MIN(1-{arriving},1),0),
  IF([share {end}]>=[request]*(1-[limited loss {end}]),[limited loss {end}],MAX(MIN(1-{arriving},1),0)))))
"""
LOSS_RATE = """
loss_rate {end} = IF(OR([goodput value]="",AND([lossy],OR(
  AND([overload loss unlimited row]=0,[limited loss requested row]=0),
  AND([saturated value],[overload loss unlimited value]="")))),"",[lost {other}])
"""
"""Formulas for the loss rate, as in `icmodel.laws.corrected.loss`."""
PROCESSING_TIME = """
{name} limited value = IF([{name} requested value]="","",IF({top}=0,
  IF([capacity value]="","",[{name} requested value]*MIN([request]/[capacity value],1)),[{name} requested value]))
{name} limited low = IF([{name} requested low]="","",IF({top}=0,
  IF([capacity value]="","",[{name} requested low]*MIN([request]/[capacity value],1)),[{name} requested low]))
{name} limited high = IF([{name} requested high]="","",IF(AND([request]>{top},{top}>0,[{name} unlimited high]<>""),
  MAX([{name} requested high],[{name} unlimited high]),[{name} requested high]))
"""
"""Formulas for the processing time at the requested load, as in `icmodel.laws.appendix_h.cpu_time`."""
AT_LOAD = """
{name} value at load = IF([{flag} value],[{name} unlimited value],[{name} {load} value])
# An end of the interval covers both regimes if the interval of the capacity contains the request.
{name} low at load = IF([{flag} high]=[{flag} value],
  IF([{flag} value],[{name} unlimited low],[{name} {load} low]),
  IF([{name} unlimited low]="",[{name} {load} low],IF([{name} {load} low]="",[{name} unlimited low],
  MIN([{name} unlimited low],[{name} {load} low]))))
{name} high at load = IF([{flag} low]=[{flag} value],
  IF([{flag} value],[{name} unlimited high],[{name} {load} high]),
  IF([{name} unlimited high]="",[{name} {load} high],IF([{name} {load} high]="",[{name} unlimited high],
  MAX([{name} unlimited high],[{name} {load} high]))))
"""
"""Formulas for a metric at the requested load, or at the unlimited load if the request is not achieved."""


def law_steps(found: Lookup) -> Iterator[Step]:
    """Yield the formulas of the model: look-ups in tables, then value, low and high of each metric in SI units."""
    for index, name in enumerate(found.names):
        for load in found.loads_of(name):
            yield from look_up_steps(found, index, name, load)
    yield from flow_steps(found)
    for index, name in enumerate(found.names):
        if name in found.metrics:
            yield from metric_steps(found, index, name)
    yield from ordered_steps([name for name in found.metrics if name != FRAMES])

    # Frames per second follow from the goodput. If it is unknown, the measured rate is used, at most the request.
    for end in ENDS:
        otherwise = '""'
        if FRAMES in found.metrics:
            measured = f"[{FRAMES} {end} raw]"
            otherwise = f'IF({measured}="","",MIN({measured},[request]/([bytes]*8)))'
        number = f'IF([goodput {end}]="",{otherwise},[goodput {end}]/([bytes]*8))'
        yield Step(FRAMES, f"{FRAMES} {end}", f"={number}")

    # Busy cores, computed from a utilisation.
    for name in UTILISATIONS:
        if adds_cores(found, name):
            for end in ENDS:
                busy = f'=IF([{name} {end}]="","",[{name} {end}]*[core count])'
                yield Step(name, f"{name}_cores {end}", busy)


def adds_cores(found: Lookup, utilisation: str) -> bool:
    """Whether the formulas compute busy cores as utilisation times cores.

    This is so if the dataset has the utilisation (such as ``cpu_send``) but no rows of busy cores.
    """
    measured = f"{utilisation}_cores" in found.metrics
    return utilisation in found.metrics and not measured and bool(found.tables.axes.cores)


def look_up_steps(found: Lookup, index: int, name: str, load: str) -> Iterator[Step]:
    """Yield the formulas that look up value, low, high and basis in one look-up table.

    ``name`` is the name of the table, and ``index`` its position in `Lookup.names`. ``load`` is the offered load at
    which the table is read: `UNLIMITED`, or `REQUESTED` (the goodput that the question requests).
    """
    table, place = f"{NAMES.get(name, name)} {load}", found.configuration_row(index)
    row, slots = f"[{table} row]", found.tables.axes.slots
    past = f"([bytes]-INDEX(t_from,{row}))"
    on_knot = f"[bytes]=INDEX(t_from,{row})"
    of_load = {"value_of_load": "", "low_of_load": "", "high_of_load": ""}
    basis = f"IF({on_knot},INDEX(t_basis_on_both,{row}),INDEX(t_basis_on_load,{row}))"
    if load == REQUESTED:  # terms in the load above the lowest load of the slot (load interval)
        linear = f"INDEX(t_value_per_load,{row})+{past}*INDEX(t_value_per_both,{row})"
        of_load["value_of_load"] = f"+[above]*({linear})"
        for end in ("low", "high"):
            square = f"INDEX(t_{end}_per_both,{row})+{past}*INDEX(t_{end}_bend_of_load,{row})"
            both = f"INDEX(t_{end}_per_load,{row})+{past}*({square})"
            of_load[f"{end}_of_load"] = f"+[above]*({both})"
        off_load = f"IF({on_knot},INDEX(t_basis_on_payload,{row}),INDEX(t_basis,{row}))"
        basis = f"IF([above]=0,{basis},{off_load})"
    yield from parse_steps(
        name.removeprefix("_"),
        LOOK_UP,
        table=table,
        place=place,
        surface=f"INDEX(k_surface,{place})",
        slots=slots,
        slot=slots - 1 if load == UNLIMITED else "[slot]",
        SCALE=SCALE,
        most_bytes=SCALE - 1,
        past=past,
        basis=basis,
        **of_load,
    )


def flow_steps(found: Lookup) -> Iterator[Step]:
    """Yield formulas for goodput and loss."""
    shared = [name for name in found.names if name.startswith(SHARED)]
    for end in ENDS:
        # Goodput of a stream that shares the receiver. A goodput measured at this endpoint count is its upper limit.
        receiver, lowered = f"[receiver {end}]", f"[lowered receiver {end}]"
        crowd = f"{lowered}*([own {end}]/MAX([total {end}],{CLOSE!r}))"
        equal = f'IF({receiver}="","",{receiver}/[endpoint count])'
        part = f"IF([crowded {end}],{crowd},{equal})"
        for name in shared:
            count, measured = name.removeprefix(SHARED), f"[{name} {UNLIMITED} {end}]"
            least = f'IF({lowered}="",{measured},MIN({measured},{lowered}))'
            part = f'IF(AND([endpoint count]={count},{measured}<>""),{least},{part})'
        yield from parse_steps(
            "goodput",
            FLOW,
            end=end,
            other=OPPOSITE[end],
            part=part,
            bound="" if end == "value" else ",[greatest]",
            INFINITE=INFINITE,
            CLOSE=CLOSE,
        )
    yield from parse_steps("goodput", ANSWERED)
    rate_bps = found.tables.link.line_rate_bps
    able = (
        'IF(AND([capacity value]="",[sent value]=""),[request],MAX([capacity value],[sent value]))'
    )
    overload = f"MIN([request],{able})/[greatest]+[others]/{rate_bps!r}>1+{CLOSE!r}"
    held_back = f"[share value]*(1+{CLOSE!r})<MIN([request],[capacity value])"
    overloaded = f'IF(OR([share value]="",[capacity value]=""),FALSE,{held_back})'
    overloaded = f"OR({overloaded},{overload})" if rate_bps else overloaded
    yield Step("goodput", "latency unknown", f"=AND([endpoint count]>1,[others]>0,{overloaded})")
    for end in ENDS:
        arriving = f"IF([sent {end}]=0,1-[overload loss {end}],[goodput {end}]/[sent {end}])"
        yield from parse_steps(LOSS, LOST_SHARE, end=end, arriving=arriving)
    for end in ENDS:
        yield from parse_steps(LOSS, LOSS_RATE, end=end, other=OPPOSITE[end])


def metric_steps(found: Lookup, index: int, name: str) -> Iterator[Step]:
    """Yield the formulas for a metric at the achieved load; the last three are its value, low and high.

    These three have names such as ``latency_mean_s low raw``. Here, raw means not yet limited: `ordered_steps` limits
    utilisations to 1, and keeps statistics in order, such as mean ≤ maximum.

    Latencies include the delay of the cable. If the question has more switches than the dataset rows, latencies also
    include the delay of the added switches. CPU loads are converted to the cores of the question.
    """
    processor, times = name.startswith(BUSY), traversals(name)
    flag, load = ("saturated", "limited") if processor else ("not achieved", REQUESTED)
    if processor:
        top = f"INDEX(t_top_load,[{name} {REQUESTED} row])"
        yield from parse_steps(name, PROCESSING_TIME, name=name, top=top)
    yield from parse_steps(name, AT_LOAD, name=name, flag=flag, load=load)

    place, switch_s = found.configuration_row(index), found.tables.link.switch_latency_s
    rows = f"INDEX(k_switches_of_rows,{place})"
    for end in ENDS:
        at_load = f"[{name} {end} at load]"
        number = f"MAX({at_load},[least time])" if is_one_way(name) else at_load
        if times:
            beyond = f"MAX([switch count]-{rows},0)*{switch_s or 0.0!r}"
            number = f"{number}+{times}*({beyond}+[cable time])"
        if name.endswith(ONE_PROCESS):
            number = f"IF([core count]>0,MIN({number},[core count]),{number})"
        if name in UTILISATIONS:
            number = f"{number}*INDEX(k_core_ratio,{place})"
        unknown = f'{at_load}=""'
        if times and switch_s is None:
            unknown = f"OR({unknown},[switch count]>{rows})"
        if name.startswith(LATENCIES):
            unknown = f"OR({unknown},[latency unknown])"
        if end != "value":
            unknown = f'OR({unknown},[{name} value raw]="")'
        yield Step(name, f"{name} {end} raw", f'=IF({unknown},"",{number})')


def ordered_steps(metrics: list[str]) -> Iterator[Step]:
    """Yield formulas that limit utilisations to 1, and keep the statistics of a time in order, such as mean ≤ maximum.

    `icmodel.laws.metrics.moves` states which statistics are compared, and which of them is changed.
    """
    moved = {name: (others, farther) for name, others, farther in moves(metrics)}
    for name in [*moved, *(name for name in metrics if name not in moved)]:
        others, farther = moved.get(name, ((), np.fmax))
        for end in ENDS:
            number = f"[{name} {end} raw]"
            if others:
                pick = "MAX" if farther is np.fmax else "MIN"
                every = ",".join(f"[{other} {end}]" for other in others)
                number = f"{pick}({number},{every})"
            if name in UTILISATIONS:
                number = f"MIN({number},1)"
            yield Step(name, f"{name} {end}", f'=IF([{name} {end} raw]="","",{number})')


BASES_OF_FLOW = """
goodput reads = MAX(IF([saturated value],[unlimited unlimited basis],[best unlimited basis]),
  IF([loss lowers goodput],[overload loss unlimited basis],0){shared})
above theory = IF([capacity value]="",FALSE,
  IF([saturated value],[unlimited unlimited value],[best unlimited value])>[greatest])
goodput_bps basis = MAX([goodput reads],
  IF(AND([endpoint count]>1,[capacity value]<>""),{DERIVED},0),IF([above theory],{THEORY},0),
  IF([loss lowers goodput],{ASSUMED},0))
loss_rate basis = IF([lossy],MAX([goodput_bps basis],
  IF([saturated value],[overload loss unlimited basis],[limited loss requested basis]),
  IF(AND(NOT([saturated value]),[limited loss requested value]=""),{ASSUMED},0)),{STATED})
"""
"""Formulas for the bases (kinds of evidence) of goodput and loss, as numbers; the greatest number is the weakest.

They compute the same as `icmodel.laws.corrected.bases`.
"""
LIMITS = """
demand = {demand}
busy = IF([demand]="",0,[demand])
shared = AND([endpoint count]>1,NOT(
  IF(OR([share value]="",[capacity value]=""),FALSE,[share value]*(1+{CLOSE})>=[capacity value])))
bottleneck = IF([goodput value]="","unknown",
  IF(AND([not achieved value],[greatest]>={INFINITE},[demand]=""),"unknown",
  IF([not achieved value],
  IF([shared],IF(AND([lossy],[overloaded value]),"receiver","share"),
  IF(AND([saturated value],[lossy],[overload loss value]>{LOST}),"receiver",
  IF([capacity value]>={NEAR_WIRE}*[greatest],"wire",
  IF([busy]>={NEAR_CPU},"cpu","packet-rate")))),
  IF([busy]>1,"cpu","request"))))
"""
"""Formulas for the bottleneck, as in `icmodel.model.answering.bottleneck`."""
ANSWER = """
{metric} answer = IF({known},{own}/{si!r},"")
{metric} answer low = IF({known},MAX(MIN({own},[{number} low]),0)/{si!r},"")
{metric} answer high = IF({known},MAX({own},[{number} high])/{si!r},"")
{metric} answer basis = IF({known},INDEX(l_bases,[{metric} basis]+1),"")
{metric} answer why = IF(AND([answered],{own}=""),{absent},"")
"""
"""Formulas for a metric in the unit of the question sheet, or for the reason why the metric has no value."""


def steps(found: Lookup) -> Iterator[Step]:
    """Yield the steps (columns with formulas) from a question to its answers, in order of calculation."""
    yield from question_steps(found)
    yield from law_steps(found)
    yield from basis_steps(found)

    sender = UTILISATIONS[0]
    yield from parse_steps(
        "limits",
        LIMITS,
        demand=f"[{sender} value raw]" if sender in found.metrics else '""',
        INFINITE=INFINITE,
        CLOSE=CLOSE,
        LOST=LOST,
        NEAR_WIRE=NEAR_WIRE,
        NEAR_CPU=NEAR_CPU,
    )

    yield Step("answers", "why", f"={first_of(reasons(found))}")
    yield Step("answers", "limited by", '=IF([answered],[bottleneck],"")')
    for metric in answers(found):
        number = "goodput" if metric == GOODPUT else metric
        yield from parse_steps(
            "answers",
            ANSWER,
            metric=metric,
            number=number,
            own=f"[{number} value]",
            known=f'IF([answered],[{number} value]<>"",FALSE)',
            si=unit_of_metric(metric).si,
            absent=absent(found, metric),
        )


def answers(found: Lookup) -> tuple[str, ...]:
    """Return the metrics of the workbook, in the order of the question sheet."""
    derived = (f"{name}_cores" for name in UTILISATIONS if adds_cores(found, name))
    times = (name for name in found.metrics if not name.startswith(BUSY) and name != FRAMES)
    processors = sorted([*derived, *(name for name in found.metrics if name.startswith(BUSY))])
    return (GOODPUT, LOSS, FRAMES, *times, *processors)


def basis_steps(found: Lookup) -> Iterator[Step]:
    """Yield a formula for the basis (kind of evidence) of each metric, as a number.

    Greater numbers are weaker evidence. So the formula is the maximum over all rows and rules that the metric uses.
    """
    counts = [name.removeprefix(SHARED) for name in found.names if name.startswith(SHARED)]
    shared = "".join(
        f",IF([endpoint count]={count},[{SHARED}{count} {UNLIMITED} basis],0)" for count in counts
    )
    codes = {"DERIVED": DERIVED, "THEORY": THEORY, "ASSUMED": ASSUMED, "STATED": STATED}
    yield from parse_steps("basis", BASES_OF_FLOW, shared=shared, **codes)

    frames = "0"
    for index, name in enumerate(found.names):
        if name not in found.metrics:
            continue
        place = found.configuration_row(index)
        flag = "[saturated value]" if name.startswith(BUSY) else "[not achieved value]"
        read = f"IF({flag},[{name} {UNLIMITED} basis],[{name} {REQUESTED} basis])"
        if name == FRAMES:
            frames = f'IF([goodput value]="",{read},0)'
            continue
        terms = [read]
        if traversals(name):
            beyond = f"[switch count]>INDEX(k_switches_of_rows,{place})"
            terms += [f"IF({beyond},{STATED},0)", f"IF([extra cable]<>0,{THEORY},0)"]
        if is_one_way(name):
            chosen = f"[{name} value at load]"
            terms.append(f'IF({chosen}="",0,IF({chosen}<[least time],{THEORY},0))')
        if name in UTILISATIONS:
            rows = f"INDEX(k_cores_of_rows,{place})"
            terms.append(f"IF(AND({rows}>0,{rows}<>[core count]),{DERIVED},0)")
        yield Step("basis", f"{name} basis", f"=MAX({','.join(terms)})")
        if name in UTILISATIONS and adds_cores(found, name):
            yield Step("basis", f"{name}_cores basis", f"=[{name} basis]")
    yield Step("basis", f"{FRAMES} basis", f"=MAX([{GOODPUT} basis],{frames})")


def reasons(found: Lookup) -> Iterator[tuple[str, str]]:
    """Yield two formulas for each reason why a question has no answer or no goodput: its condition and its sentence."""
    name = found.data.id
    first, last = "INDEX(k_first_payload,[configuration])", "INDEX(k_last_payload,[configuration])"
    yield '[refused]<>""', "[refused]"
    measured = text(f"{name} measured ")
    limited = text(" at limited rates only, which state no capacity: request ")
    advice = text("at most the goodput that those runs reached, or measure at unlimited rate")
    within = f"AND([outside],[bytes]>={first},[bytes]<={last})"
    yield within, f"{measured}&[protocol]&{limited}&{advice}"
    outside = f"{text('payload ')}&[bytes]&{text(f' B is outside {name}: ')}&[protocol]"
    span = f"{text(' was measured from ')}&{first}&{text(' to ')}&{last}"
    yield "[outside]", f"{outside}&{span}&{text(f' B; use a payload in this range, {BEYOND}')}"
    yield '[goodput value]=""', absent(found, GOODPUT)


def absent(found: Lookup, metric: str) -> str:
    """Return a formula that gives the reason why a metric has no value, as in `icmodel.model.explanation`."""
    table = {GOODPUT: BEST, FRAMES: FRAMES if FRAMES in found.names else BEST}.get(metric, metric)
    if table not in found.names:
        utilisation = metric.removesuffix("_cores")
        return f'SUBSTITUTE({absent(found, utilisation)},"{utilisation}","{metric}")'
    place = found.configuration_row(found.names.index(table))
    here = f"AND([bytes]>=INDEX(k_first_payload,{place}),[bytes]<=INDEX(k_last_payload,{place}))"
    outside = f'SUBSTITUTE(INDEX(k_outside,{place}),"{PAYLOAD}",[bytes])'
    behind = f'SUBSTITUTE(INDEX(k_absent_behind_switches,{place}),"{SWITCHES}",[switch count])'
    no_rows = f"IF([switch count]>0,{behind},INDEX(k_absent,{place}))"
    if metric.startswith(LATENCIES):
        unknown = f"AND(INDEX(k_surface,{place})>0,[latency unknown])"
        no_rows = f"IF({unknown},{text(INTERFACE_OVERLOADED)},{no_rows})"
    return f"IF(OR(INDEX(k_surface,{place})=0,{here}),{no_rows},{outside})"
