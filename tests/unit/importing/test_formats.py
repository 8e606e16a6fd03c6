# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of other programs: what is read of real ones, and that anything else is refused."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Better
from lsmeter.questions.importing import ForeignError, Parsed, find_format, formats, number, plain
from lsmeter.questions.importing.run import read_source

DATA = Path(__file__).parents[2] / "data" / "imported"
FILES = {
    "lmbench-1": "lmbench",
    "unixbench-1": "unixbench",
    "unixbench-2": "unixbench",
    "phoronix-1.xml": "phoronix",
    "phoronix-2.xml": "phoronix",
    "phoronix-1.json": "phoronix",
}


def text_of(name: str) -> str:
    return (DATA / name).read_text()


def parsed(name: str, system: str = "") -> Parsed:
    return find_format(FILES[name]).parse(text_of(name), system)


def values(name: str) -> dict[str, tuple[tuple[str, ...], str, Better]]:
    return {
        item.benchmark.id: (
            tuple(map(str, item.values)),
            item.benchmark.metric.unit,
            item.benchmark.metric.better,
        )
        for item in parsed(name).readings
    }


def test_lmbench_is_read_with_units_and_directions() -> None:
    found, whole = values("lmbench-1"), text_of("lmbench-1")
    said = {
        "simple-stat": ("Simple stat: {} microseconds", "us", Better.LOWER),
        "select-on-tcp-file-descriptors fds=100": (
            *("Select on 100 tcp fd's: {} microseconds", "us", Better.LOWER),
        ),
        "process-fork+/bin/sh--c": (
            *("Process fork+/bin/sh -c: {} microseconds", "us", Better.LOWER),
        ),
        "file-write-bandwidth": (
            *("File /var/tmp/XXX write bandwidth: {} KB/sec", "KB/s", Better.HIGHER),
        ),
        "pipe-bandwidth": ("Pipe bandwidth: {} MB/sec", "MB/s", Better.HIGHER),
    }
    for name, (line, unit, better) in said.items():
        ((value,), *rest) = found[name]
        assert line.format(value) in whole, name
        assert rest == [unit, better]
    tables = {
        "mappings size=0.524288": ("us", Better.LOWER),
        "file-create size=1k": ("files/s", Better.HIGHER),
        "read-bandwidth size=0.000512": ("MB/s", Better.HIGHER),
        "socket-bandwidth-using-localhost size=0.000064": ("MB/s", Better.HIGHER),
        "memory-partial-read/write-bandwidth size=4.19": ("MB/s", Better.HIGHER),
    }
    for name, rest_of in tables.items():
        assert found[name][1:] == rest_of, name
    switches = [name for name in found if name.startswith("context-switch")]
    assert len(switches) > 10
    assert {found[name][1:] for name in switches} == {("us", Better.LOWER)}
    run = parsed("lmbench-1")
    assert (run.version, run.release[:5]) == ("3.0", "6.18.")
    assert any("XACT_PROG" in line for line in run.left_out)


def test_unixbench_is_read_for_each_number_of_copies() -> None:
    found = values("unixbench-1")
    assert len(found) == 13
    assert found["system-call-overhead copies=1"] == (("991649.7",), "lps", Better.HIGHER)
    assert found["index-score copies=1"] == (("595.3",), "index", Better.HIGHER)
    two = values("unixbench-2")
    assert len(two) == 8
    assert two["pipe-throughput copies=2"] == (("419412.4",), "lps", Better.HIGHER)
    assert two["partial-index-score copies=2"] == (("487.7",), "index", Better.HIGHER)
    assert (parsed("unixbench-1").version, parsed("unixbench-1").release[:5]) == ("6.0.0", "6.18.")


def test_phoronix_is_read_with_every_run_of_a_test() -> None:
    found = values("phoronix-1.xml")
    assert found["simdjson test=kostya"] == (("1.14", "1.13", "1.14"), "GB/s", Better.HIGHER)
    assert len(found) == 5
    run = parsed("phoronix-1.xml")
    assert (run.version, run.release, run.system) == (
        *("10.8.4", "5.14.0-559.el9.x86_64", "GVNO3"),
    )
    assert len(run.left_out) == 2 and "Install Time" in run.left_out[0]


def test_phoronix_says_the_same_in_both_of_its_forms() -> None:
    assert parsed("phoronix-1.json") == parsed("phoronix-1.xml")


FIRST = '"raw_values": [\n' + " " * 24


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"results": {', '"results": [], "more": {', "before 10.8.3"),
        ('"systems": {', '"sistems": {', "before 10.8.3"),
        ('"systems": {', '"systems": 1, "more": {', "no systems"),
        ('"GVNO3": {\n            "ident', '"GVNO4": {\n            "ident', "no number of GVNO4"),
        ('"raw_values": [', '"raw_values": {"a": 1}, "more": [', "are no list"),
        (f"{FIRST}1.36", f"{FIRST}0", "no number above 0"),
        (f"{FIRST}1.36", f"{FIRST}null", None),
        ('"software": {', '"software": "x", "more": {', "names and values"),
        ('"software": {', '"software": [], "more": {', None),
    ],
)
def test_json_of_another_form_is_refused(old: str, new: str, said: str | None) -> None:
    text = text_of("phoronix-1.json")
    assert old in text
    changed, parse = text.replace(old, new, 1), find_format("phoronix").parse
    if said is None:
        assert parse(changed, "").readings
    else:
        with pytest.raises(ForeignError, match=said):
            parse(changed, "")


def test_of_several_systems_one_is_named() -> None:
    one, two = text_of("phoronix-1.xml"), text_of("phoronix-2.xml")
    system = two[two.index("  <System>") : two.index("  <Result>")]
    both = one.replace("  <Result>", f"{system}  <Result>", 1)
    parse = find_format("phoronix").parse
    with pytest.raises(ForeignError, match=r"2 systems: name one: --system NAME \(GVNO3, NoGVNO3"):
        parse(both, "")
    assert parse(both, "GVNO3").readings == parse(one, "").readings
    with pytest.raises(ForeignError, match="has no number of NoGVNO3"):
        parse(both, "NoGVNO3")
    with pytest.raises(UsageError, match="did you mean GVNO3"):
        parse(both, "GVN03")
    for name in ("lmbench-1", "unixbench-1"):
        with pytest.raises(ForeignError, match="--system"):
            parsed(name, "other")


@pytest.mark.parametrize("name", FILES)
def test_what_is_cut_short_is_refused(name: str) -> None:
    whole, parse = text_of(name), find_format(FILES[name]).parse
    full = len(parse(whole, "").readings)
    part = whole.find("Benchmark Run", whole.find("Index Score")) if "unix" in name else -1
    step = max(1, len(whole) // 300)
    for end in {*range(0, len(whole.rstrip()) - 1, step), len(whole.rstrip()) - 1}:
        try:
            found = parse(whole[:end], "")
        except ForeignError:
            continue
        # A report of one number of copies is a whole one.
        assert 0 < part - 100 < end <= part + len("Benchmark Run: "), end
        assert len(found.readings) < full


@pytest.mark.parametrize("form", formats())
def test_foreign_files_are_refused(form: str) -> None:
    parse = find_format(form).parse
    others = [text_of(name) for name, kind in FILES.items() if kind != form]
    for text in (*others, "", "\n", "\0" * 100, "{}", "<a/>", "<PhoronixTestSuite/>"):
        with pytest.raises(ForeignError):
            parse(text, "")


@given(st.text(max_size=200), st.sampled_from(sorted(FILES)), st.integers(0, 200), st.data())
def test_no_text_is_more_than_refused(
    noise: str, name: str, percent: int, data: st.DataObject
) -> None:
    whole = text_of(name)
    at = len(whole) * percent // 200
    length = data.draw(st.integers(0, 300))
    try:
        found = find_format(FILES[name]).parse(whole[:at] + noise + whole[at + length :], "")
    except ForeignError:
        return
    for item in found.readings:
        assert item.values and all(value > 0 and value.is_finite() for value in item.values)
        assert item.benchmark.id.isprintable()


def test_a_document_type_is_refused() -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bbbb">]><PhoronixTestSuite>&b;'
    with pytest.raises(ForeignError, match="declares a document type"):
        find_format("phoronix").parse(bomb, "")


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "1e99", "1" * 30, "1.2.3", "x"])
def test_what_is_no_number_above_0_is_refused(text: str) -> None:
    with pytest.raises(ForeignError):
        number(text)
    assert number("12.50") == Decimal("12.50")


def test_values_that_are_too_far_apart_are_an_error_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "composite.xml"
    raw = re.compile("<RawString>[^<]*</RawString>")
    path.write_text(
        raw.sub("<RawString>99999999999999:0.00000000000001</RawString>", text_of("phoronix-1.xml"))
    )
    with pytest.raises(UsageError, match="cannot be stored with 14 digits"):
        read_source(path, find_format("phoronix"), "")


def test_two_latencies_of_memory_are_told_apart() -> None:
    sequential = 'Memory load latency\n"stride=16\n0.00049 1.43\n'
    table = f"\n{sequential}\nRandom load latency\n{sequential.partition(chr(10))[2]}"
    text = text_of("lmbench-1").replace(
        '\n"size=0k', f'{table.replace("1.43", "7.5", 1)}\n"size=0k'
    )
    found = find_format("lmbench").parse(text, "").readings
    named = {
        item.benchmark.id: str(item.values[0]) for item in found if "load" in item.benchmark.id
    }
    assert named == {
        "memory-load-latency stride=16 size=0.00049": "7.5",
        "random-load-latency stride=16 size=0.00049": "1.43",
    }


def test_a_table_that_comes_twice_with_other_numbers_is_told() -> None:
    text = text_of("lmbench-1")
    again = text.replace("Simple stat:", "Simple stat: 9.9 microseconds\nSimple stat:", 1)
    parse = find_format("lmbench").parse
    left = parse(again, "").left_out
    assert [line for line in left if "stat" in line] == [
        f"simple-stat, a second time: {next(x for x in text.splitlines() if 'Simple stat' in x)}"
    ]
    same = re.sub(r"(Simple stat: .*\n)", r"\1\1", text, count=1)
    assert parse(same, "") == parse(text, "")


def test_two_results_of_a_test_are_told_apart() -> None:
    one = text_of("phoronix-1.xml")
    first = one[one.index("  <Result>") : one.index("</Result>") + len("</Result>\n")]
    other = re.sub("<Scale>.*</Scale>", "<Scale>ms</Scale>", first)
    parse = find_format("phoronix").parse
    names = [item.benchmark.id for item in parse(one.replace(first, first + other), "").readings]
    assert len(set(names)) == 6
    assert [name.partition(" result=")[2][-4:] for name in names[:2]] == ["gb/s", "s-ms"]


@pytest.mark.parametrize(("name", "part"), [("phoronix-1.xml", "Result"), ("unixbench-1", "")])
def test_one_result_twice_is_refused(name: str, part: str, tmp_path: Path) -> None:
    text = text_of(name)
    if part:
        first = text[text.index("  <Result>") : text.index("</Result>") + len("</Result>\n")]
        text = text.replace(first, first * 2)
    else:
        text += text[text.index("Benchmark Run: ") :]
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(UsageError, match="it has two results of "):
        read_source(path, find_format(FILES[name]), "")


def test_long_names_are_told_apart() -> None:
    one, two = (plain("word " * 20 + end) for end in ("a", "b"))
    assert one != two
    assert max(map(len, (one, two))) <= 60
    assert plain("word " * 11) == "word-" * 10 + "word"
