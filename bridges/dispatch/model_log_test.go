package dispatch

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/notify"
)

// naiveLog is what the committed log says, read in the most direct way: no rows, no
// indexes, no package bridges.
type naiveLog struct {
	events  []*naiveEvent // by seq, from 1
	markers []*naiveEvent
	damaged map[string]bool  // turns whose row does not agree with their end now
	broken  map[string]bool  // turns whose row did not at some time
	settled map[string]int64 // by item: the seq since which it waits for nobody
}

type naiveEvent struct {
	seq      int64
	method   string
	threadID string
	turnID   string
	lineage  []notify.Ref
	body     naiveBody
}

type naiveBody struct {
	ItemID  string `json:"item_id"`
	Status  string `json:"status"`
	Content struct {
		Type string `json:"type"`
	} `json:"content"`
	Review *struct {
		State string `json:"state"`
	} `json:"review"`
	ContinuedBy string `json:"continued_by"`
	Step        string `json:"step"`
	NewEpoch    int    `json:"new_epoch"`

	BridgeID       string `json:"bridge_id"`
	SubscriptionID string `json:"subscription_id"`
	DeliveryID     string `json:"delivery_id"`
	SubjectSeq     int64  `json:"subject_seq"`
	FromSeq        int64  `json:"from_seq"`
	ToSeq          int64  `json:"to_seq"`
}

func newNaiveLog() *naiveLog {
	return &naiveLog{damaged: map[string]bool{}, broken: map[string]bool{}, settled: map[string]int64{}}
}

func (n *naiveLog) head() int64 { return int64(len(n.events)) }

func (n *naiveLog) add(e notify.Event) {
	var h notify.Header
	v := &naiveEvent{seq: e.Seq, method: e.Method}
	if err := json.Unmarshal(e.Params, &h); err != nil {
		panic(err)
	}
	if err := json.Unmarshal(e.Params, &v.body); err != nil {
		panic(err)
	}
	v.threadID, v.turnID, v.lineage = h.ThreadID, h.TurnID, h.Lineage
	if v.seq != n.head()+1 {
		panic("the log has a hole")
	}
	n.events = append(n.events, v)
	switch {
	case v.method == notify.StreamRewind:
		n.markers = append(n.markers, v)
	case v.method == notify.ItemDeleted, v.method == notify.ItemUpdated && v.body.Status != "pending":
		if n.settled[v.body.ItemID] == 0 {
			n.settled[v.body.ItemID] = v.seq
		}
	}
}

func (n *naiveLog) at(seq int64) *naiveEvent { return n.events[seq-1] }

// supersededBy is the first marker that has superseded the event; 0 = it is live.
func (n *naiveLog) supersededBy(e *naiveEvent) int64 {
	for _, m := range n.markers {
		if m.seq > e.seq && m.turnID == e.turnID && slices.ContainsFunc(e.lineage, func(r notify.Ref) bool {
			return r.Step == m.body.Step && r.Epoch < m.body.NewEpoch
		}) {
			return m.seq
		}
	}
	return 0
}

// accepted reports whether the event is an accepted end.
func (e *naiveEvent) accepted() bool {
	switch e.method {
	case notify.TurnCompleted, notify.TurnFailed, notify.TurnInterrupted:
		return e.body.Review == nil
	case notify.TurnReviewed:
		return e.body.ContinuedBy == ""
	}
	return false
}

// chosenAs says what a subscription makes of the event; "" = it does not choose it.
func (e *naiveEvent) chosenAs(s *bridges.Subscription) bridges.EventType {
	has := func(on bridges.On) bool { return slices.Contains(s.On, on) }
	question := e.body.Content.Type == "permission_request" || e.body.Content.Type == "question"
	switch {
	case s.ThreadID != "" && s.ThreadID != e.threadID:
		return ""
	case e.method == notify.StreamRewind:
		return bridges.TypeSuperseded
	case has(bridges.OnFinal) && e.accepted():
		return bridges.TypeFinal
	case has(bridges.OnQuestions) && e.method == notify.ItemCreated && question && e.body.Status == "pending":
		return bridges.TypeQuestion
	case has(bridges.OnQuestions) && (e.method == notify.ItemUpdated && question && e.body.Status != "pending" || e.method == notify.ItemDeleted):
		return bridges.TypeAnswer
	case has(bridges.OnProgress) && (e.method == notify.TurnStarted || e.method == notify.StepStarted || e.method == notify.StepEnded):
		return bridges.TypeProgress
	case has(bridges.OnProgress) && s.BridgeID == modelChat && e.ends() && !slices.Contains(s.Methods, e.method): // it changes the message
		return bridges.TypeProgress
	case slices.Contains(s.Methods, e.method):
		return bridges.TypeEvent
	}
	return ""
}

// ends reports whether the event may end a turn.
func (e *naiveEvent) ends() bool {
	return e.method == notify.TurnCompleted || e.method == notify.TurnFailed || e.method == notify.TurnInterrupted || e.method == notify.TurnReviewed
}

// about lists the events of a subscription with this method.
func (n *naiveLog) about(method, subscriptionID string) (list []*naiveEvent) {
	for _, e := range n.events {
		if e.method == method && e.body.SubscriptionID == subscriptionID {
			list = append(list, e)
		}
	}
	return list
}

// ofDelivery reports whether an event is about deliveries, cursors or bridges.
func ofDelivery(method string) bool {
	kind, _, _ := strings.Cut(method, "/")
	return kind == "delivery" || kind == "cursor" || kind == "bridge" || kind == "subscription"
}
