//go:build linux

package realagents

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
)

// watcher follows a server's log from the beginning and keeps it.
type watcher struct {
	cancel context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	events  []seen
	changed chan struct{} // closed and replaced when events grows
}

// seen is an event and when it came.
type seen struct {
	client.Event
	at time.Time
}

func watch(c *client.Client) *watcher {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{cancel: cancel, ended: make(chan struct{}), changed: make(chan struct{})}
	zero := int64(0)
	subscription := c.Subscribe(client.Options{AfterSeq: &zero})
	go func() {
		defer close(w.ended)
		// The error means that the server ended. Waits then time out and fail.
		_ = subscription.Run(ctx, func(e client.Event) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, seen{e, time.Now()})
			close(w.changed)
			w.changed = make(chan struct{})
			return nil
		})
	}()
	return w
}

func (w *watcher) stop() {
	w.cancel()
	<-w.ended
}

// all returns the events so far and a channel that closes when there are more.
func (w *watcher) all() ([]seen, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events[:len(w.events):len(w.events)], w.changed
}

// turnView is the state of a turn, made from its events.
type turnView struct {
	id      string
	started time.Time
	state   string // "" while it runs
	ended   time.Time
	seq     int64  // of the end
	reason  string // stop_reason
	failure string // error.kind
	message string
	lost    []string // undelivered_item_ids
	order   []string
	items   map[string]*itemView
}

type itemView struct {
	id      string
	kind    string
	status  string
	text    string // of messages, thoughts and outputs, with what was streamed
	deltas  int
	created time.Time
	first   time.Time // of the first delta
	last    time.Time
	ended   time.Time // or last changed
	seq     int64
	content map[string]any
}

// params holds the members of events that are used here.
type params struct {
	ItemID     string          `json:"item_id"`
	Status     string          `json:"status"`
	Content    json.RawMessage `json:"content"`
	Delta      struct{ Text string }
	StopReason string `json:"stop_reason"`
	Message    string
	Error      struct{ Kind, Message string }
	Lost       []string `json:"undelivered_item_ids"`
}

// fold makes the view of a turn from its events.
func fold(events []seen, turnID string) *turnView {
	v := &turnView{id: turnID, items: map[string]*itemView{}}
	for _, e := range events {
		if e.TurnID != turnID {
			continue
		}
		var p params
		if json.Unmarshal(e.Params, &p) != nil {
			continue // not an event that is used here
		}
		switch e.Method {
		case "turn/started":
			v.started = e.at
		case "turn/completed", "turn/interrupted", "turn/failed":
			v.state, v.ended, v.seq = strings.TrimPrefix(e.Method, "turn/"), e.at, e.Seq
			v.reason, v.failure, v.message, v.lost = p.StopReason, p.Error.Kind, p.Error.Message, p.Lost
		case "item/created", "item/updated":
			item := v.items[p.ItemID]
			if item == nil {
				item = &itemView{id: p.ItemID, created: e.at, first: e.at, seq: e.Seq}
				v.items[p.ItemID], v.order = item, append(v.order, p.ItemID)
			}
			item.status, item.ended = p.Status, e.at
			item.take(p.Content)
		case "item/delta":
			if item := v.items[p.ItemID]; item != nil {
				if item.deltas++; item.deltas == 1 {
					item.first = e.at
				}
				item.text, item.last = item.text+p.Delta.Text, e.at
			}
		}
	}
	return v
}

// take reads an item's whole content.
func (i *itemView) take(raw json.RawMessage) {
	var c struct {
		Type    string
		Text    string
		Output  string
		Content []struct{ Text string }
	}
	if json.Unmarshal(raw, &c) != nil {
		return
	}
	i.kind, i.text = c.Type, c.Text+c.Output
	for _, part := range c.Content {
		i.text += part.Text
	}
	i.content = map[string]any{}
	_ = json.Unmarshal(raw, &i.content) // decoded without error above
}

// noticed returns the notice with this text in it, "" if there is none. Agents have
// notices of their own.
func (v *turnView) noticed(part string) string {
	for _, notice := range v.of("notice") {
		if text, _ := notice.content["message"].(string); contains(text, part) {
			return text
		}
	}
	return ""
}

// of returns the items of a kind, in order.
func (v *turnView) of(kinds ...string) []*itemView {
	var list []*itemView
	for _, id := range v.order {
		for _, kind := range kinds {
			if v.items[id].kind == kind {
				list = append(list, v.items[id])
			}
		}
	}
	return list
}

// said returns all text of the agent.
func (v *turnView) said() string {
	text := ""
	for _, item := range v.of("agent_message") {
		text += item.text
	}
	return text
}

// words returns how many pieces of the slow text have come.
func (v *turnView) words() int { return strings.Count(v.said(), "word") }

// open returns the items that have not ended.
func (v *turnView) open() []string {
	var list []string
	for _, id := range v.order {
		if s := v.items[id].status; s == "in_progress" || s == "pending" {
			list = append(list, v.items[id].kind+" "+s)
		}
	}
	return list
}
