package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/internal/nearest"
)

// explainArguments makes a command, and those below it, say in words which arguments
// they take. What a command says itself stays.
func explainArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		explainArguments(sub)
	}
	check := cmd.Args
	if check == nil {
		check = cobra.ArbitraryArgs
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := cmp.Or(emptyArgument(cmd, args), emptyFlag(cmd)); err != nil {
			return err
		}
		err := check(cmd, args)
		var usage *usageError
		if err == nil || errors.As(err, &usage) {
			return err
		}
		return wrongArguments(cmd, args)
	}
}

// freeTexts are the words of lines of usage for what may be empty: it names nothing.
var freeTexts = []string{"PARAMS", "PROMPT", "TEXT", "TITLE"}

// emptyArgument refuses an empty argument that names something: most often it is a
// variable that is not set, and without a name many commands are about all, or about another.
func emptyArgument(cmd *cobra.Command, args []string) error {
	name := cmd.CommandPath()
	_, takes, _ := strings.Cut(cmd.Use, " ")
	words := wordsOf(takes)
	for i, arg := range args {
		if arg != "" || len(words) == 0 {
			continue
		}
		if word := words[min(i, len(words)-1)]; !slices.Contains(freeTexts, word) {
			return usagef("%s is empty; is it a variable that is not set? %s %s", word, name, takes)
		}
	}
	return nil
}

// namingFlags are the flags that name what a command is about.
var namingFlags = []string{"bridge", "owner", "parent", "subscription", "thread", "thread-id", "turn", "whole", "within"}

// emptyFlag refuses an empty flag that names something, as emptyArgument does.
func emptyFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		empty := f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = slices.Contains(list.GetSlice(), "")
		}
		if empty && slices.Contains(namingFlags, f.Name) {
			err = usagef("--%s is empty; is it a variable that is not set?", f.Name)
		}
	})
	return err
}

// wordsOf returns the words of a line of usage that stand for arguments.
func wordsOf(takes string) (words []string) {
	for _, word := range strings.Fields(takes) {
		if word = strings.Trim(word, "[]…"); word != "flags" && word != "|" && !strings.HasPrefix(word, "-") {
			words = append(words, word)
		}
	}
	return words
}

// wrongArguments reports what a command takes, which is in its line of usage.
func wrongArguments(cmd *cobra.Command, args []string) error {
	name := cmd.CommandPath()
	_, takes, _ := strings.Cut(cmd.Use, " ")
	switch {
	case len(args) > 1 && cmd.HasAvailableSubCommands() && nearest.Of(args[0], subcommands(cmd)) != "":
		return noCommand(cmd, args[0])
	case len(args) == 0:
		return usagef("arguments are missing: %s %s", name, takes)
	case takes == "" && cmd.HasAvailableSubCommands():
		return noCommand(cmd, args[0])
	case takes == "":
		return usagef("%s takes no %q", name, timeline.OneLine(args[0]))
	case len(args) == 1:
		return usagef("%q alone is not enough: %s %s", timeline.OneLine(args[0]), name, takes)
	}
	return usagef("%d words are given; what belongs together goes in quotes: %s %s", len(args), name, takes)
}

// explainHelp makes holon help refuse what is no command, for which it would show the help
// of the one above.
func explainHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, help := range root.Commands() {
		if help.Name() != "help" {
			continue
		}
		help.Run, help.RunE = nil, func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			switch {
			case err != nil:
				return err
			case len(rest) > 0:
				return noCommand(cmd, rest[0])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		}
	}
}

// otherWords are what people of other programs type for commands.
var otherWords = map[string]string{
	"allow": "respond", "approve": "respond", "archive": "close", "ask": "run", "cancel": "interrupt", "continue": "attach", "dashboard": "top",
	"delete": "close", "deny": "respond", "exec": "run", "history": "items", "kill": "interrupt", "list": "threads", "log": "watch", "logs": "watch",
	"ls": "threads", "new": "run", "prompt": "run", "ps": "threads", "rm": "close", "show": "items", "start": "serve", "tail": "watch", "ui": "open",
	"up": "serve", "web": "open",
}

// noCommand reports an unknown command, and which may be meant.
func noCommand(cmd *cobra.Command, word string) error {
	hint := nearest.Hint(word, subcommands(cmd))
	if other, known := otherWords[word]; known && !cmd.HasParent() {
		hint = "; did you mean " + other + "?"
	}
	if hint == "" && !cmd.HasParent() {
		hint = "; holon run sends a prompt to an agent"
	}
	err := fmt.Errorf("there is no command %q%s", timeline.OneLine(strings.TrimPrefix(cmd.CommandPath()+" "+word, "holon ")), hint)
	return &usageError{err: err, of: cmd}
}

func subcommands(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return names
}
