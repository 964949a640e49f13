package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/rpc/admission"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// doctorHint is for an agent that could not be started.
const doctorHint = "holon doctor checks the agents and says what to do."

// hintedError is an error whose hint depends on the command.
type hintedError struct {
	error
	hint string
}

// Unwrap returns the error without the hint.
func (e *hintedError) Unwrap() error { return e.error }

// hint describes what to do about an error, "" if the error says it itself.
func (g *globals) hint(err error) string {
	var hinted *hintedError
	if errors.As(err, &hinted) {
		return hinted.hint
	}
	if hint := g.hintOfConnection(err); hint != "" {
		return hint
	}
	var refused *client.Error
	if !errors.As(err, &refused) {
		return hintOfSystem(err)
	}
	if refused.HTTPStatus >= 300 && refused.HTTPStatus < 400 {
		return "Redirects are not followed: give the address to which this one leads."
	}
	if g.running != nil && g.running.Name() != "call" && client.IsUnknown(err) {
		return "The server is older than this command. Restart it with this program: holon stop, then holon serve."
	}
	if strings.HasPrefix(refused.Kind, "http_") {
		return g.endpoint().URL + " is another program than Holon, or a proxy that does not reach it. holon serve --listen 127.0.0.1:0 starts a server on a free port; --url names another one."
	}
	switch refused.Kind {
	case "conflict":
		return hintOfConflict(refused.Reason)
	case "invalid_params":
		return hintOfNotOwn(refused)
	case "thread_busy":
		return "A turn of the thread is active. Wait for its end, or end it with: holon interrupt THREAD"
	case client.KindUnauthorized:
		return g.hintOfToken()
	case client.KindForbidden:
		return cmp.Or(g.hintOfNamedToken(refused), hintOfForbidden(refused.Reason))
	case client.KindCursorExpired:
		return fmt.Sprintf("The log begins at %d now: continue with --after %d, or read the thread with: holon call thread/read '{\"thread_id\":\"…\"}'", refused.FirstSeq, max(refused.FirstSeq-1, 0))
	case client.KindCursorAhead:
		return fmt.Sprintf("The log ends at %d; leave --after out for what comes from now on.", refused.LatestSeq)
	case client.KindLogChanged:
		return "The log is another one now (restored, or another server): start over with --after 0."
	case "agent_not_found":
		if name := g.presetMeant(); name != "" && !strings.Contains(refused.Message, "did you mean") {
			return "holon agents lists the agents; holon serve --agent " + name + " adds this one."
		}
		return "holon agents lists the agents; holon serve --agent NAME adds one."
	case "agent_unsupported":
		if strings.Contains(refused.Message, "inbox/send") {
			return "A mailbox only takes messages: holon inbox send THREAD \"…\""
		}
		return "holon agents shows what each agent can do."
	case "agent_unavailable":
		return doctorHint
	case "thread_not_found":
		return "holon threads lists the threads." + wholeIDs(g.output)
	case "thread_closed":
		return "A closed thread can be read only. Start another with: holon run \"…\""
	case "entry_not_found":
		return "holon inbox THREAD lists the entries; holon inbox --threads lists the threads that have some."
	case "digest_not_found":
		return "holon inbox items THREAD shows in which digest each item is."
	case "timer_not_found":
		return "holon remind list THREAD lists the timers. A timer for one time is gone once it has fired."
	case "subscription_not_found":
		return "holon notify list lists what is sent to people; holon inbox subscriptions THREAD lists what arrives in an inbox."
	case "bridge_not_found":
		return "holon bridge list lists the bridges; holon bridge add makes one."
	case "turn_not_found":
		return "holon turns lists the turns." + wholeIDs(g.output)
	case "item_not_found":
		if strings.Contains(refused.Message, inbox.ErrItemNotFound.Error()) { // the kind is also that of the items of turns
			return "holon inbox items THREAD lists the items of an inbox."
		}
		return "holon respond lists the open questions, holon items all items." + wholeIDs(g.output)
	case "turn_not_active":
		return "It has ended. holon turns lists the turns; another one starts with: holon run --thread THREAD \"…\""
	case "thread_paused":
		return "holon resume THREAD ends its pause."
	case client.KindUnavailable:
		return "The server is starting or stopping; try again in a moment."
	case "storage_full":
		return "Make space on the disk of the data directory: the server continues by itself."
	case "storage_failed":
		return "Check the disk first, then restart the server: until then it writes nothing."
	}
	return ""
}

// presetMeant returns the preset that --agent has probably meant; "" = none.
func (g *globals) presetMeant() string {
	if g.running == nil {
		return ""
	}
	flag := g.running.Flags().Lookup("agent")
	if flag == nil || !flag.Changed {
		return ""
	}
	return nearest.Of(flag.Value.String(), config.PresetNames())
}

// wholeIDs describes how things are named for programs, in this format of output.
func wholeIDs(output string) string {
	if output == "" || output == "text" {
		return ""
	}
	return " With -o " + output + " a name is a whole id."
}

// hintOfNotOwn describes what a turn for another thread needs that cannot run where it was wanted.
func hintOfNotOwn(refused *client.Error) string {
	switch {
	case refused.Reason != turns.ReasonNotOwn:
		return ""
	case strings.Contains(refused.Message, "inbox/send"):
		return "A message can go there: holon inbox send THREAD \"…\""
	case strings.Contains(refused.Message, "background"):
		return "With --background the turn runs in that thread, and nothing waits for it. Without --thread it gets a child thread."
	}
	return ""
}

// hintOfConflict returns the hint for a state that does not allow a request.
func hintOfConflict(reason string) string {
	switch reason {
	case "chain":
		return "A turn of a person begins anew: holon run --thread THREAD \"…\""
	case "reviewed", "continued":
		return "holon review TURN shows the verdict, and which turn continues it."
	case "not_in_review":
		return "holon review lists the turns that wait for a verdict."
	case "attempt":
		return "The turn was tried again meanwhile: look at it once more with holon review TURN."
	}
	return ""
}

// hintOfForbidden returns the hint for a request that is not allowed. A lease that is not
// valid has no reason, and none is needed.
func hintOfForbidden(reason string) string {
	switch reason {
	case "agent_token":
		return `HOLON_TOKEN is the token of an agent. It is for the agent's own thread and the threads below it: --thread "$HOLON_THREAD_ID", --parent "$HOLON_THREAD_ID".`
	case "target":
		return "The owner of the server can add a target to the bridge: its member targets."
	case "console":
		return "This token is that of one browser. Use the one that it was signed in with."
	case "code":
		return "A code is for a browser, to sign in once. Use a token of the server."
	case string(admission.ReasonHost), string(admission.ReasonOrigin), string(admission.ReasonSecFetchSite):
		return "The server refuses this Host or Origin; see --allow-host and --allow-origin of holon serve."
	}
	return ""
}

// called returns the command that calls this program, holon if a shell finds that.
func called(g *globals) string {
	if !strings.ContainsRune(g.program, filepath.Separator) {
		return "holon"
	}
	if _, err := exec.LookPath("holon"); err == nil {
		return "holon"
	}
	if strings.ContainsRune(g.program, ' ') {
		return inQuotes(g.program)
	}
	return timeline.OneLine(g.program)
}

// startHint describes how to start a server on a data directory, which is named unless it is the
// one by default.
func (g *globals) startHint(data string) string {
	text := "Start one with: " + called(g) + " serve"
	if g.loaded == nil || data == g.loaded.Data && g.loaded.Sources["data"].Origin == config.FromDefault {
		return text
	}
	text += " --data " + data
	if given := g.env("HOLON_DATA"); given != "" && !filepath.IsAbs(given) && g.loaded.Sources["data"].Origin == config.FromEnv {
		text += fmt.Sprintf("\n  HOLON_DATA is %s, a relative path: it names another directory in every working directory. Use an absolute path.", given)
	}
	return text
}

// startAgainHint describes how to start the server again that was found at source: on its own
// data directory.
func startAgainHint(g *globals, source string) string {
	if dir := filepath.Dir(source); client.ServerFile(dir) == source || g.loaded == nil {
		return g.startHint(dir)
	}
	return g.startHint(g.loaded.Data)
}

// hintOfSystem returns the hint for an error of the system or of another process.
func hintOfSystem(err error) string {
	var locked *sqlite.LockedError
	var emptied *sqlite.EmptyError
	var file *fs.PathError
	switch {
	case errors.As(err, &locked):
		return "A data directory has one server. Stop that one with holon stop, or name another directory with --data DIR."
	case errors.Is(err, syscall.EADDRINUSE):
		return "Another program listens there: stop it, or choose another address with --listen; --listen 127.0.0.1:0 takes a free port."
	case errors.Is(err, ledger.ErrStorageFull), errors.Is(err, syscall.ENOSPC):
		return "Make space on that disk, or name a place on another one."
	case errors.As(err, &file) && file.Op == "mkdir":
		return "No directory can be made there: name another one with --data DIR."
	case errors.As(err, &file) && (errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)):
		return "Let this user read and write it, or name another place (--data DIR, --config FILE)."
	case errors.As(err, &emptied):
		return "Look at the disk, and continue from a backup in a new directory: holon restore FILE --data NEWDIR. To begin a new log here instead, remove " + emptied.Path
	case sqlite.Damaged(err):
		return "That file is damaged. Keep it, check the disk, and continue from a backup in a new directory: holon restore FILE --data NEWDIR"
	}
	return ""
}
