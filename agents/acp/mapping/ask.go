package mapping

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// ErrNoQuestion is wrapped by what Permission and Elicitation return for a
// request that nobody could answer, such as one without options.
var ErrNoQuestion = errors.New("the agent's request is no question that can be answered")

// Permission maps the params of session/request_permission. The ops are to be
// emitted before the question is asked: the tool call may be first seen here.
// With an error the ops hold the request as an extension item, and the agent
// is to be answered with -32602.
func (s *Session) Permission(params jsontext.Value) (ops []items.Op, q items.PermissionRequest, err error) {
	return []items.Op{extension("session/request_permission", params)}, q, ErrNoQuestion
}

// PermissionReply is the result of session/request_permission for an answer.
func PermissionReply(a items.Answer) jsontext.Value { return nil }

// Elicitation maps the params of elicitation/create (a draft; before it was
// named session/elicitation), as Permission does.
func (s *Session) Elicitation(params jsontext.Value) (ops []items.Op, q items.Question, err error) {
	return []items.Op{extension("elicitation/create", params)}, q, ErrNoQuestion
}

// ElicitationReply is the result of elicitation/create for an answer to q.
func ElicitationReply(q items.Question, a items.Answer) jsontext.Value { return nil }
