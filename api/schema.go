package api

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// Extension keywords in schemas. Enumerations are open (docs/protocol.md,
// section 4), so a schema lists the known values and does not demand them.
const (
	knownValues = "x-known-values"
	extraName   = "x-type" // the schema's name in TypeScript
)

// openEnum returns the schema of a string with known values.
func openEnum[T ~string](values ...T) *jsonschema.Schema {
	known := make([]any, len(values))
	for i, v := range values {
		known[i] = string(v)
	}
	return &jsonschema.Schema{Type: "string", Extra: map[string]any{knownValues: known, typeName: typeNameOf(reflect.TypeFor[T]())}}
}

// typeSchemas are the schemas of types that cannot be inferred from Go.
var typeSchemas = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[notify.Time]():           {Type: "string", Format: "date-time"},
	reflect.TypeFor[jsontext.Value]():        {},
	reflect.TypeFor[threads.State]():         openEnum(threads.States...),
	reflect.TypeFor[threads.TitleBy]():       openEnum(threads.ByClient),
	reflect.TypeFor[turns.State]():           openEnum(turns.States...),
	reflect.TypeFor[turns.Progress]():        openEnum(turns.Starting, turns.Running, turns.Waiting, turns.Interrupting),
	reflect.TypeFor[turns.Origin]():          openEnum(turns.OriginClient, turns.OriginQueue, turns.OriginAgent, turns.OriginRetry, turns.OriginWake),
	reflect.TypeFor[turns.OnBusy]():          openEnum(turns.BusyQueue, turns.BusyReject, turns.BusyInterrupt, turns.BusySteer),
	reflect.TypeFor[turns.Delivery]():        openEnum(turns.Injected, turns.DeliveryQueued),
	reflect.TypeFor[turns.StepStatus]():      openEnum(turns.StepInProgress, turns.StepCompleted, turns.StepInterrupted, turns.StepFailed),
	reflect.TypeFor[turns.Cause]():           openEnum(turns.CauseCrash, turns.CauseTransient, turns.CauseServer, turns.CauseLease, turns.CauseRequest, turns.CauseStep),
	reflect.TypeFor[items.Format]():          openEnum(items.Formats...),
	reflect.TypeFor[turns.ItemVerb]():        openEnum(turns.OpCreate, turns.OpAppend, turns.OpUpdate, turns.OpDelete),
	reflect.TypeFor[turns.OnCrash]():         openEnum(turns.CrashInterrupt, turns.CrashRetry),
	reflect.TypeFor[turns.AttentionPolicy](): openEnum(turns.Blocking, turns.Notify),
	reflect.TypeFor[turns.Detach]():          openEnum(turns.DetachRequested, turns.DetachTimeout, turns.DetachQueued, turns.DetachOwnerEnded, turns.DetachInReview, turns.DetachPromptLimit),
	reflect.TypeFor[turns.CutShort]():        openEnum(turns.CutQueued, turns.CutSteered),
	reflect.TypeFor[turns.ReviewPolicy]():    openEnum(turns.ReviewPolicies...),
	reflect.TypeFor[turns.ReviewState]():     openEnum(append([]turns.ReviewState{turns.ReviewPending}, turns.Verdicts...)...),
	reflect.TypeFor[turns.WaitFor]():         openEnum(turns.WaitAny, turns.WaitAll),
	reflect.TypeFor[turns.By]():              openEnum(turns.ByClient, turns.ByOwner, turns.ByServer),
	reflect.TypeFor[notify.ID]():             {Type: "string"},
	reflect.TypeFor[inbox.Wake]():            openEnum(inbox.WakeIdle, inbox.WakeNone),
	reflect.TypeFor[inbox.WakeWhen]():        openEnum(inbox.WhenSettled, inbox.WhenEach),
	reflect.TypeFor[inbox.AckBy]():           openEnum(inbox.AckTurnEnd, inbox.AckExplicit),
	reflect.TypeFor[inbox.Flush]():           openEnum(inbox.Flushes...),
	reflect.TypeFor[inbox.Breaks]():          openEnum(inbox.BreaksNone, inbox.BreaksBefore, inbox.BreaksAfter),
	reflect.TypeFor[inbox.Reason]():          openEnum(inbox.Reasons...),
	reflect.TypeFor[inbox.EntryKind]():       openEnum(inbox.KindItem, inbox.KindSnapshot),
	reflect.TypeFor[inbox.By]():              openEnum(inbox.ByClient, inbox.ByTurn, inbox.ByAwait, inbox.ByJob),
	reflect.TypeFor[inbox.Stall]():           openEnum(inbox.StallSilent, inbox.StallRate, inbox.StallChain),
	reflect.TypeFor[inbox.WakesState]():      openEnum(inbox.WakesHeld, inbox.WakesStalled),
	reflect.TypeFor[inbox.WakesReason]():     openEnum(inbox.WakesReasons...),
	reflect.TypeFor[bridges.Kind]():          openEnum(bridges.Kinds...),
	reflect.TypeFor[bridges.OnPause]():       openEnum(bridges.PauseWaits, bridges.PauseDrops),
	reflect.TypeFor[bridges.State]():         openEnum(bridges.Active, bridges.Paused, bridges.Held, bridges.Disabled, bridges.Ended, bridges.Deleted),
	reflect.TypeFor[bridges.On]():            openEnum(bridges.Ons...),
	reflect.TypeFor[bridges.Order]():         openEnum(bridges.OrderTurn, bridges.OrderStrict),
	reflect.TypeFor[bridges.DeliveryState](): openEnum(bridges.DeliveryStates...),
	reflect.TypeFor[bridges.EventType]():     openEnum(bridges.EventTypes...),
	reflect.TypeFor[bridges.Outcome]():       openEnum(bridges.Delivered, bridges.Failed, bridges.Refused, bridges.Wait, bridges.Gone),
	reflect.TypeFor[tokens.Role]():           openEnum(tokens.Roles...),
	reflect.TypeFor[tokens.State]():          openEnum(tokens.Live, tokens.Revoked, tokens.Expired, tokens.Restored),
	reflect.TypeFor[tokens.By]():             openEnum(tokens.ByOwner),
	reflect.TypeFor[bridges.By]():            openEnum(bridges.ByClient, bridges.ByServer),
	reflect.TypeFor[bridges.From]():          {Types: []string{"null", "string", "integer"}},
	reflect.TypeFor[SteerMode]():             openEnum(SteerAuto, SteerInterrupt),
	reflect.TypeFor[Order]():                 openEnum(OrderAsc, OrderDesc),
	reflect.TypeFor[ListView]():              openEnum(ViewSummary),
	reflect.TypeFor[turns.SummaryStatus]():   openEnum(turns.SummaryStatuses...),
	reflect.TypeFor[turns.ListStatus]():      openEnum(turns.ListStatuses...),
	reflect.TypeFor[Collapse]():              openEnum(collapses...),
	reflect.TypeFor[StreamContent]():         openEnum(streamContents...),
	reflect.TypeFor[items.Kind]():            openEnum(items.Kinds...),
	reflect.TypeFor[items.Status]():          openEnum(items.Statuses...),
	reflect.TypeFor[Kind]():                  {Type: "string"},
}

func infer(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: typeSchemas})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	describeTypes(s, t)
	return s, nil
}

// paramsSchema returns the schema of a method's params: closed, as the server reads
// them, and with null where null means absent.
func paramsSchema(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := infer(t)
	if err != nil {
		return nil, err
	}
	walk(s, func(s *jsonschema.Schema) {
		if s.Properties["content"] != nil && s.Properties["status"] != nil {
			// The members of each kind are described once, in the results.
			s.Properties["content"] = &jsonschema.Schema{Type: "object", Extra: map[string]any{extraName: "ItemContent"}}
		}
		for name, p := range s.Properties {
			if slices.Contains(s.Required, name) {
				notNull(p)
			} else {
				orNull(p)
			}
			if b, ok := bounds[name]; ok {
				b(p)
			}
		}
	})
	return s, nil
}

// bounds are the constraints that the types of params do not express.
var bounds = map[string]func(*jsonschema.Schema){
	"limit":           between(1, maxLimit),
	"max_lines":       between(1, maxLogLines),
	"after_seq":       func(s *jsonschema.Schema) { s.Minimum = jsonschema.Ptr(0.0) },
	"before_seq":      func(s *jsonschema.Schema) { s.Minimum = jsonschema.Ptr(1.0) },
	"from_position":   func(s *jsonschema.Schema) { s.Minimum = jsonschema.Ptr(0.0) },
	"wait_seconds":    between(0, turns.MaxClaimWait.Seconds()),
	"idempotency_key": func(s *jsonschema.Schema) { s.MinLength, s.MaxLength = jsonschema.Ptr(1), jsonschema.Ptr(maxKeyLength) },
}

func between(least, most float64) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Minimum, s.Maximum = &least, &most }
}

// resultSchema returns the schema of a result or of a notification's params: open,
// since members may be added, and without null except for members that mean
// "never" or "none".
func resultSchema(t reflect.Type) (*jsonschema.Schema, error) {
	if t == reflect.TypeFor[jsontext.Value]() {
		return &jsonschema.Schema{Type: "object"}, nil
	}
	s, err := infer(t)
	if err != nil {
		return nil, err
	}
	nullable := map[string]bool{"last_event_at": true, "paused_at": true, "resumed_at": true, "turn": t == reflect.TypeFor[turns.ClaimResult]()}
	walk(s, func(s *jsonschema.Schema) {
		s.AdditionalProperties = nil
		for name, p := range s.Properties {
			if !nullable[name] {
				notNull(p)
			}
		}
	})
	if err := describeContent(s); err != nil {
		return nil, err
	}
	return s, nil
}

// walk calls f with a schema and all schemas inside it.
func walk(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
	if s == nil {
		return
	}
	f(s)
	for _, p := range s.Properties {
		walk(p, f)
	}
	walk(s.Items, f)
}

func notNull(s *jsonschema.Schema) {
	if i := slices.Index(s.Types, "null"); i >= 0 {
		s.Types = slices.Delete(slices.Clone(s.Types), i, i+1)
		if len(s.Types) == 1 {
			s.Type, s.Types = s.Types[0], nil
		}
	}
}

func orNull(s *jsonschema.Schema) {
	if s.Type != "" {
		s.Types, s.Type = []string{"null", s.Type}, ""
	}
}

// describeContent gives every member content beside a member status the schema
// of an item's content.
func describeContent(s *jsonschema.Schema) error {
	content, err := contentSchema()
	if err != nil {
		return err
	}
	walk(s, func(s *jsonschema.Schema) {
		if s.Properties["content"] != nil && s.Properties["status"] != nil {
			s.Properties["content"] = content
		}
	})
	return nil
}

// contents has one value of each kind of item.
var contents = []items.Content{
	items.UserMessage{}, items.AgentMessage{}, items.Reasoning{}, items.Plan{}, items.ToolCall{},
	items.CommandExecution{}, items.FileChange{}, items.PermissionRequest{}, items.Question{},
	items.Usage{}, items.Notice{}, items.Error{}, items.Extension{},
}

// contentSchema is the schema of an item's content: it has a type, and for a
// known type these members. Unknown types are allowed.
var contentSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{
		Type: "object", Required: []string{"type"},
		Properties: map[string]*jsonschema.Schema{"type": openEnum(items.Kinds...)},
		Extra:      map[string]any{extraName: "ItemContent"},
	}
	for _, c := range contents {
		kind, err := kindSchema(c)
		if err != nil {
			return nil, err
		}
		is := any(string(c.Kind()))
		s.AllOf = append(s.AllOf, &jsonschema.Schema{
			If:   &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"type": {Const: &is}}},
			Then: kind,
		})
	}
	return s, nil
})

func kindSchema(c items.Content) (*jsonschema.Schema, error) {
	s, err := infer(reflect.TypeOf(c))
	if err != nil {
		return nil, err
	}
	walk(s, func(s *jsonschema.Schema) {
		s.AdditionalProperties = nil
		for _, p := range s.Properties {
			notNull(p)
		}
	})
	is := any(string(c.Kind()))
	s.Properties["type"] = &jsonschema.Schema{Const: &is}
	return s, nil
}
