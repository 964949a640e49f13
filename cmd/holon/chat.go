package main

import (
	"cmp"
	"context"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/chat"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

func newChatCommand(g *globals) *cobra.Command {
	var plain bool
	var agent, dir, title string
	cmd := &cobra.Command{
		Use:   "chat [THREAD]",
		Short: "Talk with an agent: a thread on the whole terminal, or line by line",
		Long: `Shows a thread with a line to write in. A text starts a turn, or steers the one that
runs; the line says which. Questions of the agent are answered there too. Without
THREAD a new thread begins. holon attach follows a thread in lines, and leaves the
terminal as it is.

The keys are at the bottom of the screen: Enter sends, Esc leaves the line, and then
? lists all keys. Leaving stops nothing: turns continue at the server.

--plain writes and reads lines only, without moving the cursor: for screen readers and
for simple terminals. It is the default if HOLON_PLAIN=1 or TERM=dumb is set, or if there
is no terminal. Then each line of the input is a text for the agent, or the answer to its
question; Ctrl-C interrupts the turn, Ctrl-D leaves. If no turn runs, Ctrl-C twice leaves
too.

  holon chat
  holon chat --agent claude --cwd ~/project
  holon chat latest
  holon chat "fix the tests"
  holon chat --plain latest`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := g.format("text"); err != nil {
				return err
			}
			if len(args) > 0 && cmp.Or(agent, dir, title) != "" {
				return usagef("--agent, --cwd and --title are for a new thread; leave out THREAD or the flags")
			}
			c, err := g.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			var where directory
			if len(args) == 0 {
				if where, err = directoryFor(cmd.Context(), g, c, dir, agent, ""); err != nil {
					return err
				}
			}
			t, err := chatThread(g.finder(cmd, c), args, map[string]any{"agent": agent, "title": title}, where)
			if err != nil {
				return err
			}
			if t.made {
				defer closeUnwritten(c, t.ThreadID)
			}
			if plain || plainOnly(&g.console) {
				return chatPlain(cmd.Context(), &g.console, c, t)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), endSignals()...)
			defer stop()
			result, err := chat.Run(ctx, chat.Options{
				Client: c, Thread: t.ThreadID, In: g.in, Out: g.out, Environ: g.environ, Colour: g.env("NO_COLOR") == "",
			})
			if result.Runs {
				g.note("The turn continues at the server: holon chat %s", nameByID(g.finder(cmd, c), result.Thread))
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&plain, "plain", false, "lines only: for screen readers")
	flags.StringVar(&agent, "agent", "", "the agent of a new thread")
	flags.StringVar(&dir, "cwd", "", "the working directory of a new thread's agent")
	flags.StringVar(&title, "title", "", "the title of a new thread")
	return cmd
}

// plainOnly reports whether the terminal can show lines only, or a person wants that.
func plainOnly(c *console) bool {
	on := c.env("HOLON_PLAIN")
	return on != "" && on != "0" || !c.isTerminal(c.in) || !c.isTerminal(c.out)
}

// chatThread is the thread of a chat.
type talk struct {
	ThreadID string `json:"thread_id"`
	Title    string `json:"title"`
	Agent    string `json:"agent"`
	State    string `json:"state"`
	Config   *struct {
		Commands []plainCommand `json:"commands"`
	} `json:"config"`
	Summary struct {
		Cwd string `json:"cwd"` // where the agent works
	} `json:"summary"`
	made bool
}

// begins describes which thread this is, who works in it and where.
func (t talk) begins(con *console) string {
	text := named{id: t.ThreadID, title: t.Title}.shown(con) + " with agent " + timeline.OneLine(t.Agent)
	if t.Summary.Cwd != "" {
		text += " in " + timeline.OneLine(t.Summary.Cwd)
	}
	return text
}

// chatThread finds the thread that was named, or starts one in the directory.
func chatThread(f finder, args []string, settings map[string]any, where directory) (t talk, err error) {
	id := ""
	if len(args) > 0 {
		if id, err = f.thread(args[0]); err != nil {
			return t, err
		}
	} else {
		params := map[string]any{}
		for name, value := range settings {
			if value != "" {
				params[name] = value
			}
		}
		if params["idempotency_key"], err = keyOr(""); err != nil {
			return t, err
		}
		if err := where.startIn(params, func(params map[string]any) error { return callRetrying(f.ctx, f.client, "thread/start", params, &t) }); err != nil {
			return t, err
		}
		if params["cwd"] == nil && where.without != "" {
			f.note("%s", where.without)
		}
		id = t.ThreadID
	}
	var read struct {
		Thread talk `json:"thread"`
	}
	if err := f.client.Call(f.ctx, "thread/read", map[string]any{"thread_id": id}, &read); err != nil {
		return t, err
	}
	read.Thread.made = len(args) == 0
	return read.Thread, nil
}

// closePatience bounds what is done for a thread after its person has left.
const closePatience = 30 * time.Second

// closeUnwritten closes a new thread in which nothing was written.
func closeUnwritten(c *client.Client, threadID string) {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	closeUnused(ctx, c, threadID, "nothing was written in it")
}
