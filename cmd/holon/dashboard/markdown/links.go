package markdown

import "strings"

// namesUser reports whether an address has a user in front of its host. In
// https://a.example@b.example the host is b.example: people read the user as the host.
// Terminals and browsers also take addresses with other slashes, or with none.
func namesUser(address string) bool {
	scheme, rest, ok := strings.Cut(address, ":")
	if !ok || strings.EqualFold(scheme, "mailto") {
		return false
	}
	rest = strings.TrimLeft(rest, `/\`)
	if end := strings.IndexAny(rest, `/\?#`); end >= 0 {
		rest = rest[:end]
	}
	return strings.Contains(rest, "@")
}

// ofWeb reports whether people write such an address by itself. Others, such as that of
// map<std::string>, get their brackets.
func ofWeb(address string) bool {
	scheme, _, ok := strings.Cut(address, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "ftp", "mailto":
		return true
	}
	return !ok
}
