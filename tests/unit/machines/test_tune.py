# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from pathlib import Path

from lsmeter.machines.journal import cgroup, tuning

CPU = "sys/devices/system/cpu"


def machine(root: Path, **files: str) -> Path:
    """Make the files of a machine; a name has _ for /."""
    everything = {
        f"{CPU}/online": "0-3\n",
        f"{CPU}/cpu0/cpufreq/scaling_governor": "schedutil\n",
        f"{CPU}/cpu0/cpufreq/scaling_available_governors": "performance schedutil\n",
        f"{CPU}/cpu1/cpufreq/scaling_governor": "performance\n",
        f"{CPU}/cpu1/cpufreq/scaling_available_governors": "performance schedutil\n",
        f"{CPU}/intel_pstate/no_turbo": "0\n",
        "proc/sys/kernel/randomize_va_space": "2\n",
        "sys/module/damon_stat/parameters/enabled": "Y\n",
        "sys/fs/cgroup/cgroup.controllers": "cpu cpuset memory\n",
        "sys/fs/cgroup/cgroup.subtree_control": "cpu memory\n",
        **files,
    }
    for name, text in everything.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def made(root: Path) -> dict[str, tuple[str, str]]:
    return {
        str(Path(item.path).relative_to(root)): (item.before, item.after) for item in tuning(root)
    }


def test_what_makes_readings_vary_is_changed_and_nothing_else(tmp_path: Path) -> None:
    found = made(machine(tmp_path))
    group = cgroup(tuning(tmp_path))
    name = Path(group).name
    assert found == {
        f"{CPU}/cpu0/cpufreq/scaling_governor": ("schedutil", "performance"),
        f"{CPU}/intel_pstate/no_turbo": ("0", "1"),
        "proc/sys/kernel/randomize_va_space": ("2", "0"),
        "sys/module/damon_stat/parameters/enabled": ("Y", "N"),
        "sys/fs/cgroup/cgroup.subtree_control": ("-cpuset", "+cpuset"),
        f"sys/fs/cgroup/{name}": ("", ""),
        f"sys/fs/cgroup/{name}/cpuset.cpus": ("", "3"),
        f"sys/fs/cgroup/{name}/cpuset.cpus.partition": ("member", "isolated"),
    }


def test_what_is_so_already_is_no_change(tmp_path: Path) -> None:
    files = {
        f"{CPU}/online": "0",
        f"{CPU}/cpu0/cpufreq/scaling_governor": "performance",
        f"{CPU}/intel_pstate/no_turbo": "1",
        "proc/sys/kernel/randomize_va_space": "0",
        "sys/module/damon_stat/parameters/enabled": "N",
    }
    assert made(machine(tmp_path, **files)) == {}


def test_a_machine_without_any_of_it_is_left_as_it_is(tmp_path: Path) -> None:
    assert tuning(tmp_path) == ()
    assert cgroup(()) == ""


def test_a_processor_of_the_other_maker_has_its_turbo_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / CPU / "cpufreq/boost"
    path.parent.mkdir(parents=True)
    path.write_text("1")
    assert made(tmp_path) == {f"{CPU}/cpufreq/boost": ("1", "0")}
