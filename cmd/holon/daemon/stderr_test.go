package daemon

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/api/logring"
	"github.com/seed82539d15/holon/cmd/holon/config"
)

// unread takes nothing before it is read.
type unread struct {
	begun, read chan struct{}
	text        bytes.Buffer
}

func newUnread() *unread { return &unread{begun: make(chan struct{}, 1), read: make(chan struct{})} }

func (u *unread) Write(p []byte) (int, error) {
	select {
	case u.begun <- struct{}{}:
	default:
	}
	<-u.read
	return u.text.Write(p)
}

func TestALogThatIsNotReadDropsInfoBeforeWarningsAndSaysSo(t *testing.T) {
	to := newUnread()
	stderr := OpenStderr(to)
	log, err := (&Options{Config: &config.Config{LogLevel: "info"}, Stderr: stderr}).newLogger(logring.New(1))
	if err != nil {
		t.Fatal(err)
	}
	pad := strings.Repeat("x", 1000)
	log.Warn("first")
	<-to.begun // this write does not end, and has what comes now in none of its bytes
	const each = 2000
	for i := range each {
		log.Info(fmt.Sprint("info ", i, pad))
		if i%4 == 0 {
			log.Warn(fmt.Sprint("warning ", i/4, pad))
		}
		log.Debug("nobody asked for it")
	}
	if d := stderr.Dropped(); d.Warnings != 0 || d.Info == 0 {
		t.Errorf("dropped: %+v", d)
	}
	for i := each / 4; i < each; i++ {
		log.Warn(fmt.Sprint("warning ", i, pad))
	}
	dropped := stderr.Dropped()
	if dropped.Info != each || dropped.Warnings == 0 || dropped.Warnings > each-900 {
		t.Errorf("dropped: %+v", dropped)
	}
	close(to.read)
	stderr.Close()
	log.Warn("after the end")
	var messages []string
	for lines := bufio.NewScanner(&to.text); lines.Scan(); {
		var l struct {
			Level, Message string
			Info, Warnings int
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil || l.Level != "warn" {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		if len(messages) == 1 && dropped != (Dropped{Info: l.Info, Warnings: l.Warnings}) {
			t.Errorf("it says %+v of %+v", l, dropped)
		}
		messages = append(messages, strings.TrimRight(l.Message, "x"))
	}
	want := []string{"first", "lines of this log were dropped, because stderr was not read"}
	for i := dropped.Warnings; i < each; i++ {
		want = append(want, fmt.Sprint("warning ", i))
	}
	if got := strings.Join(messages, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("it says\n%s", got)
	}
}

func TestLinesOfAllLevelsComeInTheirOrder(t *testing.T) {
	to := newUnread()
	stderr := OpenStderr(to)
	want := ""
	for i := range 3000 {
		text := fmt.Sprintf("%d %s\n", i, strings.Repeat("x", i%100))
		want += text
		if i%3 == 0 {
			_, _ = stderr.Write([]byte(text))
		} else {
			_, _ = infoLines{stderr}.Write([]byte(text))
		}
	}
	close(to.read)
	stderr.Close()
	if to.text.String() != want {
		t.Error("they do not")
	}
}

func TestTheEndWaitsNotForAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newUnread()
		stderr := OpenStderr(to)
		_, _ = stderr.Write([]byte("a line\n"))
		began := time.Now()
		stderr.Close()
		if took := time.Since(began); took != time.Second {
			t.Errorf("it ends after %s", took)
		}
		close(to.read)
	})
}
