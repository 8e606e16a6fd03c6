# SPDX-License-Identifier: GPL-2.0-or-later
"""Timed readings whose truth is known, with the noise that hosts have; pure.

Each model gives two sides, measured side by side in blocks, of which the tested one costs `factor`
times what the baseline costs in every reading. Both therefore differ by that factor in the median
and in the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtri

from lsmeter.statistics.blocks import Block
from lsmeter.statistics.ranks import Times

BASE_NS = 500.0
_READING = 0.05  # standard deviation of readings in a block, as a fraction
_BLOCK = 0.01  # and that of blocks
_HUMP, _OFTEN = math.log(1.08), 0.3  # blocks that are slower by their memory layout
_LATE = 0.03  # of the readings are met by an interrupt, which costs half of one at least
_SLOW, _CHANGES = math.log(4 / 3), 0.3  # of a shared core; how often a block meets the other state
_AMID, _BETWEEN = 0.05, 0.15  # of the blocks meet the change itself: in turns, or one after another
_KEPT = 0.95  # of a reading's deviation stays in the next one

Draw = np.random.Generator


@dataclass(frozen=True)
class Noise:
    """One model: logarithms of both sides' readings (2, blocks, readings) and of the true level."""

    name: str
    title: str
    logs: Callable[[Draw, int, int], tuple[Times, float]]
    wanders: bool = False  # from block to block: the level is that of the run


def sides(
    noise: Noise, draw: Draw, blocks: int, readings: int, factor: float = 1.0
) -> tuple[list[Block], list[Block], float]:
    """Return the blocks of the baseline and of the tested side, and the baseline's true level."""
    logs, level = noise.logs(draw, blocks, readings)
    times = BASE_NS * np.exp(logs)
    times[1] *= factor
    before, after = ([Block(at, values) for at, values in enumerate(side)] for side in times)
    return before, after, BASE_NS * math.exp(level)


def _usual(draw: Draw, blocks: int, readings: int, spread: float = _BLOCK) -> Times:
    shared = draw.normal(0, _BLOCK, (1, blocks, 1))
    own = draw.normal(0, spread, (2, blocks, 1))
    return np.asarray(shared + own + draw.normal(0, _READING, (2, blocks, readings)))


def _plain(draw: Draw, blocks: int, readings: int) -> tuple[Times, float]:
    return _usual(draw, blocks, readings), 0.0


def _drift(draw: Draw, blocks: int, readings: int) -> tuple[Times, float]:
    """Grow slower by a tenth, and wander; the level is that over the run."""
    places = np.linspace(-0.05, 0.05, 2 * blocks) + draw.normal(0, 0.004, 2 * blocks).cumsum()
    order = draw.permuted(places.reshape(blocks, 2), axis=1).T
    found = draw.normal(0, _BLOCK, (2, blocks, 1)) + order[:, :, None]
    noise = draw.normal(0, _READING, (2, blocks, readings))
    return np.asarray(found + noise), float(order[0].mean())


def _humps(draw: Draw, blocks: int, readings: int) -> tuple[Times, float]:
    slow = _HUMP * (draw.random((2, blocks, 1)) < _OFTEN)
    return np.asarray(_usual(draw, blocks, readings) + slow), _HUMP * _OFTEN


def _tails(draw: Draw, blocks: int, readings: int) -> tuple[Times, float]:
    logs = draw.normal(0, _READING, (2, blocks, readings))
    late = draw.random(logs.shape) < _LATE
    logs = np.where(late, np.log(1.5 + draw.pareto(1.5, logs.shape)), logs)
    level = _READING * float(ndtri(0.5 / (1 - _LATE)))
    return np.asarray(logs + _BLOCK * draw.standard_t(3, (2, blocks, 1))), level


def _autocorrelated(draw: Draw, blocks: int, readings: int) -> tuple[Times, float]:
    steps = draw.normal(0, _READING * math.sqrt(1 - _KEPT**2), (2, blocks, readings))
    steps[..., 0] = draw.normal(0, _READING, (2, blocks))
    return np.asarray(lfilter([1.0], [1.0, -_KEPT], steps, axis=-1)), 0.0


def _states(draw: Draw, blocks: int) -> Times:
    """Return 1 for each block that finds the core in its slow state, which lasts for some."""
    return np.asarray((draw.integers(2) + (draw.random(blocks) < _CHANGES).cumsum()) % 2.0)


def _in_turns(draw: Draw, blocks: int, readings: int) -> tuple[Times, float]:
    """Change both sides' state together, but for the turn in which it changes."""
    state = _states(draw, blocks)[None, :, None]
    first = np.where(draw.random(blocks) < _AMID, draw.integers(readings, size=blocks), readings)
    first = first + draw.integers(readings // 10 + 1, size=(2, blocks))
    amid = np.arange(readings) >= first[:, :, None]
    slow = np.where(amid, 1 - state, state)
    return np.asarray(_usual(draw, blocks, readings) + _SLOW * slow), _level(slow)


def _in_a_row(draw: Draw, blocks: int, readings: int) -> tuple[Times, float]:
    """Let the state change between the sides of a block, too."""
    state = np.tile(_states(draw, blocks), (2, 1))
    side = draw.integers(2, size=blocks)
    changed = draw.random(blocks) < _BETWEEN
    state[side, np.arange(blocks)] = np.where(changed, 1 - state[0], state[0])
    slow = np.broadcast_to(state[:, :, None], (2, blocks, readings))
    return np.asarray(_usual(draw, blocks, readings) + _SLOW * slow), _level(slow)


def _level(slow: Times) -> float:
    return _SLOW * float(np.median(slow[0], axis=1).mean())


_MODELS = (
    Noise("plain", "readings vary by 5 %, blocks by 1 %", _plain),
    Noise("drift", "the host grows slower by 10 %, and wanders", _drift, wanders=True),
    Noise("two-humped", "three of ten blocks are slower by 8 %", _humps),
    Noise("shared core", "a third slower for some blocks; in turns", _in_turns, wanders=True),
    Noise("in a row", "the same, one side after the other", _in_a_row, wanders=True),
    Noise("heavy tails", "3 % of the readings are late without bound", _tails),
    Noise("autocorrelated", "0.95 of a deviation stays in the next reading", _autocorrelated),
)
MODELS: Mapping[str, Noise] = {item.name: item for item in _MODELS}
