package api

import "reflect"

// Scope says which threads a method is about. Every method declares one.
type Scope string

// The scopes. A request of ScopeLog that names threads is about those. turn/claim
// is of ScopeLog and names none: the agent's oldest waiting turn may be of any
// thread.
const (
	ScopeServer Scope = "server" // no thread: the server itself
	ScopeLog    Scope = "log"    // all threads
	ScopeThread Scope = "thread" // the thread of thread_id, "" for a new or the default one
	ScopeTurn   Scope = "turn"   // the thread of the turn, also where a lease names it
	ScopeItem   Scope = "item"   // the thread of the item
)

func ofServer(m *Method) { m.Scope = ScopeServer }
func ofLog(m *Method)    { m.Scope = ScopeLog }
func ofThread(m *Method) { m.Scope = ScopeThread }
func ofTurn(m *Method)   { m.Scope = ScopeTurn }
func ofItem(m *Method)   { m.Scope = ScopeItem }

// Named are the ids of what a request is about, as its params name it; "" and nil
// for none. ThreadIDs has the parent of a new thread or turn, too, and the owner of
// child turns: what is asked for concerns that thread. Its turn may wait for the new
// one, its inbox gets the end of it, and its agent is told.
type Named struct {
	ThreadIDs []string
	TurnID    string
	ItemID    string

	members []string // what the params call each of ThreadIDs
}

// threadMembers are the members that shape.ids finds, if they name a thread.
var threadMembers = map[int]string{
	idThread: "thread_id", idNewThread: "new_thread_id", idParent: "parent.thread_id", idOwner: "owner_thread_id", idParentThread: "parent_thread_id",
}

// named returns the ids in params of this shape.
func (s *shape) named(p reflect.Value) (n Named) {
	n.TurnID, n.ItemID = s.id(p, idTurn), s.id(p, idItem)
	for _, which := range []int{idThread, idNewThread, idParent, idOwner, idParentThread} {
		if id := s.id(p, which); id != "" {
			n.ThreadIDs, n.members = append(n.ThreadIDs, id), append(n.members, threadMembers[which])
		}
	}
	for _, at := range s.threads {
		list, _ := p.FieldByIndex(at.index).Interface().([]string)
		for i, id := range list {
			n.ThreadIDs, n.members = append(n.ThreadIDs, id), append(n.members, indexed(at.name, i))
		}
	}
	return n
}

// id returns one of the ids of the shape in params; "" if it is absent.
func (s *shape) id(p reflect.Value, which int) string {
	at := s.ids[which]
	if at == nil {
		return ""
	}
	f, err := p.FieldByIndexErr(at)
	if err != nil { // within a struct that is absent
		return ""
	}
	if f.Kind() == reflect.Pointer && !f.IsNil() {
		f = f.Elem()
	}
	if f.Kind() != reflect.String {
		return ""
	}
	return f.String()
}
