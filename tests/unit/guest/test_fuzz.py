# SPDX-License-Identifier: GPL-2.0-or-later
"""A slice of what `make faults` does to the guest's protocol."""

from __future__ import annotations

import pytest

from lsmeter.core.model import BootStatus
from lsmeter.guest.session import parse_session
from tests.faults import fuzz_protocol
from tests.faults.fuzz_protocol import fuzz, recordings


def test_recordings_are_believed_as_they_are() -> None:
    assert len(recordings()) > 10
    for recording in recordings():
        found = parse_session(recording.data, recording.request)
        assert (found.garbage, found.contradiction, found.complete) == ((), "", True)


def test_mutated_recordings() -> None:
    assert fuzz(1, range(2000)) == []


def test_what_is_believed_wrongly_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_protocol, "diagnose", lambda *_: (BootStatus.OK, ""))
    found = " ".join(fuzz(1, range(300)))
    assert "bytes that were changed count as a result" in found
    assert "got (" in found
