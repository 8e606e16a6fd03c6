# SPDX-License-Identifier: GPL-2.0-or-later
"""How layers are named in reports."""

from __future__ import annotations

import pytest

from lsmeter.core.model.setup import Layer
from lsmeter.questions.cost.layers import layer_words


@pytest.mark.parametrize(
    ("adds", "below", "words"),
    [
        ((Layer.HOOKS,), (), "hooks"),
        ((Layer.POLICY,), (Layer.PERMISSIVE,), "enforcing"),
        ((Layer.POLICY,), (Layer.HOOKS,), "policy"),
        ((Layer.HOOKS, Layer.PERMISSIVE), (), "hooks and permissive policy"),
        ((Layer.HOOKS, Layer.PERMISSIVE, Layer.POLICY), (), "hooks and policy"),
        ((Layer.HOOKS, Layer.POLICY, Layer.AUDIT), (), "hooks, policy and audit"),
    ],
)
def test_words_of_layers(adds: tuple[Layer, ...], below: tuple[Layer, ...], words: str) -> None:
    assert layer_words(adds, below) == words
