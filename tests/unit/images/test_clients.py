# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients of the image `servers`: what they say of answers that are right, wrong and missing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lsmeter.sources.images.definition import SHIPPED
from tests.conftest import DEADLINE_S

SERVERS = SHIPPED / "servers"
CLIENTS = SERVERS / "usr/lib/lsmeter/client"
SCRIPTS = sorted(
    path
    for path in (SERVERS / "usr/lib/lsmeter").rglob("*")
    if path.is_file() and path.read_text().startswith("#!")
)
# As ab 2.3 prints it; -e writes percentiles to a file.
AB = """\
#!/bin/sh
while [ $# -gt 0 ]; do
	[ "$1" != -e ] || printf 'Percentage,ms\\n50,3.5\\n95,4\\n98,8.5\\n99,9.25\\n' >"$2"
	shift
done
cat <<END
Complete requests:      {complete}
Failed requests:        {failed}
   (Connect: 0, Receive: 0, Length: {failed}, Exceptions: 0)
{other}
Total transferred:      99999 bytes
HTML transferred:       {bytes} bytes
Requests per second:    225.49 [#/sec] (mean)
END
exit {status}
"""
SYSBENCH = """\
#!/bin/sh
cat <<END
    transactions:                        {done}     (13.10 per sec.)
    ignored errors:                      {errors}      (0.00 per sec.)
    reconnects:                          {reconnects}      (0.00 per sec.)
         95th percentile:                       86.00
END
exit {status}
"""


def run(home: Path, program: str, text: str, *words: str) -> tuple[int, str]:
    """Run a client with `text` in place of the program that it calls."""
    client, name = program.split(" ")
    stand_in = home / name
    stand_in.write_text(text)
    stand_in.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", str(CLIENTS / client), *words],
        env={"PATH": f"{home}:/usr/bin:/bin", "TMPDIR": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    return done.returncode, done.stdout.splitlines()[-1]


def ab(**values: object) -> str:
    known: dict[str, object] = {
        "complete": 200,
        "failed": 0,
        "other": "",
        "bytes": 20_000,
        "status": 0,
    }
    return AB.format(**known | values)


@pytest.mark.parametrize(
    ("status", "answers", "said"),
    [
        ("200", {}, "units=200 failed=0"),
        ("200", {"failed": 3}, "units=197 failed=3"),
        ("200", {"complete": 190, "bytes": 19_000}, "units=190 failed=0"),
        ("200", {"other": "Non-2xx responses:      200"}, "units=0 failed=200"),
        ("200", {"bytes": 20_001}, "units=0 failed=200"),  # all alike, and all wrong
        ("404", {"other": "Non-2xx responses:      200"}, "units=200 failed=0"),
        ("404", {"other": "Non-2xx responses:      199"}, "units=199 failed=1"),
        ("404", {}, "units=0 failed=200"),
    ],
)
def test_answers_of_a_web_server_are_counted_by_status_and_length(
    tmp_path: Path, status: str, answers: dict[str, object], said: str
) -> None:
    code, line = run(tmp_path, "http ab", ab(**answers), "200", "1", status, "100", "http://x/")
    assert (code, line[: len(said) + 1]) == (0, f"{said} ")
    assert line.endswith("rate_per_s=225.49 p50_us=3500 p95_us=4000 p99_us=9250")


@pytest.mark.parametrize(
    ("kept", "said"),
    [("200", "units=200 failed=0"), ("150", "units=150 failed=50"), ("", "units=0 failed=200")],
)
def test_a_connection_that_was_asked_to_be_kept_has_to_be(
    tmp_path: Path, kept: str, said: str
) -> None:
    text = ab(other=f"Keep-Alive requests:    {kept}" if kept else "")
    code, line = run(tmp_path, "http ab", text, "200", "1", "200", "100", "http://x/", "-k")
    assert (code, line[: len(said) + 1]) == (0, f"{said} ")


def test_few_answers_have_no_percentile_beyond_the_longest(tmp_path: Path) -> None:
    text = ab(complete=50, bytes=5000)
    line = run(tmp_path, "http ab", text, "50", "1", "200", "100", "http://x/")[1]
    assert line.endswith("p50_us=3500 p95_us=4000 p99_us=8500")


def test_a_client_that_fails_says_why_and_gives_no_number(tmp_path: Path) -> None:
    text = """#!/bin/sh
echo 'Benchmarking 10.9.0.1 (be patient)...apr_pollset_poll: The timeout has expired (70007)'
echo 'Total of 497 requests completed'
exit 7
"""
    code, line = run(tmp_path, "http ab", text, "200", "1", "200", "100", "http://x/")
    assert (code, line) == (1, "apr_pollset_poll: The timeout has expired (70007)")
    text = "#!/bin/sh\necho 'apr_socket_recv: Connection refused (111)'\nexit 104\n"
    code, line = run(tmp_path, "http ab", text, "200", "1", "200", "100", "http://x/")
    assert (code, line) == (1, "apr_socket_recv: Connection refused (111)")
    text = "#!/bin/sh\necho 'FATAL: unable to connect'\nexit 1\n"
    code, line = run(tmp_path, "database sysbench", text, "30", "1", "oltp_read_only")
    assert (code, line) == (1, "FATAL: unable to connect")


@pytest.mark.parametrize(
    ("done", "errors", "reconnects", "said"),
    [(30, 0, 0, "units=30 failed=0"), (28, 0, 0, "units=28 failed=2"), (30, 1, 2, "failed=3")],
)
def test_transactions_count_that_were_finished_without_errors(
    tmp_path: Path, done: int, errors: int, reconnects: int, said: str
) -> None:
    text = SYSBENCH.format(done=done, errors=errors, reconnects=reconnects, status=0)
    code, line = run(tmp_path, "database sysbench", text, "30", "1", "oltp_read_only")
    assert code == 0
    assert said in line
    assert line.endswith("rate_per_s=13.10 p95_us=86000")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(SERVERS)))
def test_scripts_can_be_run_and_read(script: Path) -> None:
    checks = {"#!/bin/sh": ("/bin/sh", "-n"), "#!/usr/bin/perl": ("/usr/bin/perl", "-c")}
    done = subprocess.run(
        [*checks[script.read_text().splitlines()[0]], str(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    assert done.stderr in {"", f"{script} syntax OK\n"}
    assert script.stat().st_mode & 0o111
