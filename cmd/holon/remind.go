package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	timephrase "github.com/seed82539d15/holon/cmd/holon/when"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
)

func newRemindCommand(g *globals) *cobra.Command {
	var id, key string
	cmd := &cobra.Command{
		Use:   "remind THREAD WHEN TEXT…",
		Short: "Put a text into an inbox later, once or repeatedly",
		Long: `Creates a timer of THREAD. Each time it fires, TEXT is an entry in the thread's
inbox. WHEN is one argument, in the timezone of this machine:

  holon remind me "in 20m" "look at the build"
  holon remind me "tomorrow 9:00" "call Ada"
  holon remind me "every weekday at 9:00" "stand-up"
  holon remind thread_… "every 2h" "check the queue"
  holon remind me "cron 0 9 * * 1-5" "stand-up"
  holon remind me 2027-03-01T09:00:00Z "renew the certificate"

  holon remind list me
  holon remind rm me timer_…`,
		Args: cobra.MinimumNArgs(3),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			if err := timephrase.CheckTZ(g.env("TZ")); err != nil {
				return &usageError{err: err}
			}
			now := time.Now()
			spec, err := timephrase.Parse(args[1], now, func() (string, error) { return timephrase.Zone(now.Location()) })
			if err != nil {
				return &usageError{err: err}
			}
			params := map[string]any{"text": strings.Join(args[2:], " ")}
			switch {
			case !spec.At.IsZero():
				params["at"] = notify.TimeOf(spec.At)
			case spec.EverySeconds > 0:
				params["every_seconds"] = spec.EverySeconds
			default:
				params["cron"] = spec.Cron
			}
			if spec.Timezone != "" {
				params["timezone"] = spec.Timezone
			}
			if id != "" {
				params["timer_id"] = id
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			if args[0], err = c.finder().telling().inbox(args[0]); err != nil {
				return err
			}
			params["thread_id"] = args[0]
			raw, result, err := change[inbox.TimerResult](c, "timer/create", key, params)
			if err != nil {
				return ofInbox(err, args[0])
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			name := timeline.OneLine(result.Timer.TimerID)
			if err := c.printText(fmt.Sprintf("%s: %s\n", name, timerText(result.Timer, now)), nil); err != nil {
				return err
			}
			c.note("Delete it with: holon remind rm %s %s", nameByID(c.finder(), args[0]), name)
			return nil
		}),
	}
	cmd.Flags().StringVar(&id, "id", "", "the id of the timer; repeating it makes no second one")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key makes one timer, however often this is run")
	cmd.AddCommand(newRemindListCommand(g), newRemindRmCommand(g))
	return cmd
}

func newRemindListCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "list [THREAD]",
		Short: "List the timers of a thread",
		Args:  cobra.MaximumNArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			thread, err := c.needInboxThread(args)
			if err != nil {
				return err
			}
			raw, result, err := ask[struct {
				Timers []jsontext.Value `json:"timers"`
			}](c, "timer/list", map[string]any{"thread_id": thread})
			if err != nil {
				return ofInbox(err, thread)
			}
			if c.format != "text" {
				return c.printData(raw, "timers")
			}
			if len(result.Timers) == 0 {
				c.note("There are no timers. Make one with: holon remind %s \"in 20m\" \"…\"", nameByID(c.finder(), thread))
				return nil
			}
			t := newTable("TIMER", "NEXT", "REPEATS", "TEXT")
			t.drop = []string{"REPEATS"}
			for _, raw := range result.Timers {
				var timer inbox.Timer
				if err := jsonv2.Unmarshal(raw, &timer); err != nil {
					return fmt.Errorf("read a timer: %w", err)
				}
				t.add(timer.TimerID, localTime(timer.NextAt.Time), repeats(timer), timer.Text)
			}
			return t.write(c.console, 3)
		}),
	}
}

func newRemindRmCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "rm THREAD TIMER",
		Short: "Delete a timer",
		Args:  cobra.ExactArgs(2),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			if args[0], err = c.finder().telling().inbox(args[0]); err != nil {
				return err
			}
			raw, result, err := change[inbox.DeleteTimerResult](c, "timer/delete", "", map[string]any{"thread_id": args[0], "timer_id": args[1]})
			if err != nil {
				return ofInbox(err, args[0])
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			_, err = io.WriteString(c.out, timeline.OneLine(result.TimerID)+": deleted\n")
			return err
		}),
	}
}

// timerText describes when a timer fires.
func timerText(t inbox.Timer, now time.Time) string {
	text := fmt.Sprintf("%s, in %s", localTime(t.NextAt.Time), distance(t.NextAt.Sub(now)))
	if again := repeats(t); again != "" {
		text += ", then " + again
	}
	return text
}

// repeats describes how a timer continues after its next firing, "" if it does not.
func repeats(t inbox.Timer) string {
	switch {
	case t.EverySeconds > 0:
		return "every " + shortDuration(time.Duration(t.EverySeconds)*time.Second)
	case t.Cron != "":
		zone := t.Timezone
		if zone == "" {
			zone = "UTC"
		}
		return timeline.OneLine(fmt.Sprintf("cron %s (%s)", t.Cron, zone))
	}
	return ""
}

// localTime returns a planned time on the user's clock.
func localTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("Mon 2006-01-02 15:04:05 MST")
}

// distance returns the time to a planned time, in its two largest units.
func distance(d time.Duration) string {
	if d = d.Round(time.Second); d >= 48*time.Hour {
		return fmt.Sprintf("%d days", int((d+12*time.Hour)/(24*time.Hour)))
	}
	if d >= time.Hour {
		d = d.Round(time.Minute)
	}
	return shortDuration(d)
}
