package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

// serverStatus has the shown members of the result of holon/status.
type serverStatus struct {
	State       string    `json:"state"`
	Version     string    `json:"version"`
	StartedAt   time.Time `json:"started_at"`
	LastEventAt *string   `json:"last_event_at"`
	PausedAt    *string   `json:"paused_at"`
	FirstSeq    int64     `json:"first_seq"`
	LatestSeq   int64     `json:"latest_seq"`
	Threads     int64     `json:"threads"`
	Streams     int64     `json:"streams"`
	Turns       struct {
		Queued  int64 `json:"queued"`
		Active  int64 `json:"active"`
		Waiting int64 `json:"waiting"`
	} `json:"turns"`
	Agents []struct {
		Name  string `json:"name"`
		Kind  string `json:"kind"`
		State string `json:"state"`
	} `json:"agents"`
}

func newStatusCommand(g *globals) *cobra.Command {
	var dismiss, address bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the server",
		Long: `Shows the state of the server, which turns are active, and how many ended with a
restart of the server, if nobody has gone on with them. holon retry --interrupted
retries those; with --dismiss they are not shown again, here, in the dashboard and in
the console.

  holon status
  holon status --dismiss
  curl "$(holon status --address)/metrics"`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			if dismiss {
				return dismissLost(c)
			}
			endpoint, err := c.client.Endpoint()
			if err != nil {
				return err
			}
			if address {
				if err := initialize(c.ctx, c.client, &api.InitializeResult{}); err != nil {
					return err
				}
				return c.printText(cmp.Or(endpoint.HTTP, endpoint.URL)+"\n", nil)
			}
			raw, status, err := ask[serverStatus](c, "holon/status", nil)
			if err != nil {
				if c.format == "text" && outside(err) { // a limited token may still read what became of its threads
					if err := printLost(c); err != nil {
						return err
					}
				}
				return err
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			if status.State == "running" && client.IsKind(c.client.Ready(c.ctx), client.KindUnavailable) {
				status.State += ", but it cannot store anything: holon doctor, or the server's log, says why"
			}
			if err := status.print(&g.console, endpoint.URL); err != nil {
				return err
			}
			if status.Turns.Active > 0 {
				if err := printActive(c); err != nil {
					return err
				}
			}
			if err := printNotTold(c); err != nil {
				return err
			}
			return printLost(c)
		}),
	}
	cmd.Flags().BoolVar(&address, "address", false, "print only the address of the server, for scripts")
	cmd.Flags().BoolVar(&dismiss, "dismiss", false, "do not show again what has ended with a restart so far")
	return cmd
}

func (s serverStatus) print(con *console, url string) error {
	var agents []string
	for i, agent := range s.Agents {
		text := timeline.OneLine(agent.Name)
		if agent.Kind != "" && agent.Kind != agent.Name {
			text += " (" + timeline.OneLine(agent.Kind) + ")"
		}
		if agent.State == "failed" {
			text += " failed"
		}
		if i == 0 && len(s.Agents) > 1 {
			text += " by default"
		}
		agents = append(agents, text)
	}
	last := "no event yet"
	if s.LastEventAt != nil {
		last = "last " + *s.LastEventAt
		if at, err := time.Parse(time.RFC3339, *s.LastEventAt); err == nil {
			last = "last " + timeline.Elapsed(time.Since(at)) + " ago"
		}
	}
	log := fmt.Sprintf("events %d to %d, %s", s.FirstSeq, s.LatestSeq, last)
	if s.LatestSeq < s.FirstSeq {
		log = last
	}
	state := timeline.OneLine(s.State)
	if s.PausedAt != nil && s.State == "paused" {
		state += " since " + timeline.OneLine(*s.PausedAt) + " (resume with: holon resume)"
	}
	lines := [][2]string{
		{"server", fmt.Sprintf("%s, version %s, up %s", url, timeline.OneLine(s.Version), timeline.Elapsed(time.Since(s.StartedAt)))},
		{"state", state},
		{"turns", fmt.Sprintf("%d active (%d waiting), %d queued", s.Turns.Active, s.Turns.Waiting, s.Turns.Queued)},
		{"threads", fmt.Sprint(s.Threads)},
		{"streams", fmt.Sprintf("%d open (a dashboard has two)", s.Streams)},
		{"log", log},
		{"agents", strings.Join(agents, ", ")},
	}
	if err := con.printFields(8, lines); err != nil {
		return err
	}
	if s.Turns.Waiting > 0 {
		con.note("Questions that wait are listed by: holon respond")
	}
	return nil
}
