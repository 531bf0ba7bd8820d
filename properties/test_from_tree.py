"""Functions on trees: how drafts are laid out, and that a right one keeps the law where a wrong one does not."""

from typing import Any

import pytest
import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.from_tree import Tree, from_tree_function
from specproof.properties.cases import one_step_cases
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.subject import subject_of_verifier
from specproof.reference.law import total_variation

PATHS = 2


def recursive(
    tokens: Tensor, parents: Tensor, draft: Tensor, target: Tensor, generator: Any, *, row_of_child: bool = False
) -> tuple[Tensor, Tensor]:
    """Recursive rejection sampling down a tree: children of a node in turn, each against what the ones before it left."""
    coins = torch.rand(len(tokens), tokens.shape[1] + 1, dtype=torch.float64, generator=generator).tolist()
    last, final = [], []
    for b, coin in enumerate(coins):
        node, left = -1, target[b, 0].double()
        while True:
            for child in (parents[b] == node).nonzero()[:, 0].tolist():
                token, law = tokens[b, child], draft[b, child].double()
                if coin[child] * law[token] < left[token]:
                    node, left = child, target[b, child if row_of_child else child + 1].double()
                    break
                left = (left - law).clamp(min=0)
                left = left / left.sum()
            else:
                break
        last.append(node)
        final.append(int((left.cumsum(0) / left.sum() > coin[-1]).int().argmax()))
    return torch.tensor(last), torch.tensor(final)


def test_paths_are_merged_where_they_agree() -> None:
    """Drafts (0, 1), (0, 2), (1, 1): the second hangs under the first, the third has a branch of its own."""
    rows = torch.arange(3 * 3 * 3, dtype=torch.float32).view(1, 3, 3, 3)
    tree = Tree.of(Drafts(torch.tensor([[[0, 1], [0, 2], [1, 1]]]), rows[:, :, :2], rows))
    assert tree.tokens.tolist() == [[0, 0, 1, 1, 2, 1]]
    assert tree.parents.tolist() == [[-1, -1, -1, 0, 0, 2]]
    assert torch.equal(tree.target_probs[0, 0], rows[0, 0, 0])
    assert torch.equal(tree.target_probs[0, 1 + 4], rows[0, 1, 2])  # after node 4, the second token of draft 1
    assert torch.equal(tree.draft_probs[0, 4], rows[0, 1, 1])
    with pytest.raises(ValueError, match="of one length"):
        Tree.of(Drafts(torch.zeros(1, 1, 2, dtype=torch.int64), rows[:, :1, :2], rows[:, :1], torch.tensor([1])))


def test_a_tree_function_is_probed_on_trees_that_part_below_the_root() -> None:
    """Right recursion keeps the law of two tokens to rounding; the row before a node in place of that after it does not."""
    (case,) = [case for case in one_step_cases(PATHS) if case.name == "context V2 L2"]

    def distance(function: Any) -> float:
        subject = subject_of_verifier(from_tree_function(function, drafts=PATHS, rule="recursive"), name="tree")
        return float(total_variation(observe_probed(subject, case, spot_checks=200).text, case.target_law))

    assert distance(recursive) <= 1e-6
    assert distance(lambda *given: recursive(*given, row_of_child=True)) > 0.01


def test_what_is_no_function_or_no_node_is_refused() -> None:
    """The message says what was given or is allowed."""
    with pytest.raises(TypeError, match="needs a function, got int"):
        from_tree_function(3, drafts=2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 1, got 0"):
        from_tree_function(recursive, drafts=0)
    given = Drafts(torch.zeros(1, 2, 1, dtype=torch.int64), torch.ones(1, 2, 1, 1), torch.ones(1, 2, 2, 1))
    wrong = from_tree_function(lambda *_: (torch.tensor([2]), torch.tensor([0])), drafts=2)
    with pytest.raises(ValueError, match=r"between -1 \(none\) and 1"):
        wrong.verify(given, None)
