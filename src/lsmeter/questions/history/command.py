# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter history`: one list of setups over several kernels."""

from __future__ import annotations

from functools import partial

from lsmeter.cli.options import BootsOption, Options, PlotOption, RunArgument
from lsmeter.cli.show import show

_TITLE = "Overhead of security modules over kernel versions"
_KERNELS = ["debian:6.1", "debian:6.12", "debian:7.2"]
_SETUPS = ["capability", "selinux", "apparmor", "tomoyo", "landlock", "bpf"]


def history(
    options: Options,
    run: RunArgument = None,
    boots: BootsOption = None,
    plot: PlotOption = None,
) -> int:
    """Show what each setup costs over kernel versions.

    Without a run it measures Debian's 6.1, 6.12 and 7.2 with every module that they have. The
    oldest kernel stands first.

        lsmeter history
        lsmeter history -k built:6.1-lsm-all -k built:7.2-lsm-all -s smack
        lsmeter history runs/2026-11-20T10-00-00-history --plot history.svg
    """
    from lsmeter.cli.measure import check_plot, draw, measured
    from lsmeter.measure.tasks import cost_tasks
    from lsmeter.questions.history import document as report

    check_plot(plot)
    found = options.experiment(title=_TITLE, kernels=_KERNELS, setups=_SETUPS, boots=boots)
    with measured(run, [found], "history", options, tasks=cost_tasks(), boots=boots) as ran:
        data, code = ran
        show(partial(report.document, data))
        draw(plot, lambda: report.plot(data))
    return code
