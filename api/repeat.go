package api

import (
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// acts marks a method that is no change of the log and does something each time all the
// same: with members, only where one of them is present.
func acts(members ...string) option {
	return func(m *Method) { m.acts, m.actsWith = len(members) == 0, members }
}

// Repeatable reports whether a request may be sent again when its connection was lost
// before the answer came: a read, or a change with an idempotency key. It needs no
// server, and is false for a method that this program does not know.
func Repeatable(method string, params jsontext.Value) bool {
	var members map[string]jsontext.Value
	if len(params) > 0 && json.Unmarshal(params, &members) != nil {
		return false
	}
	present := func(name string) bool { v := members[name]; return len(v) > 0 && v.Kind() != 'n' }
	if present("idempotency_key") {
		return true // a method that takes none refuses the request
	}
	m, known := tableByName()[method]
	return known && !m.Change && !m.acts && !slices.ContainsFunc(m.actsWith, present)
}

// tableByName is the table of methods without a server behind it.
var tableByName = sync.OnceValue(func() map[string]*Method {
	rows := (&Handlers{}).methods()
	byName := make(map[string]*Method, len(rows))
	for i := range rows {
		byName[rows[i].Name] = &rows[i]
	}
	return byName
})
