package servers

import (
	"slices"

	"github.com/seed82539d15/holon/rpc/client"
)

// Of reports whether the server at a URL has the log of a data directory; logID is the log
// that it says it has, or "": then the address decides. It may run elsewhere, behind a proxy
// or on a copy of the directory: Here knows that.
func Of(data, url, logID string) bool {
	record, err := client.ReadServerFile(data)
	return err == nil && (logID != "" && record.LogID == logID || logID == "" && serves(record, url))
}

// Here reports whether the server at a URL, which says that it has this log, is a process
// of this user on this machine: the one of the data directory, or another one of the
// registry. Only such a server has the directories that a terminal of this user has. An
// address alone proves nothing: that of a tunnel or of a container's port is of this
// machine too.
func Here(registry Registry, data, url, logID string) bool {
	is := func(r client.ServerRecord) bool { return logID != "" && r.LogID == logID && serves(r, url) }
	if running, err := Find(data); err == nil && is(running.ServerRecord) {
		return true
	}
	return slices.ContainsFunc(registry.List(), func(e Entry) bool { return is(e.ServerRecord) })
}

func serves(r client.ServerRecord, url string) bool {
	return slices.ContainsFunc(r.URLs, func(of string) bool { return client.SameURL(of, url) })
}
