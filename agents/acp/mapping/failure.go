package mapping

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/mend"
	"github.com/seed82539d15/holon/items"
)

// Failure is what an agent says of something that failed beside its answer, in an
// extension of codex-acp and claude-agent-acp: _meta.jetbrains.air.sessionFailure of
// a prompt's result or of a session_info_update. The agent may have ended the prompt
// as if all was well.
type Failure struct {
	ID       string // the same for all that is said of one failure
	Severity string // error, warning, or a word of the agent's own
	Category string // such as access, connection, limit, request, service; "" = unknown
	Title    string
	Details  string
	Actions  []string // what the user can do about it, such as retry, login, new_session
}

// The values that are read.
const (
	severityError = "error"
	actionRetry   = "retry"
	actionLogin   = "login"
)

// FailureIn finds the failure in the result of a prompt that has failed. ok is false
// if there is none, or only a warning.
func FailureIn(result jsontext.Value) (failure Failure, ok bool) {
	f, err := fieldsOf(result)
	if err != nil {
		return Failure{}, false
	}
	failure, ok = failureOf(f)
	return failure, ok && failure.Severity == severityError
}

// Retry reports whether the agent says that the same prompt may succeed later.
func (f Failure) Retry() bool { return slices.Contains(f.Actions, actionRetry) }

// Login reports whether the user has to log in.
func (f Failure) Login() bool { return slices.Contains(f.Actions, actionLogin) }

// Error implements error.
func (f Failure) Error() string {
	text := cmp.Or(f.Title, "no reason is given")
	if f.Details != "" {
		text += ": " + f.Details
	}
	if f.Category != "" && f.Category != "unknown" {
		text += " (" + f.Category + ")"
	}
	return text
}

// failureOf reads the failure in the _meta of a message.
func failureOf(f fields) (failure Failure, ok bool) {
	said := air(f).object("sessionFailure")
	if said == nil {
		return Failure{}, false
	}
	failure = Failure{
		ID: said.text("id"), Severity: cmp.Or(said.text("severity"), severityError), Category: said.text("category"),
		Title: said.text("title"), Details: said.text("details"),
	}
	list, _ := said.list("actions")
	for _, raw := range append(list, said["action"]) {
		if action, isText := textOf(raw); isText {
			failure.Actions = append(failure.Actions, action)
		}
	}
	return failure, true
}

// air returns the part of _meta in which agents of JetBrains AIR have their extensions.
func air(f fields) fields { return f.object("_meta").object("jetbrains").object("air") }

// failures tells of failures that do not end the prompt.
type failures struct {
	out  *output
	told string // the newest failure that has a notice, "" = none
}

// tell makes a notice of the failure in a message, if there is one. What the agent
// says of it later, as at each try to reach its model, is progress.
func (l *failures) tell(f fields) {
	failure, ok := failureOf(f)
	if !ok {
		return
	}
	text := strings.ToValidUTF8(failure.Error(), mend.Replacement)
	if key := failure.Severity + " " + failure.ID; failure.ID == "" || key != l.told {
		l.told = key
		l.out.emit(items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewNotice(failure.Severity, text)})
		return
	}
	l.out.emit(items.Progress{Message: text})
}
