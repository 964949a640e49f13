package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// newNamesTopic returns a page of the help.
func newNamesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "names",
		Short: "How to name a THREAD, a TURN or an ITEM",
		Long: `Where a command takes a THREAD, a TURN or an ITEM (an open question), give what is
easiest to type. An open question is also found by its thread. The first rule
that fits decides:

  thread_01a2…    the whole id
  latest          the newest one
  "fix the tests" the title that a client gave (holon run --title, holon rename)
  8c1d04fe        the beginning or ending of its id, at least 4 characters; tables
                  show the last 8 (--long: all)
  fix             the beginning of such a title, in any case
  "Fixing tests"  the title that its agent gave, or the beginning of that or of its
                  first prompt, as TITLE of holon threads shows it

A name that can mean several things lists them, changes nothing, and ends with exit
code 2. Nothing that an agent has chosen stands for a command that ends, answers or
closes something (interrupt, close, retry, review, steer --interrupt), or gives
others access: those take ids, and titles given by clients. The title of a thread
below another counts for them once it is given by holon rename, as an agent may have
started it. Where a name may be a new one (run --thread wrok), the beginning of a
title is none. With -o json, and in holon call, a name is a whole id. An ENTRY of an
inbox is its id, such as ent_42, or latest.`,
	}
}

// oneName accepts one name, or none where least is 0. More are most often the words of a
// title.
func oneName(least int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 1:
			return usagef("%d names are given, and %s takes one; a title goes in quotes: %s %s", len(args), cmd.Name(), cmd.CommandPath(), inQuotes(strings.Join(args, " ")))
		case len(args) < least:
			_, takes, _ := strings.Cut(cmd.Use, " ")
			return usagef("which %s? holon help names says how to name one", takes)
		}
		return nil
	}
}
