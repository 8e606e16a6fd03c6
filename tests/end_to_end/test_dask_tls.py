# SPDX-License-Identifier: GPL-2.0-or-later
"""A scheduler behind TLS: who has a certificate of its authority is served, and nobody else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from lsmeter.core import process
from tests.conftest import Lsmeter, Wait

_KEYS = "DASK_DISTRIBUTED__COMM__TLS__"


def openssl(*words: str) -> None:
    subprocess.run(("openssl", *words), check=True, capture_output=True)


def certificates(home: Path) -> Mapping[str, str]:
    """Make an authority, and a certificate of it; return the environment that names them."""
    home.mkdir()
    ca, key, cert = home / "ca.pem", home / "here.key", home / "here.pem"
    new = ("req", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    openssl(*new, "-x509", "-subj", "/CN=authority", "-keyout", f"{ca}.key", "-out", str(ca))
    openssl(*new, "-subj", "/CN=here", "-keyout", str(key), "-out", f"{cert}.csr")
    signed = ("-CA", str(ca), "-CAkey", f"{ca}.key", "-CAcreateserial", "-days", "2")
    openssl("x509", "-req", "-in", f"{cert}.csr", *signed, "-out", str(cert))
    found = {f"{_KEYS}CA_FILE": str(ca)}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        found |= {f"{_KEYS}{role}__CERT": str(cert), f"{_KEYS}{role}__KEY": str(key)}
    return found


def test_only_who_has_a_certificate_is_served(
    lsmeter: Lsmeter, tmp_path: Path, wait_for: Wait[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own, strange = certificates(tmp_path / "own"), certificates(tmp_path / "strange")
    file = tmp_path / "scheduler.json"

    def address() -> str:
        text = file.read_text() if file.exists() else ""
        return str(json.loads(text)["address"]) if text.endswith("}") else ""

    words = ("--protocol", "tls", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", *words]
    env = process.environment(own)
    with process.started([*command, "--scheduler-file", str(file)], env=env, to=subprocess.DEVNULL):
        where = wait_for(address)
        assert where.startswith("tls://")
        worker = [sys.executable, "-m", "lsmeter", "worker", where, "--guests", "1", "--name", "w"]
        with process.started(worker, env=env, to=subprocess.DEVNULL):
            for name, value in own.items():
                monkeypatch.setenv(name, value)
            served = lsmeter("doctor", "--machine", f"dask:{where}")
            assert "1 guest(s) at a time" in served.out, served.err
            for name, value in strange.items():
                monkeypatch.setenv(name, value)
            refused = lsmeter("doctor", "--machine", f"dask:{where}")
    assert "1 guest(s)" not in refused.out
    assert "no scheduler answers" in refused.out + refused.err
    assert "Traceback" not in refused.err
