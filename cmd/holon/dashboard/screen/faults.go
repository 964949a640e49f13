package screen

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
)

// kinds are sentences for refusals whose message a person could not use.
var kinds = map[string]string{
	"already_resolved":       "Somebody else has answered already, or its turn has ended.",
	"turn_not_active":        "Its turn has ended.",
	"thread_not_found":       "There is no such thread any more.",
	"turn_not_found":         "There is no such turn any more.",
	"item_not_found":         "It was withdrawn.",
	"agent_not_found":        "The server has no agent of this name.",
	client.KindUnavailable:   "The server is starting or stopping. Try it again in a moment.",
	client.KindOverloaded:    "The server has too much to do. Try it again in a moment.",
	client.KindUnauthorized:  "The server does not accept the token.",
	client.KindCursorExpired: "The server does not keep what was shown: it is read again.",
	client.KindCursorAhead:   "The server has another log now: it is read again.",
	client.KindLogChanged:    "The server has another log now: it is read again.",
	"storage_full":           "The disk of the server is full.",
	"storage_failed":         "The disk of the server has failed.",
	"internal":               "Something went wrong in the server: its log says what.",
}

// Words puts an error in a sentence for a person, without codes. Errors of the
// connection say what has become of the server.
func Words(err error) string {
	var refused *client.Error
	if errors.As(err, &refused) {
		if text := kinds[refused.Kind]; text != "" && (refused.Kind != client.KindOverloaded || refused.Retryable) {
			return text
		}
		return sentence(strings.TrimPrefix(refused.Message, "cwd: ")) // the form calls it Directory
	}
	var silent *client.SilentError
	var none *client.NoServerError
	switch {
	case errors.As(err, &silent), errors.Is(err, context.DeadlineExceeded):
		return "The server does not answer."
	case client.IsWrongServer(err):
		return sentence(err.Error())
	case errors.As(err, &none), gone(err):
		return "The server is gone."
	}
	return sentence(err.Error())
}

// gone reports whether an error is one of a connection that broke or was not made.
func gone(err error) bool {
	var unreachable *client.UnreachableError
	var closed *client.ClosedError
	var network net.Error
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, fs.ErrNotExist, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, client.ErrSessionClosed, client.ErrEnded} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return errors.As(err, &unreachable) || errors.As(err, &closed) || errors.As(err, &network)
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	text = strings.TrimRight(OneLine(text), " ")
	if text == "" {
		return "Something went wrong."
	}
	if c := text[0]; 'a' <= c && c <= 'z' {
		text = string(c-'a'+'A') + text[1:]
	}
	if !strings.ContainsAny(text[len(text)-1:], ".?!") {
		text += "."
	}
	return text
}

// Offline reports that the connection is lost and what happens now, in as many words as
// fit. since may be zero, why nil.
func Offline(since time.Time, why error, width int) string {
	what := "The server is gone"
	if why != nil {
		what = strings.TrimSuffix(Words(why), ".")
	}
	at := ""
	if !since.IsZero() {
		at = " since " + since.Format("15:04:05")
	}
	return Widest(width, what+at+"; trying again. A key tries at once.", what+at+"; trying again", what+"; trying again", "Offline; trying again")
}

// Unstored reports that the server cannot store anything, in as many words as fit. why is the
// kind of error that commands get.
func Unstored(why string, width int) string {
	if why == "storage_full" {
		what := "The server's disk is full"
		return Widest(width, what+": nothing new is stored until there is space.", what+": nothing new is stored", what)
	}
	what := "The server's disk has failed"
	return Widest(width, what+": nothing new is stored until it is mended.", what+": nothing new is stored", what)
}

// Widest returns the first text that fits in width columns, else the last one, cut. So the
// same thing is said in fewer words where there is less room.
func Widest(width int, texts ...string) string {
	for _, text := range texts {
		if Width(text) <= width {
			return text
		}
	}
	return Fit(texts[len(texts)-1], width)
}
