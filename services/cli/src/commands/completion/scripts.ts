/**
 * Completion scripts of three shells; each calls the program with the arguments of the command line. In a folder of its `$fpath` zsh reads the
 * file at the first Tab, which already needs candidates. No space follows a candidate that ends in `/`; fish does this by itself.
 */
export const scripts = {
  bash: `_perdure() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(perdure __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ \${#COMPREPLY[@]} == 1 && \${COMPREPLY[0]} == */ ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o default -F _perdure perdure
`,
  zsh: `#compdef perdure
_perdure() {
  local -a found
  found=("\${(@f)$(perdure __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -z "$found" ]]; then _files; return; fi
  local -a whole=(\${found:#*/}) partial=(\${(M)found:#*/})
  if [[ -n "$whole" ]]; then compadd -- $whole; fi
  if [[ -n "$partial" ]]; then compadd -S '' -- $partial; fi
}
if [[ $funcstack[1] == _perdure ]]; then _perdure; else compdef _perdure perdure; fi
`,
  fish: `function __perdure_complete
  set -l words (commandline -opc) (commandline -ct)
  perdure __complete -- $words[2..-1] 2>/dev/null
end
complete -c perdure -f -a '(__perdure_complete)'
`,
} as const;
