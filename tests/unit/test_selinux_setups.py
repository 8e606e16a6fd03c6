# SPDX-License-Identifier: GPL-2.0-or-later
"""What the setups of SELinux with a policy ask a guest for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.catalogue.setups import parse_setup
from lsmeter.catalogue.setups._computed import categories
from lsmeter.core.errors import UsageError
from lsmeter.core.model import Setup
from lsmeter.core.model.setup import TRY, Layer, Step
from lsmeter.guest.boot_image import make_request
from tests.unit.model_builders import cell

LOADED = "/etc/lsmeter/selinux/default.policy"
THRESHOLD = "/sys/fs/selinux/avc/cache_threshold"


def expected(setup: Setup) -> dict[str, str]:
    return {item.fact: item.value for item in setup.expect}


def loads(setup: Setup) -> list[str]:
    return [step.words[1] for step in setup.steps if step.action == "load"]


@pytest.mark.parametrize("policy", ["default", "mdp"])
def test_enforcing_proves_a_denial_and_permissive_that_it_would_be_one(policy: str) -> None:
    for name, enforcing in (("selinux-enforcing", True), ("selinux-permissive", False)):
        setup = parse_setup(f"{name}:policy={policy}")
        secret, public = setup.checks
        assert secret.denied is enforcing
        assert secret.message == "avc:  denied"
        assert not public.denied
        assert expected(setup)["selinux.enforce"] == str(int(enforcing))
        assert expected(setup)["selinux.policy_loaded"] == "1"


def test_the_layers_lie_over_one_another_with_the_same_parameters() -> None:
    enforcing = parse_setup("selinux-enforcing:domain=confined,avc=64")
    assert (enforcing.layer, enforcing.over) == (
        Layer.POLICY,
        "selinux-permissive:avc=64,domain=confined",
    )
    permissive = parse_setup(enforcing.over)
    assert permissive.name == enforcing.over
    assert (permissive.layer, permissive.over) == (Layer.PERMISSIVE, "selinux")
    assert set(permissive.steps) < set(enforcing.steps)


def test_what_is_labelled_is_mounted_under_the_policy_and_before_it_is_enforced() -> None:
    steps = parse_setup("selinux-enforcing").steps
    actions = [step.action for step in steps]
    assert (
        steps.index(TRY)
        < actions.index("load")
        < steps.index(Step("work"))
        < actions.index("label")
    )
    assert steps[-1].words == ("/sys/fs/selinux/enforce", "1")
    assert [step.title for step in steps if step.title] == ["policy load"]


def test_every_worker_has_to_be_in_its_domain() -> None:
    setup = parse_setup("selinux-enforcing:domain=confined")
    ((path, context),) = setup.confine
    assert path == "/proc/self/attr/current"
    assert context == expected(setup)["worker.context"]
    assert context.split(":")[2] == "lsmeter_confined_t"
    unconfined = parse_setup("selinux-enforcing:domain=unconfined")
    assert expected(unconfined)["worker.context"].split(":")[2] == "unconfined_t"


def test_the_minimal_policy_needs_its_kernel_and_no_image() -> None:
    setup = parse_setup("selinux-enforcing:policy=mdp")
    assert [item.artifact for item in setup.files] == ["mdp-policy"]
    assert (setup.image, setup.confine) == ("", ())
    assert loads(setup) == ["/setup/mdp-policy"]
    assert parse_setup("selinux-enforcing").image == "policy"


def test_auditing_of_grants_is_another_policy() -> None:
    assert loads(parse_setup("selinux-enforcing")) == [LOADED]
    granting = parse_setup("selinux-enforcing:grants=on")
    assert loads(granting) == ["/etc/lsmeter/selinux/auditallow.policy"]
    assert any(word.startswith("audit_backlog_limit=") for word in granting.cmdline)


def test_files_without_labels_are_not_expected_to_have_one() -> None:
    labelled = parse_setup("selinux-enforcing")
    assert expected(labelled)["work.label"].split(":")[2] == "lsmeter_work_t"
    unlabelled = parse_setup("selinux-enforcing:labels=unlabelled")
    assert "work.label" not in expected(unlabelled)
    assert "label" not in {step.action for step in unlabelled.steps}


@pytest.mark.parametrize("size", [16, 512, 8192])
def test_a_cold_avc_has_its_size_again_when_it_is_measured(size: int) -> None:
    setup = parse_setup(f"selinux-enforcing:avc={size},cold=on")
    first, visit, last = setup.before
    assert (first.words, last.words) == ((THRESHOLD, "0"), (THRESHOLD, str(size)))
    assert visit.action == "visit"
    assert expected(setup)["selinux.avc_threshold"] == str(size)
    assert parse_setup("selinux-enforcing").before == ()


def test_pressure_meets_as_many_labels_as_asked_for() -> None:
    setup = parse_setup("selinux-enforcing:pressure=1500")
    (labels,) = setup.files
    named = [line for line in labels.text.splitlines() if line.startswith("security.selinux=")]
    assert len(named) == len(set(named)) == 1500
    enter, visit = setup.before
    assert enter.words[1] == expected(setup)["worker.context"]
    assert visit.words == ("/labels",)


@given(st.integers(0, 4096))
def test_categories_are_different_and_in_order(count: int) -> None:
    found = categories(count)
    assert len(found) == len(set(found)) == count
    for word in found:
        numbers = [int(part[1:]) for part in word.split(",")]
        assert numbers == sorted(set(numbers))
        assert len(numbers) <= 2
        assert max(numbers) < 1024


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("policy=mdp,domain=confined", "one domain"),
        ("policy=mdp,grants=on", "no rule"),
        ("policy=mdp,cold=on", "share"),
        ("policy=mdp,pressure=1", "two categories"),
        ("domain=confined,labels=unlabelled", "labelled files only"),
        ("cold=on,pressure=9", "emptied anyway"),
        ("avc=15", "16 to 8192"),
        ("policy=mls", "policy"),
    ],
)
def test_what_does_not_go_together_is_said(parameters: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_setup(f"selinux-enforcing:{parameters}")


def test_relabelling_is_told_apart_from_starting_the_program() -> None:
    setup = parse_setup("selinux-relabel:files=300")
    titles = [step.title for step in setup.steps if step.title]
    assert titles == ["policy load", "relabelling 1 file", "relabelling 300 files"]
    assert expected(setup)["selinux.enforce"] == "0"


@pytest.mark.parametrize(
    "name",
    [
        *("selinux-permissive", "selinux-enforcing", "selinux-relabel"),
        *(
            "selinux-enforcing:pressure=4096",
            "selinux-enforcing:cold=on",
            "selinux-permissive:policy=mdp",
        ),
        "selinux-enforcing+landlock+yama+bpf",
    ],
)
def test_the_probe_can_be_asked(name: str) -> None:
    assert make_request(cell(setup=parse_setup(name)), 1, 1000).to_bytes()


def test_booleans_are_set_under_the_policy_and_proved() -> None:
    setup = parse_setup("selinux-enforcing:on=httpd-can-network-connect,off=httpd-enable-cgi")
    words = [step.words for step in setup.steps]
    loaded, enforced = (
        words.index(item) for item in (words_of(setup, "load"), setup.steps[-1].words)
    )
    for name, state in (("httpd_can_network_connect", "1"), ("httpd_enable_cgi", "0")):
        at = words.index(("/usr/sbin/setsebool", name, state))
        assert loaded < at < enforced
        assert expected(setup)[f"selinux.{name}"] == f"{state} {state}"
        assert (f"selinux.{name}", f"/sys/fs/selinux/booleans/{name}") in setup.reads
    assert parse_setup("selinux-enforcing:on=none") == parse_setup("selinux-enforcing")


def words_of(setup: Setup, action: str) -> tuple[str, ...]:
    return next(step.words for step in setup.steps if step.action == action)


def test_content_of_the_unconfined_type_can_be_read_and_is_proved() -> None:
    setup = parse_setup("selinux-enforcing:content=unconfined")
    assert expected(setup)["selinux.httpd_enable_cgi"] == "1 1"
    shell = [word for step in setup.steps for word in step.words if "httpd_unconfined" in word]
    made, proved = shell
    assert "file_contexts.local" in made
    assert "matchpathcon -n /data/www/page" in proved


@pytest.mark.parametrize(
    "settings",
    [
        "policy=mdp,content=unconfined",
        "policy=mdp,on=httpd-enable-cgi",
        "policy=mdp,off=httpd-enable-cgi",
        "on=httpd-enable-cgi,off=httpd-enable-cgi",
        "content=unconfined,off=httpd-enable-cgi",
    ],
)
def test_what_contradicts_itself_is_refused(settings: str) -> None:
    with pytest.raises(UsageError):
        parse_setup(f"selinux-enforcing:{settings}")
