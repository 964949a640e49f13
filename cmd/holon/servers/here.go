package servers

import (
	"slices"

	"github.com/seed82539d15/holon/rpc/client"
)

// Here reports whether the server at a URL, which says that it has this log, is a process
// of this user on this machine: the one of the data directory, or another one of the
// registry. Only such a server has the directories that a terminal of this user has. An
// address alone proves nothing: that of a tunnel or of a container's port is of this
// machine too.
func Here(registry Registry, data, url, logID string) bool {
	is := func(r client.ServerRecord) bool {
		return logID != "" && r.LogID == logID && slices.ContainsFunc(r.URLs, func(of string) bool { return client.SameURL(of, url) })
	}
	if running, err := Find(data); err == nil && is(running.ServerRecord) {
		return true
	}
	return slices.ContainsFunc(registry.List(), func(e Entry) bool { return is(e.ServerRecord) })
}
