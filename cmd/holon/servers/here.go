package servers

import (
	"net"
	"net/url"
	"slices"
	"strings"

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
	is := func(r client.ServerRecord) bool {
		return logID != "" && r.LogID == logID && slices.ContainsFunc(loopback(url), func(url string) bool { return serves(r, url) })
	}
	if running, err := Find(data); err == nil && is(running.ServerRecord) {
		return true
	}
	return slices.ContainsFunc(registry.List(), func(e Entry) bool { return is(e.ServerRecord) })
}

// loopback returns a URL and, if its host is localhost, those of the addresses that this
// stands for: people type the name, and a server enters its address.
func loopback(raw string) []string {
	urls := []string{raw}
	u, err := url.Parse(raw)
	if err != nil || !strings.EqualFold(u.Hostname(), "localhost") {
		return urls
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		u.Host = net.JoinHostPort(host, u.Port())
		urls = append(urls, u.String())
	}
	return urls
}

func serves(r client.ServerRecord, url string) bool {
	return slices.ContainsFunc(r.URLs, func(of string) bool { return client.SameURL(of, url) })
}
