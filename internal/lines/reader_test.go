package lines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func readAll(t *testing.T, l *Reader) (got []string) {
	t.Helper()
	for {
		line, err := l.Next()
		if errors.Is(err, ErrTooLong) {
			line = []byte("<too long>")
		} else if errors.Is(err, io.EOF) {
			return got
		} else if err != nil || l.Number() <= len(got) {
			t.Fatalf("line %d: %v", l.Number(), err)
		}
		got = append(got, fmt.Sprintf("%d %s", l.Number(), line))
	}
}

func TestLinesAreReadByRule(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"lines":                     {"a\nb\n", "1 a|2 b"},
		"CR before LF":              {"a\r\nb\r\n", "1 a|2 b"},
		"empty lines":               {"\n\r\n \t\na\n\n", "4 a"},
		"last line without LF":      {"a\nb", "1 a|2 b"},
		"nothing":                   {"", ""},
		"as long as it may be":      {"12345678\nx\n", "1 12345678|2 x"},
		"as long, with CR":          {"12345678\r\nx\n", "1 <too long>|2 x"},
		"one too long":              {"123456789\nx\n", "1 <too long>|2 x"},
		"much too long":             {strings.Repeat("z", 9000) + "\nx\n", "1 <too long>|2 x"},
		"too long at the end":       {"x\n" + strings.Repeat("z", 9000), "1 x|2 <too long>"},
		"twice too long":            {"1234567890\n1234567890\nx", "1 <too long>|2 <too long>|3 x"},
		"white space around":        {"  a  \n", "1 a"},
		"NUL is not special":        {"a\x00b\n", "1 a\x00b"},
		"CR alone ends no line":     {"a\rb\n", "1 a\rb"},
		"too long, then an end":     {strings.Repeat("z", 20) + "\n", "1 <too long>"},
		"long spaces, then nothing": {strings.Repeat(" ", 6) + "\nx", "2 x"},
	} {
		for _, r := range map[string]io.Reader{
			"whole": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
			"with the error": iotest.DataErrReader(strings.NewReader(c.in)),
		} {
			if got := strings.Join(readAll(t, New(r, Config{Max: 8})), "|"); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
	}
}

// Who refuses a line that is too long can say which one it was.
func TestTheBeginningOfALineThatIsTooLongIsReturned(t *testing.T) {
	const bound = 4 << 10
	long := strings.Repeat("z", 2*bound)
	for name, in := range map[string]string{"with its end": "x\n y" + long[:bound] + "\n", "without": "x\n y" + long} {
		l := New(iotest.OneByteReader(strings.NewReader(in)), Config{Max: bound})
		if line, err := l.Next(); err != nil || string(line) != "x" {
			t.Fatal(string(line), err)
		}
		if line, err := l.Next(); !errors.Is(err, ErrTooLong) || !strings.HasPrefix(string(line), "yz") || len(line) != beginning-1 {
			t.Errorf("%s: %q, %v", name, line, err)
		}
	}
}

func TestReaderThatBreaksEndsTheLines(t *testing.T) {
	broken := errors.New("broken")
	l := New(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), Config{Max: 100})
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
	l := New(in, Config{Max: 4 << 20})
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

func TestMemoryOfALongLineIsFreed(t *testing.T) {
	l := New(io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)+"\n"), iotest.OneByteReader(strings.NewReader("a\nb\n"))), Config{Max: 4 << 20})
	for range 2 {
		if _, err := l.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.buf) > keep*firstBuffer {
		t.Fatalf("%d bytes are kept", len(l.buf))
	}
}

func TestLastLineThatNeedsItsEndIsNotReturned(t *testing.T) {
	broken := errors.New("broken")
	for in, want := range map[string]error{"a\n": io.EOF, "a\n \r": io.EOF, "a\nb": io.ErrUnexpectedEOF} {
		for _, then := range []error{io.EOF, broken} {
			l := New(io.MultiReader(strings.NewReader(in), iotest.ErrReader(then)), Config{Max: 8, NeedsEnd: true})
			if line, err := l.Next(); string(line) != "a" || err != nil {
				t.Fatalf("%q, %v", line, err)
			}
			if !errors.Is(then, io.EOF) {
				want = then
			}
			for range 2 {
				if line, err := l.Next(); line != nil || !errors.Is(err, want) {
					t.Errorf("%q, then %v: %q, %v", in, then, line, err)
				}
			}
		}
	}
}

func TestBufferedSaysWhetherNextWouldWait(t *testing.T) {
	for rest, want := range map[string]bool{"": false, "b": false, "b\n": true, "\n \r\n": false, "\n\nb\n": true, "123456789\n": true} {
		l := New(strings.NewReader("a\n"+rest), Config{Max: 8})
		if line, err := l.Next(); string(line) != "a" || err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		if got := l.Buffered(); got != want {
			t.Errorf("%q: %v", rest, got)
		}
	}
}

// FuzzReader compares with a model, however the input is cut into pieces.
func FuzzReader(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\n123456789\nx"), 8, 3)
	f.Add([]byte("\r\r\n"), 1, 1)
	f.Fuzz(func(t *testing.T, in []byte, max, piece int) {
		if max < 1 || max > 1<<16 || piece < 1 {
			return
		}
		var want []string
		for i, line := range strings.Split(strings.TrimSuffix(string(in), "\n"), "\n") {
			if len(line) > max {
				line = "<too long>"
			}
			if line = strings.Trim(line, " \t\r"); line != "" {
				want = append(want, fmt.Sprintf("%d %s", i+1, line))
			}
		}
		for _, r := range []io.Reader{bytes.NewReader(in), pieces{bytes.NewReader(in), piece}} {
			if got := readAll(t, New(r, Config{Max: max, Buffer: 1 + piece%16})); !slices.Equal(got, want) {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	})
}

// pieces reads at most so many bytes at once.
type pieces struct {
	io.Reader
	size int
}

func (p pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), p.size)]) }
