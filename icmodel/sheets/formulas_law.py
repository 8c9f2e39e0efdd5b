"""Formulas of a living workbook, second part: the law `corrected` (`icmodel.laws.corrected`) on the look-up tables.

In the texts, ``{end}`` is value, low or high, and ``{other}`` the opposite end of the interval.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from icmodel.laws.corrected_tables import BEST, LIMITED_LOSS
from icmodel.laws.flow import CLOSE, SHARED, is_one_way, traversals
from icmodel.laws.metrics import BUSY, ONE_PROCESS, UTILISATIONS, moves
from icmodel.sheets.formulas import ENDS, NEVER, Step, parse_steps
from icmodel.sheets.lookup import REQUESTED, SCALE, UNLIMITED, Lookup

OPPOSITE = {"value": "value", "low": "high", "high": "low"}
GOODPUT, LOSS, FRAMES = "goodput_bps", "loss_rate", "frames_per_s"
NAMES = {BEST: "best", GOODPUT: "unlimited", LOSS: "overload loss", LIMITED_LOSS: "limited loss"}
"""Table of the law (model variant) `corrected` -> name of the table in the names of steps."""
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
"""Look-up of a table: row of the polynomial, value and interval in payload and load, and code of the basis."""
FLOW = """
best {end} = IF([best unlimited {end}]="","",MIN([best unlimited {end}],[greatest]))
unlimited {end} = IF([unlimited unlimited {end}]="","",MIN([unlimited unlimited {end}],[greatest]))
overload loss {end} = IF(OR(NOT([lossy]),[overload loss unlimited {other}]=""),0,
  MIN([overload loss unlimited {other}],1))
limited loss {end} = IF(OR(NOT([lossy]),[limited loss requested {other}]=""),0,
  MAX(MIN([limited loss requested {other}],1),0))
# Whether the stream requests more than it can get alone, and whether all senders together do.
saturated {end} = IF([request]>={NEVER},TRUE,IF([best {end}]="",FALSE,[request]>[best {end}]*(1+{CLOSE})))
overloaded {end} = IF([request]>={NEVER},[best {end}]<>"",
  IF([best {end}]="",FALSE,[request]+[others]>[best {end}]*(1+{CLOSE})))
capacity {end} = IF([saturated {end}],[unlimited {end}],[best {end}])
receiver {end} = IF([overloaded {end}],[unlimited {end}],[best {end}])
able {end} = IF([unlimited {end}]="","",[unlimited {end}]/MAX(1-[overload loss {end}],{CLOSE}))
# Share of the receiver, as in `icmodel.laws.flow.fair_share`; a crowd offers more than the receiver accepts.
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
kept {end} = IF([saturated {end}],1,IF(OR([share {end}]="",[offered {end}]=""),{delivered},
  IF([share {end}]<[offered {end}],1,{delivered})))
goodput {end} = IF(OR([share {end}]="",[offered {end}]=""),"",MIN(
  MIN([offered {end}],[share {end}])*[kept {end}],
  IF([saturated {end}],{NEVER},[offered {end}]*{delivered}),[greatest]))
sent {end} = IF([lossy],IF([sent alone {end}]="","",[sent alone {end}]*[kept {end}]),[goodput {end}])
"""
"""Goodput, as in `icmodel.laws.corrected.flow`."""
ANSWERED = """
outside = AND(INDEX(k_surface,[configuration])>0,[goodput value]="")
answered = AND([refused]="",NOT([outside]))
loss lowers goodput = AND([endpoint count]>1,[others]>0,[overloaded value],[overload loss value]>0)
"""
LOST = """
lost {end} = IF(NOT([lossy]),0,IF(OR([goodput {end}]="",[sent {end}]="",[share {end}]=""),"",
  IF([saturated {end}],MAX(MIN(1-{arriving},1),0),
  IF([share {end}]>=[request]*(1-[limited loss {end}]),[limited loss {end}],MAX(MIN(1-{arriving},1),0)))))
"""
LOSS_RATE = """
loss_rate {end} = IF(OR([goodput value]="",AND([lossy],OR(
  AND([overload loss unlimited row]=0,[limited loss requested row]=0),
  AND([saturated value],[overload loss unlimited value]="")))),"",[lost {other}])
"""
"""Loss rate, as in `icmodel.laws.corrected.loss`."""
PROCESSING_TIME = """
{name} limited value = IF([{name} requested value]="","",IF({top}=0,
  IF([capacity value]="","",[{name} requested value]*MIN([request]/[capacity value],1)),[{name} requested value]))
{name} limited low = IF([{name} requested low]="","",IF({top}=0,
  IF([capacity value]="","",[{name} requested low]*MIN([request]/[capacity value],1)),[{name} requested low]))
{name} limited high = IF([{name} requested high]="","",IF(AND([request]>{top},{top}>0,[{name} unlimited high]<>""),
  MAX([{name} requested high],[{name} unlimited high]),[{name} requested high]))
"""
"""Processing time at the requested load, as in `icmodel.laws.appendix_h.cpu_time`."""
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
"""Metric at the achieved load; if the stream does not achieve the request, at the unlimited load."""


def law_steps(found: Lookup) -> Iterator[Step]:
    """Yield the formulas from the look-ups to value, low and high of each metric, in SI units."""
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
    """Whether busy cores are computed from a utilisation, since the dataset has no table of busy cores."""
    measured = f"{utilisation}_cores" in found.metrics
    return utilisation in found.metrics and not measured and bool(found.tables.axes.cores)


def look_up_steps(found: Lookup, index: int, name: str, load: str) -> Iterator[Step]:
    """Yield formulas that look up value, low, high and basis in a table, at one kind of load.

    ``load`` is the unlimited or the requested load.
    """
    table, place = f"{NAMES.get(name, name)} {load}", found.place(index)
    row, slots = f"[{table} row]", found.tables.axes.slots
    past = f"([bytes]-INDEX(t_from,{row}))"
    on_knot = f"[bytes]=INDEX(t_from,{row})"
    of_load = {"value_of_load": "", "low_of_load": "", "high_of_load": ""}
    basis = f"IF({on_knot},INDEX(t_basis_on_both,{row}),INDEX(t_basis_on_load,{row}))"
    if load == REQUESTED:  # terms of the load above the lowest load of the slot
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
        # Share of a stream beside the others. If measured at this endpoint count, it is at most the measured goodput.
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
            delivered="1" if end == "value" else f"INDEX(p_achieved_{end},[p])",
            NEVER=NEVER,
            CLOSE=CLOSE,
        )
    yield from parse_steps("goodput", ANSWERED)
    for end in ENDS:
        arriving = f"IF([sent {end}]=0,1-[overload loss {end}],[goodput {end}]/[sent {end}])"
        yield from parse_steps(LOSS, LOST, end=end, arriving=arriving)
    for end in ENDS:
        yield from parse_steps(LOSS, LOSS_RATE, end=end, other=OPPOSITE[end])


def metric_steps(found: Lookup, index: int, name: str) -> Iterator[Step]:
    """Yield formulas for a metric at the achieved load, with the delay of the path added."""
    processor, times = name.startswith(BUSY), traversals(name)
    flag, load = ("saturated", "limited") if processor else ("not achieved", REQUESTED)
    if processor:
        top = f"INDEX(t_top_load,[{name} {REQUESTED} row])"
        yield from parse_steps(name, PROCESSING_TIME, name=name, top=top)
    yield from parse_steps(name, AT_LOAD, name=name, flag=flag, load=load)

    place, switch_s = found.place(index), found.tables.link.switch_latency_s
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
        yield Step(name, f"{name} {end} raw", f'=IF({unknown},"",{number})')


def ordered_steps(metrics: list[str]) -> Iterator[Step]:
    """Yield formulas that put the statistics of each time in ascending order, and limit utilisations to 1.

    See `icmodel.laws.metrics.moves`.
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
