package hooks

import "sync"

// repository remembers which repository of a source came first.
//
// A group is found by its source and its resource_ref, which is pr:135 in every
// repository. A source is meant for one repository. Where it serves several,
// because the webhook is one of an organisation or an app, or because a second
// repository uses it, the repository goes in front of pr:135: two pull requests
// must never be in one group.
type repository struct {
	mu    sync.Mutex
	first int
}

func (r *repository) prefix(repo object, target string) string {
	id, name := repo.id("id"), repo.text("full_name")
	if id == 0 || name == "" {
		return ""
	}
	if target == "" || target == "repository" {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.first == 0 {
			r.first = id
		}
		if r.first == id {
			return ""
		}
	}
	return name + "#"
}
