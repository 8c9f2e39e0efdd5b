"""Use cases: read a TOML document of streams and requirements, and judge each candidate.

Modules in the order of use: ``files`` (reads the document), ``document`` (its tables), ``derivation`` (numbers and limits
computed from the tables alone), ``evaluation`` (predicts each candidate; uses ``hosts`` for shared interfaces),
``judging`` (judges each requirement), ``result``.
"""

from icmodel.usecase.derivation import Derivation, Derivations, derive
from icmodel.usecase.document import UseCase
from icmodel.usecase.evaluation import evaluate, judge_candidates
from icmodel.usecase.files import (
    find_usecase,
    load_derived,
    load_usecase,
    new_usecase_text,
    read_usecase,
    usecase_file,
    usecase_names,
    usecase_schema,
)
from icmodel.usecase.result import Answer, CandidateResult, Evaluation, Finding, Objective

__all__ = [
    "Answer",
    "CandidateResult",
    "Derivation",
    "Derivations",
    "Evaluation",
    "Finding",
    "Objective",
    "UseCase",
    "derive",
    "evaluate",
    "find_usecase",
    "judge_candidates",
    "load_derived",
    "load_usecase",
    "new_usecase_text",
    "read_usecase",
    "usecase_file",
    "usecase_names",
    "usecase_schema",
]
