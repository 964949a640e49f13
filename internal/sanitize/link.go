package sanitize

import (
	"net/url"
	"regexp"
	"strings"
)

// MaxLink is the length of a link, in bytes.
const MaxLink = 2048

// linkForm is what a link may have: printable ASCII, without what programs read in different ways
// or what ends a link where it is shown.
var linkForm = regexp.MustCompile(`^https://[!#-;=?-\[\]_a-z~]+$`)

// linkHost is the form of a host in a link, with its port if it has one. Names in other scripts are
// in their ASCII form, which is what people are shown.
var linkHost = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:[1-9][0-9]{0,4})?$`)

// ValidLinkHost reports whether a link may have the host: a name in lower case, and in ASCII, with a
// port if it is not that of https.
func ValidLinkHost(host string) bool {
	return len(host) <= 255 && linkHost.MatchString(host) && !strings.HasSuffix(host, ":443")
}

// Link makes a link to be shown of an address that others have written: https, without a user, and
// nothing that two programs could understand differently. host is that of the link, as people are
// shown it; ok is false if the address is no such link.
func Link(address string) (link, host string, ok bool) {
	if len(address) > MaxLink || !linkForm.MatchString(address) {
		return "", "", false
	}
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Opaque != "" {
		return "", "", false
	}
	rest, found := strings.CutPrefix(address, "https://"+u.Host)
	if host = strings.ToLower(u.Host); !found || !ValidLinkHost(host) {
		return "", "", false
	}
	return "https://" + host + rest, host, true
}
