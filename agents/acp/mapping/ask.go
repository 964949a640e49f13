package mapping

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// ErrNoQuestion is wrapped by the error of Permission and Elicitation for a
// request that cannot be answered, such as one without options.
var ErrNoQuestion = errors.New("the agent's request is no question that can be answered")

var errNoObject = errors.New("it is no JSON object")

// Permission maps the params of session/request_permission. The caller emits
// the ops before it asks the question: the tool call may first be seen here.
// With an error the ops hold the request as an extension item, and the caller
// answers the agent with -32602.
func (s *Session) Permission(params jsontext.Value) (ops []items.Op, q items.PermissionRequest, err error) {
	f, err := fieldsOf(params)
	if err != nil {
		return s.unasked("session/request_permission", params, errNoObject)
	}
	options, whole := optionsOf(f)
	if len(options) == 0 {
		return s.unasked("session/request_permission", params, errors.New("it has no options"))
	}
	s.messages.beside()
	q = items.PermissionRequest{
		Type: items.KindPermissionRequest, Title: f.text("title"), Description: f.text("description"),
		Subject: items.Subject{Type: "other"}, Options: options,
	}
	subject := f.object("subject") // version 2
	call := f.object("toolCall")
	if call == nil {
		call = subject.object("toolCall")
	}
	switch {
	case call.text("toolCallId") != "":
		whole = s.calls.ask(&q, call, params) && whole
	case subject != nil:
		q.Subject.Type = subject.text("type")
		q.Subject.Command, q.Subject.Cwd = subject.text("command"), subject.text("cwd")
		if c := s.calls.byID[subject.text("toolCallId")]; c != nil {
			q.Subject.ItemID = c.item
		}
		whole = whole && q.Subject.Type == "command"
	default:
		whole = false
	}
	q.Title = cmp.Or(q.Title, "The agent asks for a permission")
	if why := air(f).object("permission").text("description"); why != "" { // codex-acp, claude-agent-acp
		q.Description = strings.TrimPrefix(q.Description+"\n"+why, "\n")
	}
	if !whole {
		s.keep("session/request_permission", params) // it says more than the question
	}
	return s.out.take(), q, nil
}

// Answered records the answer to a permission that Permission has mapped. A
// refused call ends declined, whether the agent reports it as failed or does
// not end it.
func (s *Session) Answered(q items.PermissionRequest, a items.Answer) {
	if a.Status != items.StatusDeclined || q.Subject.ItemID == "" {
		return
	}
	s.calls.refuse(q.Subject.ItemID)
}

// optionsOf reads the options; ok is false if one had to be left out.
func optionsOf(f fields) (options []items.Option, ok bool) {
	list, ok := f.list("options")
	for _, raw := range list {
		of, err := fieldsOf(raw)
		o := items.Option{OptionID: of.text("optionId"), Name: of.text("name", "optionId"), Kind: of.text("kind")}
		if err != nil || o.OptionID == "" {
			ok = false
			continue
		}
		if o.Kind == "" {
			o.Kind, ok = "other", false
		}
		options = append(options, o)
	}
	return options, ok
}

func (s *Session) unasked(method string, params jsontext.Value, why error) ([]items.Op, items.PermissionRequest, error) {
	s.keep(method, params)
	return s.out.take(), items.PermissionRequest{}, fmt.Errorf("%s: %w: %w", method, ErrNoQuestion, why)
}

// PermissionReply returns the result of session/request_permission for an answer:
// the option that was chosen, by a person or at the timeout, else cancelled.
func PermissionReply(a items.Answer) jsontext.Value {
	if a.Outcome.OptionID == "" || a.Outcome.Type != items.OutcomeSelected && a.Outcome.Type != items.OutcomeExpired {
		return jsontext.Value(`{"outcome":{"outcome":"cancelled"}}`)
	}
	id, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(a.Outcome.OptionID, "\uFFFD"))
	return jsontext.Value(`{"outcome":{"outcome":"selected","optionId":` + string(id) + `}}`)
}

// Elicitation maps the params of elicitation/create (a draft; formerly
// session/elicitation), as Permission does.
func (s *Session) Elicitation(params jsontext.Value) (ops []items.Op, q items.Question, err error) {
	f, err := fieldsOf(params)
	q = items.Question{Type: items.KindQuestion, Message: f.text("message"), URL: f.text("url")}
	for _, name := range []string{"requestedSchema", "schema"} {
		if q.Schema == nil && f.object(name) != nil {
			q.Schema = clean(f[name])
		}
	}
	if err != nil {
		err = errNoObject
	} else if q.URL == "" && q.Schema == nil {
		err = errors.New("it has neither a schema nor a url")
	}
	if err != nil {
		ops, _, err = s.unasked("elicitation/create", params, err)
		return ops, items.Question{}, err
	}
	q.Message = cmp.Or(q.Message, "The agent asks a question")
	s.messages.beside()
	return s.out.take(), q, nil
}

// ElicitationReply returns the result of elicitation/create for an answer to q. An
// answer that is no object becomes the value of the schema's only property, or
// of a property named answer.
func ElicitationReply(q items.Question, a items.Answer) jsontext.Value {
	switch {
	case a.Status == items.StatusDeclined:
		return jsontext.Value(`{"action":"decline"}`)
	case a.Status != items.StatusCompleted:
		return jsontext.Value(`{"action":"cancel"}`)
	case !present(a.Answer):
		return jsontext.Value(`{"action":"accept"}`)
	}
	content := a.Answer
	if content.Kind() != '{' {
		name := "answer"
		schema, _ := fieldsOf(q.Schema)
		if properties := schema.object("properties"); len(properties) == 1 {
			for only := range properties {
				name = only
			}
		}
		content, _ = json.Marshal(map[string]jsontext.Value{name: content}, jsontext.AllowInvalidUTF8(true))
	}
	return jsontext.Value(`{"action":"accept","content":` + string(content) + `}`)
}
