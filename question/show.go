package question

import (
	"strconv"
	"strings"
)

// Rows returns the lines as they are written where there are no colours. Every line of a text
// that is not ours begins with a sign, so that none can be taken for another.
func Rows(lines []Line) []string {
	out := make([]string, 0, len(lines))
	for i, l := range lines {
		out = append(out, strings.TrimRight(Sign(l.Kind, i > 0 && lines[i-1].Kind == l.Kind)+l.Text, " "))
	}
	return out
}

// Sign returns what is in front of a line, in two columns or none. follows says that the line
// before is of the same kind.
func Sign(kind Kind, follows bool) string {
	switch kind {
	case Command:
		if follows {
			return "│ "
		}
		return "$ "
	case Message:
		return "│ "
	case Says:
		return "> "
	case File:
		return "± "
	case Added:
		return "+ "
	case Removed:
		return "- "
	case Same, Input:
		return "  "
	case Gap:
		return "⋯ "
	case Note:
		return "! "
	}
	return "" // our own words begin it
}

// More describes how many lines are not shown, such as "… 4,936 more lines".
func More(n int) string { return "… " + plural(n, "more line") }

func plural(n int, one string) string {
	if n != 1 {
		one += "s"
	}
	return grouped(n) + " " + one
}

// grouped returns a number with a comma before each three digits.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// Allows reports whether an option of this kind lets the agent do what it asks for: every
// one that does not reject.
func Allows(kind string) bool { return !strings.HasPrefix(kind, "reject") }

// Once reports whether choosing an option of this kind is an answer to this question alone,
// or lets nothing happen: allow_once, and every kind that rejects. What another kind allows,
// and for how long, only the agent knows.
func Once(kind string) bool { return kind == "allow_once" || !Allows(kind) }

// Choose returns the index of the option that a verb (allow, reject) means among those of these
// kinds: once is preferred to always; -1 = none.
func Choose(kinds []string, verb string) int {
	for _, prefix := range []string{verb + "_once", verb} {
		for i, kind := range kinds {
			if strings.HasPrefix(kind, prefix) {
				return i
			}
		}
	}
	return -1
}

// Longer describes in a word or two what Widens says in a sentence.
func Longer(kind string) string {
	switch {
	case strings.HasSuffix(kind, "_always"):
		return "from now on"
	case !Once(kind):
		return "perhaps for longer"
	}
	return ""
}

// Widens describes in words what an option allows or forbids beyond this one time, "" for
// nothing.
func Widens(kind string) string {
	const whose = "; the agent decides what counts as the same, and for how long"
	switch kind {
	case "allow_always":
		return "from now on the agent does this without asking" + whose
	case "reject_always":
		return "from now on the agent does not ask for this again" + whose
	}
	switch {
	case strings.HasSuffix(kind, "_always"):
		return "this holds from now on, not only this time"
	case !Once(kind):
		return "only the agent knows what this allows, and for how long"
	}
	return ""
}
