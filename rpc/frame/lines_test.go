package frame

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func readAll(t *testing.T, l *Lines) (got []string) {
	t.Helper()
	for range 1000 {
		line, err := l.Next()
		switch {
		case errors.Is(err, ErrTooLong):
			got = append(got, "<too long>")
		case err != nil:
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return got
		default:
			got = append(got, string(line))
		}
	}
	t.Fatal("no end")
	return nil
}

func TestLinesAreReadByRule(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"lines":                     {"a\nb\n", "a|b"},
		"CR before LF":              {"a\r\nb\r\n", "a|b"},
		"empty lines":               {"\n\r\n \t\na\n\n", "a"},
		"last line without LF":      {"a\nb", "a|b"},
		"nothing":                   {"", ""},
		"as long as it may be":      {"12345678\nx\n", "12345678|x"},
		"as long, with CR":          {"12345678\r\nx\n", "<too long>|x"},
		"one too long":              {"123456789\nx\n", "<too long>|x"},
		"much too long":             {strings.Repeat("z", 9000) + "\nx\n", "<too long>|x"},
		"too long at the end":       {"x\n" + strings.Repeat("z", 9000), "x|<too long>"},
		"twice too long":            {"1234567890\n1234567890\nx", "<too long>|<too long>|x"},
		"white space around":        {"  a  \n", "a"},
		"NUL is not special":        {"a\x00b\n", "a\x00b"},
		"CR alone ends no line":     {"a\rb\n", "a\rb"},
		"too long, then an end":     {strings.Repeat("z", 20) + "\n", "<too long>"},
		"long spaces, then nothing": {strings.Repeat(" ", 6) + "\nx", "x"},
	} {
		for _, r := range map[string]io.Reader{
			"whole": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
			"with the error": iotest.DataErrReader(strings.NewReader(c.in)),
		} {
			if got := strings.Join(readAll(t, NewLines(r, 8)), "|"); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
	}
}

func TestReaderThatBreaksEndsTheLines(t *testing.T) {
	broken := errors.New("broken")
	l := NewLines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 100)
	var got []string
	for {
		line, err := l.Next()
		if err != nil {
			if !errors.Is(err, broken) {
				t.Fatal(err)
			}
			break
		}
		got = append(got, string(line))
	}
	if strings.Join(got, "|") != "a|b" {
		t.Fatal(got)
	}
}

var noise = bytes.Repeat([]byte("x"), 1<<20)

// endless is one line of any length.
type endless struct{ left int64 }

func (e *endless) Read(b []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(int64(len(b)), e.left)], noise)
	e.left -= int64(n)
	return n, nil
}

func TestGigabyteWithoutLineFeedTakesAFrameOfMemory(t *testing.T) {
	size := int64(1 << 30)
	if testing.Short() {
		size = 64 << 20
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	in := &endless{left: size}
	l := NewLines(in, 4<<20)
	if _, err := l.Next(); !errors.Is(err, ErrTooLong) {
		t.Fatalf("got %v", err)
	}
	if _, err := l.Next(); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v", err)
	}
	runtime.ReadMemStats(&after)
	// All that was ever allocated, what is garbage by now included.
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Fatalf("%d bytes allocated", grown)
	}
	if in.left != 0 {
		t.Fatalf("%d bytes not read", in.left)
	}
}

func TestLongLineIsNotPaidForAfterwards(t *testing.T) {
	l := NewLines(io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)+"\n"), iotest.OneByteReader(strings.NewReader("a\nb\n"))), 4<<20)
	for range 2 {
		if _, err := l.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.buf) > keepBuffer {
		t.Fatalf("%d bytes are kept", len(l.buf))
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\n123456789\nx"), 8)
	f.Add([]byte("\r\r\n"), 1)
	f.Fuzz(func(t *testing.T, in []byte, max int) {
		if max < 1 || max > 1<<16 {
			return
		}
		whole, single := NewLines(bytes.NewReader(in), max), NewLines(iotest.OneByteReader(bytes.NewReader(in)), max)
		total := 0
		for {
			a, errA := whole.Next()
			line := string(a)
			b, errB := single.Next()
			if line != string(b) || !errors.Is(errB, errA) {
				t.Fatalf("in one read %q, %v; in many %q, %v", line, errA, b, errB)
			}
			if len(line) > max || strings.Contains(line, "\n") {
				t.Fatalf("line %q", line)
			}
			if errors.Is(errA, io.EOF) {
				return
			}
			if total++; total > len(in)+1 {
				t.Fatal("more lines than bytes")
			}
		}
	})
}
