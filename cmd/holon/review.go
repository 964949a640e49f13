package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/turns"
)

// reviewOptions are the flags of review.
type reviewOptions struct {
	approve, block, final bool
	reject, note          string
	attempt               int
	thread, key           string
}

func newReviewCommand(g *globals) *cobra.Command {
	var o reviewOptions
	cmd := &cobra.Command{
		Use:   "review [THREAD|TURN]",
		Short: "Give a verdict about a turn; without a name list those that wait for one",
		Long: `A turn with a review policy (holon run --review, or review in its agent's
configuration) ends as usual, but what waits for it gets the result only after a
verdict:

  --approve           it is done
  --reject "NOTE"     another turn continues it at once, whose prompt is the note
  --block             it is not done, and nothing follows

After 3 continuations, or with --final, a rejection is final too. A turn without a
verdict in time (review_timeout_seconds of the agent, 24 h) is blocked. The first
verdict wins; holon retry tries the turn again instead.

The turn is named by itself, or by its thread if one turn of it waits. Without a
verdict a part of what the list says of it is enough.

  holon review                              list what waits
  holon review "fix the tests"              what its agent said last
  holon review "fix the tests" --approve
  holon review 8c1d04fe --reject "the tests of package b still fail"`,
		Args: oneName(0),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			verdict, err := o.verdict(cmd)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				if verdict != "" {
					return usagef("which THREAD or TURN? `holon review` lists those that wait for a verdict")
				}
				return reviewListing.print(g, cmd, map[string]any{"review": "pending", "thread_id": o.thread}, 0)
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			find := c.finder()
			if verdict != "" {
				find = find.telling().ender()
			}
			turnID, err := find.reviewed(args[0])
			if err != nil {
				return err
			}
			if verdict == "" {
				return showReview(c, turnID)
			}
			return o.give(c, turnID, verdict)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.approve, "approve", false, "the result is accepted")
	flags.StringVar(&o.reject, "reject", "", "what is wrong: another turn continues with this text")
	flags.BoolVar(&o.block, "block", false, "the result is not good enough, and nothing follows")
	flags.BoolVar(&o.final, "final", false, "with --reject: no turn continues it")
	flags.StringVar(&o.note, "note", "", "with --approve or --block: why")
	flags.IntVar(&o.attempt, "attempt", 0, "the attempt that was reviewed; refused if another one is live (default: the live one)")
	flags.StringVar(&o.thread, "thread", "", "without a name: only those of this thread")
	flags.StringVar(&o.key, "idempotency-key", "", "the same key takes effect only once, however often this is run")
	return cmd
}

// verdict returns the verdict that the flags name; "" if they name none.
func (o *reviewOptions) verdict(cmd *cobra.Command) (verdict turns.ReviewState, err error) {
	rejects := cmd.Flags().Changed("reject")
	n := 0
	for v, given := range map[turns.ReviewState]bool{turns.Approved: o.approve, turns.Rejected: rejects, turns.Blocked: o.block} {
		if given {
			verdict = v
			n++
		}
	}
	switch {
	case n > 1:
		return "", usagef("give one of --approve, --reject NOTE and --block")
	case rejects && strings.TrimSpace(o.reject) == "" && !o.final:
		return "", usagef("--reject: say what is wrong; the agent gets it as its next prompt")
	case rejects && o.note != "", o.note != "" && n == 0:
		return "", usagef("--note goes with --approve and --block; the note of a rejection is --reject NOTE")
	case o.final && !rejects:
		return "", usagef("--final goes with --reject")
	}
	return verdict, nil
}

// give gives a verdict and says what follows.
func (o *reviewOptions) give(c *caller, turnID string, verdict turns.ReviewState) error {
	if o.attempt == 0 {
		_, r, err := ask[api.TurnReadResult](c, "turn/read", map[string]any{"turn_id": turnID})
		if err != nil {
			return err
		}
		o.attempt = r.Turn.Attempt
	}
	params := map[string]any{"turn_id": turnID, "attempt": o.attempt, "verdict": verdict}
	if note := cmp.Or(o.reject, o.note); note != "" {
		params["note"] = note
	}
	if o.final {
		params["continue"] = false
	}
	raw, r, err := change[turns.ReviewTurnResult](c, "turn/review", o.key, params)
	if err != nil {
		return err
	}
	if c.format != "text" {
		return c.printData(raw, "")
	}
	text := fmt.Sprintf("%s: %s", shownID(c.console, r.TurnID), timeline.OneLine(string(r.Review.State)))
	if r.ContinuedBy != "" {
		text += ", continued by " + shownID(c.console, r.ContinuedBy)
	}
	if _, err := io.WriteString(c.out, text+"\n"); err != nil {
		return err
	}
	switch {
	case r.ContinuedBy != "":
		c.note("See it with: holon attach %s --after %d", nameByID(c.finder(), r.ThreadID), max(0, r.Seq-1))
	case verdict == turns.Rejected && !o.final:
		c.note("It has been continued %d times, so that nothing follows any more. Start another turn with: holon run --thread %s \"…\"", turns.MaxContinuations, nameByID(c.finder(), r.ThreadID))
	}
	return nil
}

// showReview prints what there is to review, and how to give a verdict.
func showReview(c *caller, turnID string) error {
	raw, r, err := ask[api.TurnReadResult](c, "turn/read", map[string]any{"turn_id": turnID})
	if err != nil {
		return err
	}
	if c.format != "text" {
		return c.printData(raw, "")
	}
	t := r.Turn
	review := "does not wait for a review"
	switch {
	case t.InReview():
		review = "waits for a verdict until " + whenAt(t.Review.DueAt)
	case t.WasReviewed():
		review = string(t.Review.State) + " " + whenAt(t.Review.ReviewedAt)
		if note := cmp.Or(t.Review.Note, t.Review.Reason); note != "" {
			review += ": " + note
		}
	}
	state := string(t.State)
	if t.Error != nil {
		state += " (" + t.Error.Message + ")"
	}
	if t.StoppedEarly() {
		state += ", " + turns.EarlyStop(t.StopReason)
	}
	if err := c.printFields(10, [][2]string{
		{"turn", shownID(c.console, t.TurnID)}, {"thread", shownID(c.console, t.ThreadID)}, {"title", t.Title}, {"state", state}, {"attempt", fmt.Sprint(t.Attempt)}, {"review", review},
		{"continues", shownID(c.console, t.Continues)}, {"continued", shownID(c.console, t.ContinuedBy)},
	}); err != nil {
		return err
	}
	if text := strings.TrimRight(timeline.Clean(t.Message), "\n"); text != "" {
		if _, err := fmt.Fprintf(c.out, "\n%s\n", text); err != nil {
			return err
		}
	}
	if t.InReview() {
		c.note("\nAll of it:  holon items --turn %s\nA verdict:  holon review %s --approve, or --reject \"what is wrong\"", shownID(c.console, t.TurnID), shownID(c.console, t.TurnID))
	}
	return nil
}

var reviewListing = listing{
	method: "turn/list", member: "turns", flex: 5,
	head: []string{"TURN", "THREAD", "STATE", "ATTEMPT", "DUE", "SAYS"},
	drop: []string{"THREAD", "ATTEMPT", "DUE"}, none: "No turn waits for a verdict.",
	then: "Look at one, and give a verdict: holon review %s",
	row: func(raw json.RawMessage) ([]string, error) {
		var t struct {
			turnRow
			Title string `json:"title"`
		}
		err := json.Unmarshal(raw, &t)
		due := ""
		if t.Review != nil {
			due = when(t.Review.DueAt)
		}
		says := t.Message
		if t.Error != nil {
			says = t.Error.Message
		}
		if t.stoppedEarly() {
			says = turns.EarlyStop(t.StopReason) + ": " + says
		}
		if t.Title != "" {
			says = t.Title + ": " + says
		}
		return []string{t.ID, t.ThreadID, t.State, t.attempts(), due, timeline.OneLine(says)}, err
	},
}
