# SPDX-License-Identifier: GPL-2.0-or-later

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
