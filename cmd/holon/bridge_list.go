package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

var bridgeListing = listing{
	method: "bridge/list", member: "bridges", flex: 4,
	head: []string{"BRIDGE", "KIND", "SECRET", "FROM", "STATE"},
	drop: []string{"FROM", "SECRET"},
	none: "There is no bridge. For your phone: holon notify --all --bridge ntfy --on final,questions",
	row: func(raw json.RawMessage) ([]string, error) {
		var b bridges.Bridge
		err := jsonv2.Unmarshal(raw, &b)
		hint, from := "", "client"
		if b.SecretHint != "" {
			hint = "…" + b.SecretHint
		}
		if b.Configured {
			from = "configuration"
		}
		state := string(b.State)
		if b.Reason != "" {
			state += ": " + b.Reason
		}
		return []string{b.BridgeID, string(b.Kind), hint, from, state}, err
	},
}

func newBridgeListCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the bridges",
		Args:  cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			return bridgeListing.print(g, cmd, nil, 0)
		}),
	}
}

func newBridgeShowCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "show BRIDGE",
		Short: "Show a bridge, its state, and what to do about it",
		Args:  cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			raw, r, err := ask[api.BridgeReadResult](c, "bridge/read", map[string]any{"bridge_id": args[0]})
			if err != nil {
				return err
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			return showBridge(c, r.Bridge)
		}),
	}
}

func showBridge(c *caller, b bridges.Bridge) error {
	secret, from := "", "a client"
	if b.SecretHint != "" {
		secret = "ends in " + b.SecretHint
		if time.Since(b.RotatedAt.Time) < 24*time.Hour {
			secret += "; rotated " + whenAt(b.RotatedAt)
			if b.Kind == bridges.KindWebhook {
				secret += ", signed with the old one too for 24 h"
			}
		}
	}
	if b.Configured {
		from = "the configuration of the server"
	}
	pause := "events wait until it is resumed"
	if b.OnPause == bridges.PauseDrops {
		pause = "events are dropped"
	}
	var targets []string // for tokens that are limited to threads
	for _, t := range b.Targets {
		targets = append(targets, t.Text())
	}
	if err := c.printFields(9, [][2]string{
		{"bridge", b.BridgeID}, {"kind", string(b.Kind)}, {"to", bridgeAddress(b)}, {"secret", secret}, {"made by", from},
		{"on pause", pause}, {"targets", strings.Join(targets, ", ")}, {"state", bridgeState(b)},
	}); err != nil {
		return err
	}
	if do := bridgeAdvice(b); do != "" {
		c.note("%s", do)
	}
	return nil
}

// bridgeAddress returns the address of a bridge without its secret parts.
func bridgeAddress(b bridges.Bridge) string {
	switch b.Kind {
	case bridges.KindWebhook:
		return b.URL
	case bridges.KindNtfy:
		return cmp.Or(b.Server, "https://ntfy.sh")
	case bridges.KindSlack:
		return cmp.Or(b.APIURL, "Slack")
	case bridges.KindGitHub:
		return cmp.Or(b.APIURL, "https://api.github.com")
	}
	return "a program of the configuration"
}

// bridgeState reports whether a bridge sends, and why not.
func bridgeState(b bridges.Bridge) string {
	state := string(b.State)
	switch b.Reason {
	case "":
	case bridges.ReasonRestored:
		state += ": the log was restored from a backup"
	case bridges.ReasonGone:
		state += ": the target says that it is gone (status 410)"
	case bridges.ReasonFailing:
		state += ": it failed on 5 days without a success"
	case bridges.ReasonNotConfigured:
		state += ": it is no longer in the configuration"
	case bridges.ReasonNoSecret:
		state += ": its secrets are missing"
	default:
		state += ": " + b.Reason
	}
	if b.State == bridges.Active && b.HeldUntil.After(time.Now()) {
		state += ", waits until " + whenAt(b.HeldUntil) + ": the target asked for it"
	}
	return state
}

// bridgeAdvice describes what to do about a bridge that does not send, "" for one that
// does.
func bridgeAdvice(b bridges.Bridge) string {
	name := timeline.OneLine(b.BridgeID)
	switch {
	case b.State == bridges.Active:
		return ""
	case b.Reason == bridges.ReasonRestored:
		secrets := ""
		if !b.Configured { // those of the configuration are there
			secrets = fmt.Sprintf("holon bridge rotate %s, then ", name)
		}
		return fmt.Sprintf("The original server may still send. If it does not: %sholon bridge resume %s", secrets, name)
	case b.Reason == bridges.ReasonNotConfigured:
		return fmt.Sprintf("Put [bridges.%s] back into the configuration and restart the server.\nIf it is not needed any more: holon bridge rm %s --cascade", name, name)
	case b.Reason == bridges.ReasonNoSecret:
		return "Backups have no secrets. Give it new ones: holon bridge rotate " + name
	case b.State == bridges.Disabled:
		return fmt.Sprintf("Try it with: holon bridge test %s\nIf it works: holon bridge resume %s", name, name)
	}
	return "It sends again after: holon bridge resume " + name
}
