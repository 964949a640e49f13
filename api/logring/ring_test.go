package logring

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"
)

func texts(lines []Line) string {
	var out []string
	for _, l := range lines {
		out = append(out, fmt.Sprintf("%d:%s", l.Position, l.Message))
	}
	return strings.Join(out, " ")
}

func TestRingKeepsTheNewestAndTellsPositions(t *testing.T) {
	r := New(3)
	if lines, next := r.From(0, 10); len(lines) != 0 || next != 1 {
		t.Fatalf("an empty ring has %v, next %d", lines, next)
	}
	for i := 1; i <= 5; i++ {
		r.Add("info", time.Now(), fmt.Sprintf("line%d", i))
	}
	for _, c := range []struct {
		from  int64
		limit int
		want  string
		next  int64
	}{
		{0, 10, "3:line3 4:line4 5:line5", 6}, {4, 10, "4:line4 5:line5", 6}, {3, 1, "3:line3", 4}, {6, 10, "", 6}, {99, 10, "", 6}, {-5, 2, "3:line3 4:line4", 5},
	} {
		if lines, next := r.From(c.from, c.limit); texts(lines) != c.want || next != c.next {
			t.Errorf("from %d: %s, next %d", c.from, texts(lines), next)
		}
	}
}

func TestWaitIsOverOnceThereIsALine(t *testing.T) {
	r := New(2)
	wait := r.Wait(1)
	select {
	case <-wait:
		t.Fatal("there is no line yet")
	default:
	}
	r.Add("info", time.Now(), "x")
	<-wait
	<-r.Wait(1)
}

func TestLongLinesAreCutAtACodePoint(t *testing.T) {
	r := New(1)
	r.Add("info", time.Now(), strings.Repeat("ä", maxMessageBytes))
	lines, _ := r.From(1, 1)
	if m := lines[0].Message; len(m) > maxMessageBytes+3 || !utf8.ValidString(m) {
		t.Fatalf("%d bytes", len(m))
	}
}

func TestCoreWritesMessageAndFields(t *testing.T) {
	r := New(10)
	log := zap.New(r.Core(zap.InfoLevel)).Named("rpc").With(zap.Int("a", 1))
	log.Debug("not seen")
	log.Warn("hello\n", zap.String("b", "x"))
	zap.New(r.Core(zap.InfoLevel)).Info("bare")
	lines, _ := r.From(1, 10)
	if got := texts(lines); got != `1:rpc: hello {"a":1,"b":"x"} 2:bare` {
		t.Fatal(got)
	}
	if lines[0].Level != "warn" {
		t.Fatal(lines[0].Level)
	}
}
