/** The scripts that let a shell complete the words of `curbcut`. Each asks `curbcut __complete`, so a new version needs no new script. */

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Works with bash 3.2 of macOS, which has neither `mapfile` nor `compopt`: it offers files there if nothing else fits. */
const BASH = `_curbcut() {
  local line=\${COMP_LINE:0:COMP_POINT} directive= prefix words found
  read -ra words <<<"$line"
  case $line in *[[:space:]]) words+=('') ;; esac
  found=()
  while IFS= read -r line; do
    case $line in
      :*) directive=$line ;;
      *) found+=("\${line%%$'\\t'*}") ;;
    esac
  done < <("$1" __complete "\${words[@]:1}" 2>/dev/null)
  # Bash ends words at = and :, and replaces only what follows them.
  prefix=\${words[\${#words[@]}-1]}
  case $prefix in
    *[=:]*) prefix=\${prefix%"\${prefix##*[=:]}"} ;;
    *) prefix= ;;
  esac
  COMPREPLY=("\${found[@]#"$prefix"}")
  if [ "$directive" = :4 ]; then compopt +o default 2>/dev/null; fi
}
complete -o default -F _curbcut curbcut
`;

const ZSH = `#compdef curbcut
_curbcut() {
  local line word directive
  local -a found
  while IFS= read -r line; do
    case $line in
      :*) directive=$line ;;
      *) word=\${line%%$'\\t'*}; found+=("\${word//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done < <("$words[1]" __complete "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  if (( $#found )); then _describe curbcut found; fi
  if [[ $directive = :0 ]]; then _files; fi
}
if [[ $funcstack[1] = _curbcut ]]; then _curbcut "$@"; else compdef _curbcut curbcut; fi
`;

const FISH = `function __curbcut_complete
    set -l words (commandline -opc)
    for line in ($words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null)
        switch $line
            case :0
                __fish_complete_path (commandline -ct)
            case ':*'
            case '*'
                echo $line
        end
    end
end
complete -c curbcut -f -a '(__curbcut_complete)'
`;

export const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
