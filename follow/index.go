package follow

import (
	"strings"

	"github.com/seed82539d15/holon/notify"
)

// index finds the followers that want an event: by its thread ("" = those that
// want all threads), then by its method. The time of a look-up does not depend on
// the number of followers that do not want the event.
type index map[string]*topic

// topic has the followers that want events of one thread: by method, by kind
// ("item/"), or for all methods ("").
type topic map[string]map[*Progress]struct{}

// keys returns the keys in a topic of what the follower wants.
func keys(l *Progress) []string {
	methods := l.methods.Methods
	if len(methods) == 0 {
		return []string{""}
	}
	var list []string
	if !l.f.MarkersLater {
		list = append(list, notify.StreamRewind)
	}
	for _, m := range methods {
		list = append(list, strings.TrimSuffix(m, "*"))
	}
	return list
}

func (x index) add(thread string, l *Progress) {
	t := x[thread]
	if t == nil {
		t = &topic{}
		x[thread] = t
	}
	for _, k := range keys(l) {
		if (*t)[k] == nil {
			(*t)[k] = map[*Progress]struct{}{}
		}
		(*t)[k][l] = struct{}{}
	}
}

func (x index) remove(thread string, l *Progress) {
	t := x[thread]
	if t == nil {
		return
	}
	for _, k := range keys(l) {
		if delete((*t)[k], l); len((*t)[k]) == 0 {
			delete(*t, k)
		}
	}
	if len(*t) == 0 {
		delete(x, thread)
	}
}

// find calls f with each follower that wants the event, perhaps twice with some.
func (x index) find(thread, method string, f func(*Progress)) {
	for _, id := range [...]string{"", thread} {
		if t := x[id]; t != nil {
			for _, key := range [...]string{"", method[:strings.IndexByte(method, '/')+1], method} {
				for l := range (*t)[key] {
					f(l)
				}
			}
		}
		if thread == "" {
			break
		}
	}
}
