"""Properties ``drafting`` and ``adaptive``: drafts have the law declared for them, and whether one is verified is decided unseen.

The draft at a position, given what stands before it, must follow the row that the verifier divides by. The decision to
verify it must not move when it changes: given what stands before, the two are independent.

Probed runs are weighed exactly. Drawn runs are judged by one e-process over all positions (the draws at different
positions multiply), or by Azuma's inequality where the declared row is another one in every run.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from specproof.properties.check import Finding, name_of
from specproof.properties.decoder_runs import Runs, SeenRound
from specproof.properties.evidence.e_process import EProcess
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided, Verdict
from specproof.reference.model import Prefix

TOLERANCE = 1e-5  # rows come in single precision
NEVER = 1e-6  # shares of runs below it are a uniform at the edge of its range
ROWS = 16  # more different declared rows at one place than this are judged together


@dataclass(frozen=True)
class Draft:
    """One drafted token: where, which, with what share of the runs, whether it was verified, and its declared row."""

    place: Prefix  # the text, and the drafts of the round before this one
    token: int
    mass: float
    verified: bool
    row: tuple[float, ...]


def drafts(subject: Subject, runs: Runs) -> list[Draft]:
    """All drafted tokens. Raises ``Undecided`` where none was seen, ``LookupError`` where no law is declared."""
    found = []
    for mass, ran in runs.law:
        for seen in ran.rounds:
            rows = _declared(subject, runs, seen)
            found += [
                Draft((*seen.text, *seen.drafts[:i]), token, mass, i < seen.verified, rows[i])
                for i, token in enumerate(seen.drafts)
            ]
    if not found:
        raise Undecided("no draft was seen")
    return found


def _declared(subject: Subject, runs: Runs, seen: SeenRound) -> list[tuple[float, ...]]:
    if seen.draft_rows is not None:
        return [tuple(row) for row in seen.draft_rows.double().tolist()]
    own = getattr(subject.decoder, "draft_law", None)
    if own is None:
        raise LookupError
    case, rows = runs.case, []
    for i in range(len(seen.drafts)):
        place = (*seen.text, *seen.drafts[:i])
        row: Tensor = own(case.sampling, torch.tensor(place), case.draft.logits(place))
        rows.append(tuple(row.double().tolist()))
    return rows


def judge_drafts(subject: Subject, runs: Runs, alpha: float) -> Finding:
    """Judge the drafts against their declared rows."""
    evidence = runs.evidence(tolerance=TOLERANCE)
    if runs.case.tokens == 1 and not any(seen.drafts for _, ran in runs.law for seen in ran.rounds):
        return Finding(Verdict.NOT_APPLICABLE, "nothing is drafted for a single token", evidence)
    try:
        seen = drafts(subject, runs)
    except LookupError:
        reason = "the decoder reports no rounds and declares no draft_law"
        return Finding(Verdict.NOT_APPLICABLE, reason, evidence)
    broken = next((wrong for draft in seen if (wrong := _no_law(draft))), None)
    if broken is not None:
        return Finding(Verdict.FAILED, broken, evidence)
    if runs.kind == "sampled":
        return _counted(_by_row(seen), runs, alpha, "drafts have their declared law")
    gap, reason = max(_gaps(seen))
    evidence = runs.evidence(total_variation=gap, tolerance=TOLERANCE)
    if gap > TOLERANCE:
        return Finding(Verdict.FAILED, reason, evidence)
    return Finding(Verdict.HELD, f"drafts have their declared law: total variation {gap:.1e}", evidence)


def _no_law(draft: Draft) -> str | None:
    """Why the declared row cannot be the law of the draft, if so."""
    at = f"after {name_of(draft.place)}"
    if not all(math.isfinite(share) and share >= 0 for share in draft.row):
        return f"declared row {at} is no row of probabilities: {draft.row}"
    if abs(sum(draft.row) - 1) > TOLERANCE:
        return f"declared row {at} sums to {sum(draft.row):.6f}"
    if not 0 <= draft.token < len(draft.row):
        return f"draft {draft.token} {at} lies outside the vocabulary"
    if draft.mass > NEVER and draft.row[draft.token] <= 0:
        return f"draft {draft.token} {at} is impossible under its declared row"
    return None


def judge_adaptive(subject: Subject, runs: Runs, alpha: float) -> Finding:
    """Judge whether the decision to verify a draft moves with the draft."""
    evidence = runs.evidence(tolerance=TOLERANCE)
    if all(seen.draft_rows is None for _, ran in runs.law for seen in ran.rounds):
        return Finding(Verdict.NOT_APPLICABLE, "the decoder reports no rounds", evidence)
    seen = drafts(subject, runs)
    if judge_drafts(subject, runs, alpha).verdict is Verdict.FAILED:
        raise Undecided("drafts do not have their declared law")
    if runs.kind == "sampled":
        groups: dict[tuple[object, ...], list[Draft]] = defaultdict(list)
        for draft in seen:
            groups[draft.place, draft.row, draft.verified].append(draft)
        return _counted(list(groups.values()), runs, alpha, "whether a draft is verified does not depend on it")
    gap, reason = max(_dependence(seen))
    evidence = runs.evidence(total_variation=gap, tolerance=TOLERANCE)
    if gap > TOLERANCE:
        return Finding(Verdict.FAILED, reason, evidence)
    return Finding(Verdict.HELD, "whether a draft is verified does not depend on it", evidence)


def _by_place(seen: list[Draft]) -> dict[Prefix, list[Draft]]:
    places: dict[Prefix, list[Draft]] = defaultdict(list)
    for draft in seen:
        places[draft.place].append(draft)
    return places


def _by_row(seen: list[Draft]) -> list[list[Draft]]:
    """Drafts that share place and declared row; a place with very many rows is one group."""
    groups = []
    for here in _by_place(seen).values():
        rows: dict[tuple[float, ...], list[Draft]] = defaultdict(list)
        for draft in here:
            rows[draft.row].append(draft)
        groups += list(rows.values()) if len(rows) <= ROWS else [here]
    return groups


def _gaps(seen: list[Draft]) -> Iterator[tuple[float, str]]:
    """Distance of the drafts' law from the declared one in every group, in units of the group's share."""
    for group in _by_row(seen):
        total = sum(draft.mass for draft in group)
        excess = np.zeros(len(group[0].row))
        for draft in group:
            excess[draft.token] += draft.mass
            excess -= draft.mass * np.array(draft.row)
        gap = float(np.abs(excess).sum() / 2 / total)
        law = (excess / total + np.array(group[0].row)).round(6).tolist()
        yield gap, f"drafts after {name_of(group[0].place)} have the law {law}, declared is {list(group[0].row)}"


def _dependence(seen: list[Draft]) -> Iterator[tuple[float, str]]:
    """How far verification and draft are from independent at every place."""
    for place, here in _by_place(seen).items():
        total = sum(draft.mass for draft in here)
        verified = sum(draft.mass for draft in here if draft.verified) / total
        drawn: dict[int, float] = defaultdict(float)
        kept: dict[int, float] = defaultdict(float)
        for draft in here:
            drawn[draft.token] += draft.mass
            kept[draft.token] += draft.mass * draft.verified
        gap = sum(abs(kept[token] - drawn[token] * verified) for token in drawn) / 2 / total
        chances = {token: round(kept[token] / drawn[token], 6) for token in sorted(drawn)}
        yield gap, f"after {name_of(place)} a draft is verified with a probability that depends on it: {chances}"


def _counted(groups: list[list[Draft]], runs: Runs, alpha: float, held: str) -> Finding:
    """Judge drawn drafts, half of alpha for the e-process and half for groups in which every row is another one."""
    log_e, refutations = 0.0, []
    pooled = [group for group in groups if len({draft.row for draft in group}) > 1]
    for group in groups:
        law = np.array(group[0].row)
        counts = np.bincount([draft.token for draft in group], minlength=len(law))
        if len({draft.row for draft in group}) == 1:
            log_e += float(EProcess(law[law > 0] / law.sum()).log_e(counts[law > 0]))
            continue
        excess = np.abs(counts - np.sum([draft.row for draft in group], axis=0))
        # Azuma: differences of at most one, two sides, every token of every such group.
        limit = math.sqrt(2 * len(group) * math.log(4 * len(law) * len(pooled) / alpha))
        if excess.max() > limit:
            refutations.append(
                f"after {name_of(group[0].place)} token {int(excess.argmax())} is drafted {excess.max():.0f} times "
                f"more or less than the declared rows add up to, {limit:.0f} are allowed"
            )
    limit = math.log(2 / alpha)
    if log_e >= limit:
        refutations.append(f"e-process over {len(groups)} places: log E = {log_e:.1f} >= {limit:.1f}")
    evidence = runs.evidence(log_e=log_e, alpha=alpha)
    if refutations:
        return Finding(Verdict.FAILED, f"not so that {held}: {'; '.join(refutations)}", evidence)
    return Finding(Verdict.HELD, f"{held} ({sum(map(len, groups)):,} drafts)", evidence)
