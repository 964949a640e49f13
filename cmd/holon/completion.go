package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// completionScript is what cobra makes for a shell, and what is changed in it.
//
// cobra's scripts ask the program for completions by evaluating the command line. In fish,
// whose tokens have lost their quotes by then, that runs whatever a quoted prompt contains;
// in bash and zsh it runs substitutions before Enter was pressed, and in bash it empties the
// file of a redirection. TAB must run nothing.
type completionScript struct {
	generate func(root *cobra.Command, w io.Writer, descriptions bool) error
	changes  []scriptChange
}

// scriptChange is a text that a script has once, and what is there instead.
type scriptChange struct{ old, new string }

// completionScripts has the shells for which there is a script. cobra's for PowerShell
// evaluates what was typed, too; Holon does not run on Windows, and there is none.
var completionScripts = map[string]completionScript{
	"fish": {
		func(root *cobra.Command, w io.Writer, descriptions bool) error {
			return root.GenFishCompletion(w, descriptions)
		},
		[]scriptChange{{"    set -l args (commandline -opc)\n", `    # Quoted again, because they are evaluated below. ~/ stays what it means.
    set -l args (string escape -- (commandline -opc) | string replace -r -- "^'~/" "~/'")
`}},
	},
	"bash": {
		func(root *cobra.Command, w io.Writer, descriptions bool) error {
			return root.GenBashCompletionV2(w, descriptions)
		},
		[]scriptChange{{"    args=(\"${words[@]:1}\")\n", `    # A word with a substitution or a redirection is passed as it was typed, for it is evaluated below.
    args=()
    local word
    for word in "${words[@]:1}"; do
        case "${word}" in
        *[\` + "`" + `\(\<\>]* | *'${'[[:space:]\|]*) printf -v word %q "${word}" ;;
        esac
        args+=("${word}")
    done
`}},
	},
	"zsh": {
		func(root *cobra.Command, w io.Writer, descriptions bool) error {
			if descriptions {
				return root.GenZshCompletion(w)
			}
			return root.GenZshCompletionNoDesc(w)
		},
		[]scriptChange{{"    words=(\"${=words[1,CURRENT]}\")\n", `    # A word with a substitution or a redirection is passed as it was typed, for it is evaluated below.
    local i
    for (( i = 2; i <= CURRENT; i++ )); do
        case "${words[i]}" in
        (*[\` + "`" + `\(\<\>]* | *'${'[[:space:]\|]*) words[i]=${(q)words[i]} ;;
        esac
    done
    words=("${=words[1,CURRENT]}")
`}, {
			// Evaluated with _describe, and by _arguments.
			"        flagPrefix=\"-P ${BASH_REMATCH}\"\n",
			"        flagPrefix=\"-P ${(q)BASH_REMATCH}\"\n",
		}},
	},
}

// addCompletion adds cobra's command completion, whose scripts run nothing of what is typed.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return // only a root without subcommands has none
	}
	completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	explainArguments(completion)
	for _, shell := range completion.Commands() {
		script, safe := completionScripts[shell.Name()]
		if !safe {
			completion.RemoveCommand(shell)
			continue
		}
		shell.RunE = func(cmd *cobra.Command, _ []string) error {
			plain, err := cmd.Flags().GetBool("no-descriptions")
			if err != nil {
				return err
			}
			return script.write(cmd.Root(), cmd.OutOrStdout(), !plain)
		}
	}
}

// write prints the changed script. It fails if cobra's has another form than the one known
// here: a script that may run what was typed is not given out.
func (s completionScript) write(root *cobra.Command, w io.Writer, descriptions bool) error {
	var made strings.Builder
	if err := s.generate(root, &made, descriptions); err != nil {
		return err
	}
	script := made.String()
	for _, change := range s.changes {
		if n := strings.Count(script, change.old); n != 1 {
			return fmt.Errorf("the generated script has %q %d times, want once", change.old, n)
		}
		script = strings.Replace(script, change.old, change.new, 1)
	}
	_, err := io.WriteString(w, script)
	return err
}
