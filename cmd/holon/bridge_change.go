package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

func newBridgeTestCommand(g *globals) *cobra.Command {
	var target string
	cmd := &cobra.Command{
		Use:   "test BRIDGE",
		Short: "Send a test message through a bridge, once",
		Long: `Sends a message that says that it is a test, and says what came of it. It also
tests a bridge that is paused. The exit code is 1 if it was not delivered.

  holon bridge test ntfy
  holon bridge test slack --target '#builds'
  holon bridge test github --target octo/hello#12`,
		Args: cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			params := map[string]any{"bridge_id": args[0]}
			bridge, err := readBridge(c, args[0])
			if err != nil {
				return err
			}
			to, err := parseTarget(bridge, target)
			if err != nil {
				return err
			}
			if to != (bridges.Target{}) {
				params["target"] = to
			}
			raw, r, err := ask[api.BridgeTestResult](c, "bridge/test", params)
			if err != nil {
				return ofTarget(err, bridge)
			}
			if c.format != "text" {
				if err := c.printData(raw, ""); err != nil {
					return err
				}
			} else if r.Delivered {
				text := fmt.Sprintf("Delivered after %d ms.\n", r.LatencyMs)
				if r.Error != "" {
					text = fmt.Sprintf("Delivered after %d ms, but: %s\n", r.LatencyMs, timeline.OneLine(r.Error))
				}
				return c.printText(text, nil)
			}
			if r.Delivered {
				return nil
			}
			failed := fmt.Errorf("not delivered: %s", timeline.OneLine(r.Error))
			if hint := attemptHint(r.Error, bridge); hint != "" {
				return &hintedError{failed, hint}
			}
			return failed
		}),
	}
	bindTarget(cmd, &target)
	return cmd
}

// readBridge reads a bridge.
func readBridge(c *caller, name string) (bridges.Bridge, error) {
	_, r, err := ask[api.BridgeReadResult](c, "bridge/read", map[string]any{"bridge_id": name})
	return r.Bridge, err
}

// attemptHint describes what to do about the error of an attempt, "" if that is unknown.
func attemptHint(failed string, b bridges.Bridge) string {
	name := timeline.OneLine(b.BridgeID)
	newSecret := "Give it a new token: holon bridge rotate " + name
	if b.Configured {
		newSecret = fmt.Sprintf("Look at the token of [bridges.%s] in the configuration.", name)
	}
	word, _ := strings.CutPrefix(failed, "slack: ")
	switch word {
	case "not_recorded: the disk is full":
		return "Make space on the disk of the data directory; what waits is sent with its next attempt."
	case "not_recorded: the record of the process cannot be written":
		return "The server records each program in processes/ of its data directory before it gives it work. Let the server write there, or restart it, which makes the directory."
	case "private_address":
		return "The name leads to a private network. Only a bridge in the configuration of the server may connect there, with allow_private = true."
	case "own_address":
		return "That is the server itself. Give the address of the receiver."
	case "status 401", "status 403", "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive":
		if b.Kind == bridges.KindWebhook {
			return "The receiver refuses the signature or the request: compare its secret, or make another with: holon bridge rotate " + name
		}
		return newSecret
	case "missing_scope":
		return "The token needs the scope chat:write, and chat:write.public for channels that the bot is not in."
	case "channel_not_found", "not_in_channel":
		return "Invite the bot into the channel (/invite @NAME), or give the channel's id."
	case "is_archived":
		return "The channel is archived: name another one."
	case "status 404":
		if b.Kind == bridges.KindGitHub {
			return "Look at owner, repository and number. A token that may not see the repository gets 404 too."
		}
		return "Nothing is there. Look at the address: holon bridge show " + name
	case bridges.ReasonNoSecret, bridges.ReasonNotConfigured:
		return bridgeAdvice(b)
	case "status 410":
		return "The target says that it is gone. Look at the address: holon bridge show " + name
	case "stuck":
		return "The attempt did not return in its time. If the bridge runs a program, look where that hangs."
	case "status 429":
		return "The target asks for time. Try again later."
	case "unknown_host", "connection_refused", "unreachable", "timeout", "certificate", "tls":
		return "The server cannot reach it. holon doctor looks at each bridge."
	}
	return ""
}

func newBridgePauseCommand(g *globals) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "pause BRIDGE",
		Short: "Send nothing through a bridge until it is resumed",
		Args:  cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			return changeBridge(g, cmd, "bridge/pause", args[0], map[string]any{"reason": reason})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; others can read it")
	return cmd
}

func newBridgeResumeCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "resume BRIDGE",
		Short: "Let a paused or disabled bridge send again",
		Args:  cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			return changeBridge(g, cmd, "bridge/resume", args[0], map[string]any{})
		}),
	}
}

// changeBridge calls a method about one bridge, and prints the state after it.
func changeBridge(g *globals, cmd *cobra.Command, method, name string, params map[string]any) error {
	c, err := g.caller(cmd)
	if err != nil {
		return err
	}
	defer c.close()
	params["bridge_id"] = name
	if params["reason"] == "" {
		delete(params, "reason")
	}
	raw, r, err := change[bridges.BridgeResult](c, method, "", params)
	if err != nil {
		return ofBridge(err, name)
	}
	if c.format != "text" {
		return c.printData(raw, "")
	}
	return c.printText(timeline.OneLine(name+": "+bridgeState(r.Bridge))+"\n", nil)
}

// reasonOf returns the reason of an error of the server, "" for none.
func reasonOf(err error) string {
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return refused.Reason
	}
	return ""
}

// ofBridge adds to the error of a change of a bridge what to do.
func ofBridge(err error, name string) error {
	name = timeline.OneLine(name)
	switch {
	case reasonOf(err) == "configured":
		return &hintedError{err, fmt.Sprintf("Change [bridges.%s] in the configuration and restart the server.", name)}
	case reasonOf(err) == "secret_missing":
		return &hintedError{err, "Give it new ones: holon bridge rotate " + name}
	case reasonOf(err) == "in_use":
		return &hintedError{err, fmt.Sprintf("holon notify list --bridge %s lists what is sent through it; --cascade removes that too.", name)}
	}
	return err
}

func newBridgeRotateCommand(g *globals) *cobra.Command {
	var files secretFiles
	cmd := &cobra.Command{
		Use:   "rotate BRIDGE",
		Short: "Give a bridge a new secret",
		Long: `Gives a bridge a new secret or token. Without a file the server makes a new
secret for a webhook, this command makes a new topic for ntfy, and asks for the
token of others. For 24 hours webhooks are signed with the old secret too, so
that the receiver can change it in between.

  holon bridge rotate builds
  holon bridge rotate slack --token-file FILE

There is no flag for the text itself: every user of this machine can read the
arguments of commands, and your shell keeps them.`,
		Args: cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			bridge, err := readBridge(c, args[0])
			if err != nil {
				return err
			}
			params := map[string]any{"bridge_id": args[0]}
			if !bridge.Configured { // else the server says where to change it
				if err := bridgeSecrets(c, bridge.Kind, &files, params, &bridge); err != nil {
					return err
				}
			}
			var made madeBridge
			if _, made.BridgeResult, err = change[bridges.BridgeResult](c, "bridge/rotate_secret", "", params); err != nil {
				return ofBridge(err, args[0])
			}
			made.setTopic(params)
			if c.format != "text" {
				return c.printValue(made, "")
			}
			if err := c.printText(timeline.OneLine(args[0])+": it has a new secret\n", nil); err != nil {
				return err
			}
			return made.printOnce(c)
		}),
	}
	files.bind(cmd.Flags())
	return cmd
}

func newBridgeRmCommand(g *globals) *cobra.Command {
	var cascade bool
	cmd := &cobra.Command{
		Use:   "rm BRIDGE",
		Short: "Delete a bridge and its secrets",
		Args:  cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			params := map[string]any{"bridge_id": args[0]}
			if cascade {
				params["cascade"] = true
			}
			raw, _, err := change[bridges.BridgeResult](c, "bridge/delete", "", params)
			if err != nil {
				return ofBridge(err, args[0])
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			return c.printText(timeline.OneLine(args[0])+": deleted\n", nil)
		}),
	}
	cmd.Flags().BoolVar(&cascade, "cascade", false, "also what is sent through it")
	return cmd
}
