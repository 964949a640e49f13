package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// Bounds of what a shell completes, because a person waits for it.
const (
	completePatience = 200 * time.Millisecond
	completeNewest   = 50
)

// completeNames makes the shell complete names of threads, turns and questions where the
// command and its subcommands take them: endings of ids, with the title beside.
func (g *globals) completeNames(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		g.completeNames(sub)
	}
	_, takes, _ := strings.Cut(cmd.Use, " ")
	words := strings.Fields(takes)
	if cmd.ValidArgsFunction == nil && len(words) > 0 {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			word := words[min(len(args), len(words)-1)]
			if len(args) >= len(words) && !strings.Contains(word, "…") {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return g.complete(cmd, kindsIn(word), typed)
		}
	}
	for flag, kind := range map[string]*nameKind{
		"thread": &threadNames, "parent": &threadNames, "owner": &threadNames, "thread-id": &threadNames, "within": &threadNames, "whole": &threadNames, "turn": &turnNames, "after-turn": &turnNames,
	} {
		if cmd.Flags().Lookup(flag) != nil {
			// It fails only for a flag that is not there.
			_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				return g.complete(cmd, []*nameKind{kind}, typed)
			})
		}
	}
}

// kindsIn returns the kinds that a word of a usage line names: threads, turns, items.
func kindsIn(word string) (kinds []*nameKind) {
	for _, named := range []struct {
		word string
		kind *nameKind
	}{{"THREAD", &threadNames}, {"TURN", &turnNames}, {"ITEM", &questionNames}} {
		if strings.Contains(word, named.word) {
			kinds = append(kinds, named.kind)
		}
	}
	return kinds
}

// complete returns the newest names that begin with what was typed, the newest first. If
// the server does not answer in time there are none.
func (g *globals) complete(cmd *cobra.Command, kinds []*nameKind, typed string) (names []string, _ cobra.ShellCompDirective) {
	if len(kinds) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	ctx, cancel := context.WithTimeout(context.Background(), completePatience)
	defer cancel()
	c, err := g.client(cmd)
	if err != nil {
		return nil, directive
	}
	defer c.Close()
	find := finder{console: &g.console, ctx: ctx, client: c}
	for _, kind := range kinds {
		rows, _, err := find.rows(kind, "", completeNewest)
		if err != nil {
			return names, directive
		}
		for _, n := range slices.Backward(rows) {
			ending := ending(n, rows)
			beside := strings.TrimSpace(timeline.OneLine(candidateTitle(n)) + " (" + timeline.OneLine(n.state) + ")")
			if strings.HasPrefix(ending, typed) {
				names = append(names, ending+"\t"+beside)
			} else if strings.HasPrefix(n.id, typed) {
				names = append(names, n.id+"\t"+beside)
			}
		}
	}
	return names, directive
}
