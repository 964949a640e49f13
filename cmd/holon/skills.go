package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/tools/skills"
)

func newSkillsCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skills",
		Short: "Print the guides for agents: how to have work done by others",
		Long: `Lists the pages that agents read with their tool guide, and "holon skills show NAME"
prints one, as Markdown. An agent without the server's tools can be given a page as a
skill of its own:

  holon skills show workflow > .claude/skills/workflow/SKILL.md`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, s := range skills.List() {
				if _, err := fmt.Fprintf(g.out, "%-11s %s\n", s.Name, s.Says); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use: "show NAME", Short: "Print one of the guides", Args: cobra.ExactArgs(1), ValidArgs: skills.Names(),
		Long: "Prints a guide for agents, as Markdown. holon skills lists them.",
		RunE: func(_ *cobra.Command, args []string) error {
			s, ok := skills.Of(args[0])
			if !ok {
				return usagef("%s", nearest.NoneOf(args[0], skills.Names()))
			}
			_, err := io.WriteString(g.out, s.Page)
			return err
		},
	})
	return cmd
}
