package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/config"
)

// newRootCommand lists every subcommand. Groups order the help.
func newRootCommand(g *globals) *cobra.Command {
	showVersion := false
	root := &cobra.Command{
		Use:   "holon",
		Short: "A durable control plane for agents",
		Long: `Holon runs agents as threads of turns and keeps everything that happens in one
durable log, which any number of clients follow live and resume by cursor.

  holon serve              start the server (SQLite, echo agent)
  holon run "hello"        start a turn and watch it
  holon watch              follow everything that happens`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			g.running = cmd
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if showVersion {
				return printVersion(g)
			}
			if !g.interactive() {
				return cmd.Help()
			}
			return runDashboard(g, false)(cmd, args)
		},
	}
	root.SetIn(g.in)
	root.SetOut(g.out)
	root.SetErr(g.err)
	root.CompletionOptions.HiddenDefaultCmd = false
	flags := root.PersistentFlags()
	flags.StringVar(&g.url, "url", "", "the server: http://HOST:PORT, https://HOST:PORT or unix:PATH (default: HOLON_URL, then DATA/server.json; http://127.0.0.1:8080 if DATA is not given)")
	flags.StringVar(&g.tokenFile, "token-file", "", "a file that has the token for the server, of mode 0600 (default: HOLON_TOKEN, then what holon login has saved, then DATA/token)")
	flags.StringVar(&g.caFile, "ca", "", "a file of certificates (PEM) that are trusted for https besides those of the system")
	flags.StringVarP(&g.output, "output", "o", "", "how to print: text, json, jsonl or toon, as the subcommand allows")
	flags.BoolVar(&g.long, "long", false, "tables show whole ids, not their last 8 characters")
	config.BindCommon(flags)
	root.Flags().BoolVarP(&showVersion, "version", "v", false, "print the version, as holon version does")

	root.AddGroup(
		&cobra.Group{ID: groupWork, Title: "Working with agents:"},
		&cobra.Group{ID: groupServer, Title: "The server:"},
		&cobra.Group{ID: groupProgram, Title: "For programs:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, command := range commands {
			command.GroupID = group
			root.AddCommand(command)
		}
	}
	add(groupWork,
		newTopCommand(g),
		newOpenCommand(g),
		newRunCommand(g),
		newChatCommand(g),
		newAttachCommand(g),
		newWatchCommand(g),
		newRespondCommand(g),
		newReviewCommand(g),
		newInboxCommand(g),
		newRemindCommand(g),
		newRenameCommand(g),
		newNotifyCommand(g),
		newBridgeCommand(g),
		newDeliveriesCommand(g),
		newDeliveryCommand(g),
		newRedeliverCommand(g),
		newInterruptCommand(g),
		newSteerCommand(g),
		newCloseCommand(g),
		newPauseCommand(g),
		newResumeCommand(g),
		newRetryCommand(g),
		newTreeCommand(g),
		newAwaitCommand(g),
		newDetachCommand(g),
		newStatusCommand(g),
		newAgentsCommand(g),
		newThreadsCommand(g),
		newConfigureCommand(g),
		newForkCommand(g),
		newTurnsCommand(g),
		newItemsCommand(g),
	)
	add(groupServer,
		newServeCommand(g),
		newStopCommand(g),
		newDoctorCommand(g),
		newBackupCommand(g),
		newRestoreCommand(g),
		newExportCommand(g),
		newTokenCommand(g),
		newPruneCommand(g),
		newConfigCommand(g),
		newLoginCommand(g),
		newLogoutCommand(g),
		newProfilesCommand(g),
		newVersionCommand(g),
	)
	add(groupProgram,
		newJobCommand(g),
		newCallCommand(g),
		newIngestCommand(g),
		newConnectCommand(g),
		newToolsCommand(g),
		newSkillsCommand(g),
		newSchemaCommand(g),
		newConformanceCommand(g),
		newBenchCommand(g),
		newBenchChildCommand(g),
	)
	root.AddCommand(newNamesTopic())
	g.completeNames(root)
	explainHelp(root)
	explainArguments(root)
	root.SetHelpCommandGroupID(groupServer)
	root.SetCompletionCommandGroupID(groupProgram)
	addCompletion(root)
	return root
}

// The groups of subcommands in the help.
const (
	groupWork    = "work"
	groupServer  = "server"
	groupProgram = "program"
)

// execute runs one command line and returns the exit code. An error before a
// subcommand starts (cobra's part) is wrong usage.
func execute(ctx context.Context, g *globals, args []string) int {
	root := newRootCommand(g)
	root.SetArgs(args)
	g.args = args
	// A --token-file before the command is that of the server, also if the command has
	// its own (holon bridge add): otherwise the token would go to a bridge. Without it
	// flags of a command may stand before the command, too.
	root.TraverseChildren = slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--token-file") })
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if g.running == nil {
		err = explainFlag(command, args, err)
	}
	var exit *exitError
	if errors.As(err, &exit) {
		if exit.err != nil {
			g.complain(exit.err)
		}
		return exit.code
	}
	var usage *usageError
	var setting *config.Error
	text, code := complaint(g, err), exitFailed
	switch {
	case errors.As(err, &usage) || g.running == nil:
		if usage != nil && usage.of != nil {
			command = usage.of
		}
		text += "\nTry: " + command.CommandPath() + " --help"
		code = exitUsage
	case errors.As(err, &setting):
		code = exitUsage
	}
	sayAs(g, command, text)
	return code
}
