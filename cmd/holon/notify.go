package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/internal/events"
	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/rpc/client"
)

// phoneBridge is the bridge that holon notify makes if there is none of this name.
const phoneBridge = "ntfy"

func newNotifyCommand(g *globals) *cobra.Command {
	var o notifyOptions
	cmd := &cobra.Command{
		Use:   "notify THREAD | TURN | --all",
		Short: "Send news to people: phone, Slack, GitHub, webhooks",
		Long: `Sends the news of one thread, of one turn, or of all, through a bridge. The first
line makes the bridge of a phone if there is none named ntfy, and says how to
subscribe to it:

  holon notify --all --bridge ntfy --on final,questions
  holon notify main --bridge slack --target '#builds' --text
  holon notify main --bridge github --target octo/hello#12
  holon notify --all --bridge hook --method thread/closed
  holon notify turn_… --bridge ntfy

--on chooses: final (how turns end), questions (what waits for a person, and its
answer), progress (starts of turns, and steps), inbox (entries of inboxes, and that
one does not wake its thread any more).
--target is a channel of Slack (#builds, C012AB3CD, or C012AB3CD/TS for a thread
in it), an issue or pull request of GitHub (also as its address), or another
topic of ntfy than that of the bridge. Webhooks have none.

Repeating a line makes no second subscription. With other --on, --method, --text
or --order it changes the first one. THREAD starts with its active or newest
turn, TURN with its beginning, --all starts now; --from says otherwise. That of a
TURN ends with it; a retry makes it go on. A name that fits both is the THREAD.

  holon notify list                  what is sent where
  holon notify show ntfy-all         how far it has come, and what to do
  holon notify move ntfy-all --bridge slack --target '#builds'
  holon notify rm ntfy-all`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 && notifyWords[args[0]] != "" {
				return usagef("there is no holon notify %s; it is: %s", args[0], notifyWords[args[0]])
			}
			switch {
			case len(args) > 1:
				return usagef("give one THREAD or TURN, or --all")
			case o.all && len(args) == 1:
				return usagef("give either THREAD or TURN, or --all")
			case !o.all && len(args) == 0:
				return usagef("the news of which THREAD or TURN? Give one, or --all")
			case o.bridge == "":
				return usagef("through which bridge? Give --bridge NAME; holon bridge list lists them. For a phone: --bridge ntfy")
			}
			return nil
		},
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
			case strings.HasPrefix(args[0], "turn_"):
				o.turn = args[0]
			default:
				o.thread = args[0]
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			return o.run(c, cmd)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.all, "all", false, "the news of all threads")
	flags.StringVar(&o.bridge, "bridge", "", "the bridge that sends the news")
	bindTarget(cmd, &o.target)
	flags.StringSliceVar(&o.on, "on", nil, "final, questions, progress, inbox; several with commas (default final)")
	flags.StringSliceVar(&o.methods, "method", nil, "also events of this name, such as thread/closed; several with commas")
	flags.StringVar(&o.from, "from", "", "where to start: now, beginning, or after a seq")
	flags.BoolVar(&o.text, "text", false, "also what the agent said last, without what looks like a secret")
	flags.StringVar(&o.order, "order", "", "which messages wait for one that fails: turn (default): those of its turn; strict: all")
	flags.StringVar(&o.id, "id", "", "the name of the subscription (default: made of bridge, thread and target)")
	cmd.AddCommand(
		newNotifyListCommand(g),
		newNotifyShowCommand(g),
		newNotifyRmCommand(g),
		newNotifyPauseCommand(g),
		newNotifyResumeCommand(g),
		newNotifyMoveCommand(g),
		newNotifyResetCommand(g),
		newNotifySkipCommand(g),
	)
	return cmd
}

// notifyWords are words that people try, and what they mean. A thread that is called so can be
// named by its id.
var notifyWords = map[string]string{
	"subscribe": "holon notify THREAD --bridge NAME", "create": "holon notify THREAD --bridge NAME", "add": "holon notify THREAD --bridge NAME",
	"update": "holon notify move SUBSCRIPTION, or a line of before with other flags",
	"delete": "holon notify rm SUBSCRIPTION", "remove": "holon notify rm SUBSCRIPTION", "unsubscribe": "holon notify rm SUBSCRIPTION",
}

// notifyOptions are the flags of notify.
type notifyOptions struct {
	all, text                                     bool
	thread, turn, bridge, target, from, order, id string
	on, methods                                   []string
}

// subscribed is what programs get of notify.
type subscribed struct {
	bridges.SubscriptionResult
	Bridge *madeBridge `json:"made_bridge,omitzero"` // absent if it existed
}

func (o *notifyOptions) run(c *caller, cmd *cobra.Command) (err error) {
	choice, from, err := o.chosen(cmd)
	if err != nil {
		return err
	}
	if err := o.findSubject(c); err != nil { // before a bridge is made for it
		return err
	}
	if o.turn != "" && slices.Contains(o.on, string(bridges.OnInbox)) {
		return usagef("--on inbox: a turn has no inbox; name its THREAD instead")
	}
	bridge, made, err := bridgeFor(c, o.bridge)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && made != nil && c.format != "text" { // text has shown it
			c.note("The bridge %s was made. Its topic is shown this once: %s", phoneBridge, made.Topic)
		}
	}()
	target, err := parseTarget(bridge, o.target)
	if err != nil {
		return err
	}
	id, err := o.findID(c, target)
	if err != nil {
		return err
	}
	params := map[string]any{"subscription_id": id, "bridge_id": o.bridge}
	for name, value := range choice {
		params[name] = value
	}
	if o.thread != "" {
		params["thread_id"] = o.thread
	}
	if o.turn != "" {
		params["turn_id"] = o.turn
	}
	if target != (bridges.Target{}) {
		params["target"] = target
	}
	if from != nil {
		params["from"] = from
	}
	_, r, err := change[bridges.SubscriptionResult](c, "subscription/create", "", params)
	switch {
	case reasonOf(err) == "moved":
		name := timeline.OneLine(id)
		return &hintedError{err, fmt.Sprintf("holon notify show %s shows it. To send it elsewhere: holon notify move %s --bridge NAME. Of another thread or turn: give this one another --id.", name, name)}
	case client.IsKind(err, client.KindCursorAhead):
		return &hintedError{err, "The log does not have this seq yet. To start from now: --from now"}
	case err != nil:
		return ofTarget(ofBridge(err, o.bridge), bridge)
	}
	changed := false
	if r.Created != nil && !*r.Created && len(choice) > 0 && differs(r.Subscription.Subscription, choice) {
		params := map[string]any{"subscription_id": id}
		for name, value := range choice {
			params[name] = value
		}
		created := r.Created
		if _, r, err = change[bridges.SubscriptionResult](c, "subscription/update", "", params); err != nil {
			return err
		}
		r.Created, changed = created, true
	}
	if c.format != "text" {
		return c.printValue(subscribed{r, made}, "")
	}
	return o.say(c, r, bridge, changed)
}

// findSubject finds the thread or the turn that is named; where a name fits both, it is the thread.
func (o *notifyOptions) findSubject(c *caller) (err error) {
	find := c.finder().telling()
	if o.thread == "" {
		o.turn, err = find.turn(o.turn)
		return err
	}
	name := o.thread
	if o.thread, err = find.thread(name); err == nil {
		err = c.client.Call(c.ctx, "thread/read", map[string]any{"thread_id": o.thread}, nil)
	}
	if client.IsKind(err, threadNames.notFound) && !find.exact {
		found, turnErr := find.find(name, &turnNames)
		switch {
		case turnErr == nil && found.id != name:
			o.thread, o.turn = "", found.id
			return nil
		case turnErr != nil && !client.IsKind(turnErr, turnNames.notFound): // it can be several
			return turnErr
		}
	}
	if err != nil && (o.thread == ownInbox || slices.Contains(o.on, string(bridges.OnInbox))) {
		return ofInbox(err, o.thread)
	}
	return err
}

// chosen returns the params that say what is sent, as far as they were given, and where
// it starts.
func (o *notifyOptions) chosen(cmd *cobra.Command) (choice map[string]any, from any, err error) {
	choice = map[string]any{}
	for _, on := range o.on {
		if !slices.Contains(bridges.Ons, bridges.On(on)) {
			return nil, nil, usagef("--on: %s", nearest.NoneOf(bridges.On(on), bridges.Ons))
		}
	}
	given := cmd.Flags().Changed
	if given("on") || given("method") {
		choice["on"], choice["methods"] = append([]string{}, o.on...), append([]string{}, o.methods...)
	}
	if given("text") {
		choice["include_text"] = o.text
	}
	if given("order") {
		choice["order"] = o.order
	}
	switch {
	case o.from == "":
	case o.from == "now" || o.from == "beginning":
		from = o.from
	default:
		seq, err := strconv.ParseInt(o.from, 10, 64)
		if err != nil || seq < 0 {
			return nil, nil, usagef("--from %s: give now, beginning, or a seq", o.from)
		}
		from = seq
	}
	return choice, from, nil
}

// differs reports whether a subscription chooses otherwise than was asked for.
func differs(s bridges.Subscription, choice map[string]any) bool {
	on := make([]string, len(s.On))
	for i, o := range s.On {
		on[i] = string(o)
	}
	for name, value := range choice {
		switch v := value.(type) {
		case []string:
			have := s.Methods
			if name == "on" {
				have = on
			}
			if !slices.Equal(slices.Sorted(slices.Values(v)), slices.Sorted(slices.Values(have))) {
				return true
			}
		case bool:
			if s.IncludeText != v {
				return true
			}
		case string:
			if string(s.Order) != v {
				return true
			}
		}
	}
	return false
}

// bridgeFor reads a bridge. If that of a phone does not exist, it is made: made then has what
// is shown only once. In text it was shown already, even if a later step fails.
func bridgeFor(c *caller, name string) (b bridges.Bridge, made *madeBridge, err error) {
	b, err = readBridge(c, name)
	if name != phoneBridge || !client.IsKind(err, "bridge_not_found") {
		return b, nil, err
	}
	m, err := createBridge(c, map[string]any{"bridge_id": phoneBridge, "kind": bridges.KindNtfy, "topic": newTopic()})
	if err != nil {
		return b, nil, err
	}
	if c.format != "text" {
		return m.Bridge, &m, nil
	}
	return m.Bridge, &m, m.printOnce(c)
}

// maxName bounds the names that are made here: they are part of the ids of
// deliveries, which people type.
const maxName = 32

// findID returns the id that was given, or that of the subscription of this bridge,
// thread and target, or one that was never used: a deleted one would continue where
// it ended.
func (o *notifyOptions) findID(c *caller, target bridges.Target) (string, error) {
	if o.id != "" {
		return o.id, nil
	}
	first := subscriptionName(o.bridge, cmp.Or(o.turn, o.thread), target.Text())
	for n := 1; ; n++ {
		id := first
		if n > 1 {
			id = fmt.Sprintf("%s-%d", first, n)
		}
		_, r, err := ask[api.SubscriptionReadResult](c, "subscription/read", map[string]any{"subscription_id": id})
		switch {
		case client.IsKind(err, "subscription_not_found"):
			return id, nil
		case err != nil:
			return "", err
		}
		s := r.Subscription.Subscription
		if s.State != bridges.Deleted && s.SendsTo(o.bridge, target) && s.TurnID == o.turn && (o.turn != "" || s.ThreadID == o.thread) {
			return id, nil
		}
	}
}

// subscriptionName makes a name of what a subscription is about. The same is always
// named the same.
func subscriptionName(bridge, thread, target string) string {
	if thread == "" {
		thread = "all"
	}
	whole := strings.Join([]string{bridge, thread, target}, "-")
	name := strings.Trim(strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", r) {
			return r
		}
		return '-'
	}, whole), "-")
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(whole))
	return strings.TrimRight(name[:maxName-9], "-") + "-" + hex.EncodeToString(sum[:4])
}

// say prints what is sent where from now on.
func (o *notifyOptions) say(c *caller, r bridges.SubscriptionResult, b bridges.Bridge, changed bool) error {
	s := r.Subscription.Subscription
	text := fmt.Sprintf("%s: sends %s of %s through %s", s.SubscriptionID, sends(s), newsOf(s), through(s))
	switch {
	case changed:
		text += " (changed)"
	case r.Created != nil && !*r.Created:
		text += " (it existed)"
	}
	if err := c.printText(timeline.OneLine(text)+"\n", nil); err != nil {
		return err
	}
	for _, m := range o.methods {
		if events.Of(m) == nil { // a newer server may have it
			c.note("This version knows no event %s: if it was mistyped, nothing is sent for it.", timeline.OneLine(m))
		}
	}
	if s.State != bridges.Active {
		c.note("It is %s.\n%s", timeline.OneLine(subscriptionState(s)), subscriptionAdvice(s))
	}
	if b.State != bridges.Active {
		c.note("The bridge %s is %s.\n%s", timeline.OneLine(b.BridgeID), timeline.OneLine(bridgeState(b)), bridgeAdvice(b))
	}
	c.note("End it with: holon notify rm %s", timeline.OneLine(s.SubscriptionID))
	return nil
}

// sends describes which events a subscription chooses.
func sends(s bridges.Subscription) string {
	var words []string
	for _, on := range s.On {
		words = append(words, string(on))
	}
	text := strings.Join(append(words, s.Methods...), ", ")
	if s.IncludeText {
		text += " with text"
	}
	return text
}

func newsOf(s bridges.Subscription) string {
	switch {
	case s.TurnID != "":
		return s.TurnID
	case s.ThreadID == "":
		return "all threads"
	}
	return s.ThreadID
}

// through describes where a subscription sends.
func through(s bridges.Subscription) string {
	if target := s.Target.Text(); target != "" {
		return s.BridgeID + " to " + target
	}
	return s.BridgeID
}
