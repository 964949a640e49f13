package bridges

import (
	"fmt"
	"strings"
)

// ParseTarget reads a target in the form in which people write one: CHANNEL or
// CHANNEL/THREAD_TS of Slack, OWNER/REPOSITORY#NUMBER of GitHub or the address of an
// issue, a TOPIC of ntfy. "" is the zero target.
func ParseTarget(kind Kind, text string) (t Target, err error) {
	if text == "" {
		return t, nil
	}
	switch kind {
	case KindNtfy:
		t.Topic = text
	case KindSlack:
		t.Channel, t.ThreadTS, _ = strings.Cut(text, "/")
	case KindGitHub:
		where := text
		if _, path, isURL := strings.Cut(text, "://"); isURL { // https://github.com/octo/hello/pull/12
			parts := strings.Split(strings.TrimRight(path, "/"), "/")
			if len(parts) != 5 || parts[3] != "issues" && parts[3] != "pull" {
				return t, fmt.Errorf("%s: give OWNER/REPOSITORY#NUMBER, or the address of an issue or pull request", text)
			}
			where = parts[1] + "/" + parts[2] + "#" + parts[4]
		}
		repository, number, _ := strings.Cut(where, "#")
		if _, err := fmt.Sscanf(number, "%d", &t.Number); err != nil || fmt.Sprint(t.Number) != number {
			return t, fmt.Errorf("%s: give OWNER/REPOSITORY#NUMBER, such as octo/hello#12", text)
		}
		t.Repository = repository
	default:
		return t, fmt.Errorf("a bridge of kind %s has its target in itself", kind)
	}
	return t, nil
}

// Text returns the target in the form that ParseTarget reads. It is not String: the digest of
// a target is made of how it prints.
func (t Target) Text() string {
	switch {
	case t.Repository != "":
		return fmt.Sprintf("%s#%d", t.Repository, t.Number)
	case t.ThreadTS != "":
		return t.Channel + "/" + t.ThreadTS
	case t.Channel != "":
		return t.Channel
	}
	return t.Topic
}
