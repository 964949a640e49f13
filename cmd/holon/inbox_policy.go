package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/nearest"
)

// policyNames are the names of a policy's members on the command line.
var policyNames = map[string]string{
	"enabled": "enabled", "window": "window_ms", "max-delay": "max_delay_ms", "max-items": "max_items",
	"max-age": "max_digest_age_ms", "wake": "wake", "ack": "ack",
	"wake-when": "wake_when", "wake-max-wait": "wake_max_wait_ms", "wake-window": "wake_window_ms", "told-lease": "told_lease_ms",
	"fallback": "fallback",
}

func newInboxPolicyCommand(g *globals) *cobra.Command {
	var window, maxDelay, maxAge, wakeMaxWait, wakeWindow, toldLease time.Duration
	var maxItems int
	var enabled, fallback bool
	var wake, wakeWhen, ack string
	var reset []string
	cmd := &cobra.Command{
		Use:   "policy [THREAD]",
		Short: "Show or change how an inbox groups items, and whether new entries start a turn",
		Long: `Without flags it shows the policy of an inbox. With flags it changes what they name
and nothing else. FROM says where a value comes from: the thread itself, a table of the
configuration, or nowhere (default).

  holon inbox policy thread_…
  holon inbox policy thread_… --wake idle      new entries start a turn
  holon inbox policy thread_… --wake-when each  … at every end of background work
  holon inbox policy thread_… --wake-window 0   … at once, without waiting for more
  holon inbox policy thread_… --window 10s --max-items 50
  holon inbox policy thread_… --reset window   back to what the configuration says`,
		Args: cobra.MaximumNArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			set := map[string]any{}
			for name, value := range map[string]any{
				"enabled": enabled, "window": window.Milliseconds(), "max-delay": maxDelay.Milliseconds(), "max-items": maxItems,
				"max-age": maxAge.Milliseconds(), "wake": wake, "ack": ack,
				"wake-when": wakeWhen, "wake-max-wait": wakeMaxWait.Milliseconds(),
				"wake-window": wakeWindow.Milliseconds(), "told-lease": toldLease.Milliseconds(),
				"fallback": fallback,
			} {
				if cmd.Flags().Changed(name) {
					set[policyNames[name]] = value
				}
			}
			names, err := policyMembers(reset)
			if err != nil {
				return err
			}
			for _, name := range names {
				if _, both := set[name]; both {
					return usagef("%s is both set and reset", name)
				}
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			thread, err := c.needInboxThread(args)
			if err != nil {
				return err
			}
			if len(set)+len(names) == 0 {
				return c.showPolicy(thread)
			}
			params := map[string]any{"thread_id": thread}
			if len(set) > 0 {
				params["policy"] = set
			}
			if len(names) > 0 {
				params["reset"] = names
			}
			raw, _, err := change[inbox.ConfigureResult](c, "inbox/configure", "", params)
			if err != nil {
				return ofInbox(err, thread)
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			return c.showPolicy(thread)
		}),
	}
	flags := cmd.Flags()
	flags.DurationVar(&window, "window", 0, "post a digest when no further item has come for this time")
	flags.DurationVar(&maxDelay, "max-delay", 0, "post an item at the latest after this time")
	flags.IntVar(&maxItems, "max-items", 0, "post a digest when so many items wait")
	flags.DurationVar(&maxAge, "max-age", 0, "begin another digest after this time")
	flags.BoolVar(&enabled, "enabled", true, "group items; false posts each by itself")
	flags.StringVar(&wake, "wake", "", "what new entries do: idle (start a turn when the thread has none) or none")
	flags.StringVar(&wakeWhen, "wake-when", "", "when ends of background work do that: settled (once all of the same turn have ended) or each")
	flags.DurationVar(&wakeMaxWait, "wake-max-wait", 0, "with settled: how long an end waits for the others at most; 0 = without a bound")
	flags.DurationVar(&wakeWindow, "wake-window", 0, "start the turn when nothing new has come for this time; 0 = at once")
	flags.DurationVar(&toldLease, "told-lease", 0, "tell the agent again what it has not acknowledged so long after its turn, at most 3 times; 0 = never")
	flags.BoolVar(&fallback, "fallback", true, "bundle webhooks without a group by their kind; false posts each by itself")
	flags.StringVar(&ack, "ack", "", "what acknowledges entries that the agent was told: turn_end or explicit")
	flags.StringSliceVar(&reset, "reset", nil, "give this again what the configuration says: enabled, window, …; repeatable")
	return cmd
}

// policyMembers returns the names of the wire for those of --reset, which may also
// be the former.
func policyMembers(given []string) (names []string, err error) {
	for _, name := range given {
		member, ok := policyNames[strings.ReplaceAll(name, "_", "-")]
		if !ok && slices.Contains(inbox.PolicyMembers, name) {
			member, ok = name, true
		}
		if !ok {
			return nil, usagef("--reset: %s", nearest.NoneOf(name, slices.Sorted(maps.Keys(policyNames))))
		}
		if !slices.Contains(names, member) {
			names = append(names, member)
		}
	}
	return names, nil
}

// showPolicy reads and prints the policy in force.
func (c *caller) showPolicy(thread string) error {
	_, read, err := ask[struct {
		Thread struct {
			Agent string `json:"agent"`
		} `json:"thread"`
		Policy jsontext.Value `json:"policy"`
		Set    jsontext.Value `json:"policy_set"`
	}](c, "thread/read", map[string]any{"thread_id": thread, "include_inbox": true})
	if err != nil {
		return ofInbox(err, thread)
	}
	if c.format != "text" {
		return c.printValue(struct {
			ThreadID string         `json:"thread_id"`
			Policy   jsontext.Value `json:"policy"`
			Set      jsontext.Value `json:"policy_set,omitzero"`
		}{thread, read.Policy, read.Set}, "")
	}
	_, policy, err := decoded[inbox.Policy]("thread/read", read.Policy)
	if err != nil {
		return err
	}
	var set inbox.PolicySet
	if len(read.Set) > 0 { // a server of before does not say it
		if _, set, err = decoded[inbox.PolicySet]("thread/read", read.Set); err != nil {
			return err
		}
	}
	return c.printPolicy(policy, policyOrigins(set, read.Thread.Agent))
}

// policyOrigins names for people the origin of each member that is not built in.
func policyOrigins(set inbox.PolicySet, agent string) map[string]string {
	from := map[string]string{}
	for _, of := range []struct {
		policy inbox.Policy
		where  string
	}{{set.Server, "[inbox]"}, {set.Agent, "[agents." + agent + ".inbox]"}, {set.Thread, "thread"}} { // the later ones win
		for name := range of.policy.Members() {
			from[name] = of.where
		}
	}
	return from
}

// policyTable is the table of a policy: a row for each member, with where it comes from.
type policyTable struct {
	*table
	from map[string]string
}

func (t policyTable) add(name, value, meaning string) {
	t.table.add(name, value, cmp.Or(t.from[policyNames[name]], "default"), meaning)
}

// printPolicy prints a policy, whose members are all set, for a person.
func (c *caller) printPolicy(p inbox.Policy, from map[string]string) error {
	s := p.Settings(p.Wake)
	grouping := "items that belong together become one entry"
	if !s.Enabled {
		grouping = "every item is an entry by itself"
	}
	wake := "new entries start no turn"
	if s.Wake == inbox.WakeIdle {
		wake = "new entries start a turn when the thread has none"
	}
	when := "background work does so once all of the same turn has ended"
	if s.WakeWhen == inbox.WhenEach {
		when = "background work does so at each end"
	}
	maxWait := "an end waits at most this time for the others"
	switch {
	case s.WakeWhen == inbox.WhenEach:
		maxWait = "counts with settled only"
	case s.WakeMaxWait == 0:
		maxWait = "an end waits for the others without a bound"
	}
	window := "the turn starts once nothing new has come for this time"
	if s.WakeWindow == 0 {
		window = "the turn starts at once"
	}
	lease := "so long after its turn the agent is told again what it has not acknowledged"
	if s.ToldLease == 0 {
		lease = "the agent is told once, also what it does not acknowledge"
	}
	ack := "what the agent was told is acknowledged when that turn completes"
	if s.Ack == inbox.AckExplicit {
		ack = "only holon inbox ack, or the agent itself, acknowledges"
	}
	fallback := "webhooks without a group are bundled by their kind"
	if !s.Fallback {
		fallback = "a webhook without a group is an entry by itself"
	}
	t := policyTable{newTable("SETTING", "VALUE", "FROM", "MEANING"), from}
	t.add("enabled", fmt.Sprint(s.Enabled), grouping)
	t.add("window", shortDuration(s.Window), "a digest is posted when no further item has come for this time")
	t.add("max-delay", shortDuration(s.MaxDelay), "an item waits at most this time")
	t.add("max-items", fmt.Sprint(s.MaxItems), "a digest is posted when so many items wait")
	t.add("max-age", shortDuration(s.MaxDigestAge), "after this time another digest begins")
	t.add("wake", string(s.Wake), wake)
	t.add("wake-when", string(s.WakeWhen), when)
	t.add("wake-max-wait", shortDuration(s.WakeMaxWait), maxWait)
	t.add("wake-window", shortDuration(s.WakeWindow), window)
	t.add("fallback", fmt.Sprint(s.Fallback), fallback)
	t.add("ack", string(s.Ack), ack)
	t.add("told-lease", shortDuration(s.ToldLease), lease)
	return t.write(c.console, 3)
}

// shortDuration returns a duration as flags take it, without zero units: 2m, not 2m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
