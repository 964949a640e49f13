package main

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

func newBridgeCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bridge",
		Short: "Manage channels to people: phone, Slack, GitHub, webhooks",
		Long: `A bridge is a channel with its credentials. What is sent through it is decided
by subscriptions: see holon notify, which also makes the first bridge of a
phone.

  holon bridge add slack --token-file token.txt
  holon bridge add webhook builds --to https://ci.example.org/holon
  holon bridge list
  holon bridge test slack --target '#builds'

Bridges of kind command, and those to addresses of private networks, are for the
configuration of the server: [bridges.NAME].`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newBridgeAddCommand(g),
		newBridgeListCommand(g),
		newBridgeShowCommand(g),
		newBridgeTestCommand(g),
		newBridgePauseCommand(g),
		newBridgeResumeCommand(g),
		newBridgeRotateCommand(g),
		newBridgeRmCommand(g),
	)
	return cmd
}

func newBridgeAddCommand(g *globals) *cobra.Command {
	var files secretFiles
	var url, server, apiURL, onPause string
	var targets []string
	cmd := &cobra.Command{
		Use:   "add KIND [NAME]",
		Short: "Make a bridge",
		Long: `Makes a bridge of KIND: webhook, ntfy, slack or github. NAME is KIND if you give
none.

  holon bridge add ntfy                      a phone: makes a topic, shown once
  holon bridge add slack --token-file FILE   a bot's token, xoxb-…
  holon bridge add slack --webhook-url-file FILE
  holon bridge add github                    asks for the token
  holon bridge add webhook builds --to https://ci.example.org/holon

A token or secret is read from a file, from stdin (-), or at the terminal, which
does not show it. There is no flag for the text itself: every user of this
machine can read the arguments of commands, and your shell keeps them.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			kind, name := bridges.Kind(args[0]), args[len(args)-1]
			switch {
			case kind == bridges.KindCommand:
				return usagef("a bridge that runs a program is for the configuration of the server: [bridges.%s], kind = \"command\"", name)
			case !slices.Contains(bridges.Kinds, kind):
				return usagef("%q is no kind of bridge: give webhook, ntfy, slack or github", args[0])
			case kind == bridges.KindWebhook && url == "":
				return usagef("where to? Give --to https://…")
			}
			params := map[string]any{"bridge_id": name, "kind": kind}
			for member, value := range map[string]string{"url": url, "server": server, "api_url": apiURL, "on_pause": onPause} {
				if value != "" {
					params[member] = value
				}
			}
			if len(targets) > 0 {
				list := make([]bridges.Target, len(targets))
				for i, text := range targets {
					t, err := bridges.ParseTarget(kind, text)
					if err != nil {
						return usagef("--allow-target: %w", err)
					}
					list[i] = t
				}
				params["targets"] = list
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			if err := bridgeSecrets(c, kind, &files, params, nil); err != nil {
				return err
			}
			return addBridge(c, params)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&url, "to", "", "webhook: where to send, https://…")
	flags.StringVar(&server, "server", "", "ntfy: the server (default: https://ntfy.sh)")
	flags.StringVar(&apiURL, "api-url", "", "github: the API of another server than github.com")
	flags.StringArrayVar(&targets, "allow-target", nil, "a target to which tokens limited to threads may subscribe too; repeatable")
	flags.StringVar(&onPause, "on-pause", "", "what happens to events during a pause: wait (default) or drop")
	files.bind(flags)
	return cmd
}

// bridgeSecrets adds the secrets to the params of a bridge of a kind: from files,
// made here, or asked for. of is the bridge that gets new ones; nil: a new bridge.
func bridgeSecrets(c *caller, kind bridges.Kind, files *secretFiles, params map[string]any, of *bridges.Bridge) error {
	if err := files.read(c.console, params); err != nil {
		return err
	}
	given := params["secret"] != nil || params["token"] != nil || params["webhook_url"] != nil || params["topic"] != nil
	switch {
	case kind == bridges.KindNtfy && (!given || of == nil && params["topic"] == nil):
		params["topic"] = newTopic()
	case (kind == bridges.KindSlack || kind == bridges.KindGitHub) && !given:
		token, asked, err := askSecret(c.ctx, c.console, "Token of "+tokenNames[kind])
		switch {
		case err != nil:
			return err
		case !asked || token == "":
			return usagef("which token? Give --token-file FILE, or - to read it from stdin")
		}
		params["token"] = token
	}
	return nil
}

// tokenNames say which token a kind needs.
var tokenNames = map[bridges.Kind]string{
	bridges.KindSlack: "the Slack bot, xoxb-…", bridges.KindGitHub: "GitHub, github_pat_…",
}

// newTopic makes a topic of 128 random bits or more, because whoever knows it can read the
// messages.
func newTopic() string { return "holon-" + strings.ToLower(rand.Text()) }

// addBridge makes a bridge and prints it, with what is shown only once.
func addBridge(c *caller, params map[string]any) error {
	made, err := createBridge(c, params)
	if err != nil {
		return err
	}
	if c.format != "text" {
		return c.printValue(made, "")
	}
	name := timeline.OneLine(made.Bridge.BridgeID)
	if err := c.printText(name+": a bridge of kind "+timeline.OneLine(string(made.Bridge.Kind))+"\n", nil); err != nil {
		return err
	}
	if err := made.printOnce(c); err != nil {
		return err
	}
	target := targetHint(made.Bridge)
	if params["webhook_url"] != nil {
		target = "" // it has its channel
	}
	if made.Topic == "" {
		c.note("Send a test with: holon bridge test %s%s", name, target)
	}
	c.note("Send news with:   holon notify --all --bridge %s%s", name, target)
	return nil
}

// madeBridge is a bridge with what is shown only once, as programs get it.
type madeBridge struct {
	bridges.BridgeResult
	Topic string `json:"topic,omitzero"` // made by this command
	Link  string `json:"link,omitzero"`  // where to read the topic
}

// createBridge makes a bridge.
func createBridge(c *caller, params map[string]any) (made madeBridge, err error) {
	_, made.BridgeResult, err = change[bridges.BridgeResult](c, "bridge/create", "", params)
	if client.IsKind(err, "conflict") {
		name, _ := params["bridge_id"].(string)
		name = timeline.OneLine(name)
		return made, &hintedError{fmt.Errorf("there is a bridge %s", name), fmt.Sprintf("holon bridge show %s shows it. Give the new one another name: holon bridge add KIND NAME", name)}
	}
	if err == nil {
		made.setTopic(params)
	}
	return made, err
}

func (m *madeBridge) setTopic(params map[string]any) {
	if topic, ok := params["topic"].(string); ok {
		m.Topic, m.Link = topic, strings.TrimRight(cmp.Or(m.Bridge.Server, "https://ntfy.sh"), "/")+"/"+topic
	}
}

// printOnce prints the secret that the server has made, or how to read the topic.
func (m *madeBridge) printOnce(c *caller) error {
	name := timeline.OneLine(m.Bridge.BridgeID)
	switch {
	case m.Secret != "":
		return c.printText(fmt.Sprintf(`
Give this secret to the receiver, which verifies signatures with it. It is shown
this once; holon bridge rotate %s makes another.

  %s

`, name, timeline.OneLine(m.Secret)), nil)
	case m.Topic != "":
		server := ""
		if m.Bridge.Server != "" {
			server = "\n     on this server (Use another server):\n       " + timeline.OneLine(m.Bridge.Server)
		}
		return c.printText(fmt.Sprintf(`
To read on a phone what is sent through %s:

  1  Install the app "ntfy": Google Play, F-Droid or App Store.
  2  In the app, subscribe to this topic:
       %s%s
     Or read it in a browser:
       %s
  3  Send a test:
       holon bridge test %s

Who knows the topic can read what is sent: keep it to yourself. It is shown this
once; holon bridge rotate %s makes another.

`, name, timeline.OneLine(m.Topic), server, timeline.OneLine(m.Link), name, name), nil)
	}
	return nil
}

// targetHint returns the flag that subscriptions through a bridge need.
func targetHint(b bridges.Bridge) string {
	switch b.Kind {
	case bridges.KindSlack:
		return " --target '#CHANNEL'"
	case bridges.KindGitHub:
		return " --target OWNER/REPOSITORY#NUMBER"
	}
	return ""
}
