# SPDX-License-Identifier: GPL-2.0-or-later
"""What `lsmeter --show-completion` and `--install-completion` give bash: typer's breaks at colons.

Readline ends words at colons and equal signs as well (COMP_WORDBREAKS), and replaces only what
stands after the last of them. The words of the line are read as the shell reads them, and what
is offered loses the part that stays. Names with spaces are quoted.
"""

from __future__ import annotations

from typer import _completion_classes, _completion_shared

# typer's own reader takes the line for the words; -1: the last of them is to be completed.
BASH = r"""
%(complete_func)s() {
    local line=${COMP_LINE:0:COMP_POINT} form=%%q option='' before name
    before=${line%%"$2"}  # Readline replaces $2
    if [[ $before == *[\'\"] ]]; then
        before='' form=%%s  # within an open quote nothing ends a word
    else
        [[ $2 ]] || line+="''"
        before=${before##*[!\\][[:space:]]}
    fi
    [[ $before$2 == --*=* ]] && option=$before$2 && option=${option%%%%=*}=
    COMPREPLY=()
    while IFS= read -r name; do
        [[ $name ]] || continue
        printf -v name -- "$option$form" "$name"
        COMPREPLY+=("${name#"$before"}")
    done < <(env COMP_WORDS="$line" COMP_CWORD=-1 %(autocomplete_var)s=complete_bash \
        "${1/#\~/"$HOME"}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=/] ]] && compopt -o nospace
    return 0
}

complete -o default -F %(complete_func)s %(prog_name)s
"""


def use() -> None:
    """Let typer give bash this script; the other shells keep theirs."""
    _completion_classes.BashComplete.source_template = BASH
    _completion_shared._completion_scripts["bash"] = BASH  # noqa: SLF001
