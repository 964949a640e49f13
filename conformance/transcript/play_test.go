package transcript_test

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed82539d15/holon/conformance/transcript"
)

var update = flag.Bool("update", false, "write the transcripts as the server in this process plays them")

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m, goleak.Cleanup(removeBinary))
}

// TestTranscripts plays every transcript on every transport. All must have the
// same result, so that a client may choose any transport.
func TestTranscripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 6 {
		t.Fatalf("%d transcripts (%v)", len(paths), err)
	}
	for _, path := range paths {
		file, err := transcript.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range file.Conversations() {
			want := file.Text(name)
			if *update {
				got, err := transcript.Play(t.Context(), want, newInProcess(t))
				if err != nil {
					t.Fatalf("%s: %v\n%s", path, err, got)
				}
				if err := file.Update(name, got); err != nil {
					t.Fatal(err)
				}
				want = got
			}
			for transport, start := range map[string]func(*testing.T) transcript.Server{
				"in process": func(t *testing.T) transcript.Server { return newInProcess(t) },
				"http":       func(t *testing.T) transcript.Server { return newProcess(t, false) },
				"unix":       func(t *testing.T) transcript.Server { return newProcess(t, true) },
				"stdio":      func(t *testing.T) transcript.Server { return newStdio(t) },
			} {
				t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+name+"/"+transport, func(t *testing.T) {
					t.Parallel()
					got, err := transcript.Play(t.Context(), want, start(t))
					if err != nil {
						t.Fatalf("%v\nas far as it went:\n%s", err, got)
					}
					if got != want {
						t.Errorf("it went another way (-update accepts it):\n%s", difference(want, got))
					}
				})
			}
		}
	}
}

// difference shows the first line that differs, with its neighbours.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			from := max(0, i-2)
			return "want:\n" + strings.Join(a[min(from, len(a)):min(len(a), i+4)], "\n") +
				"\ngot:\n" + strings.Join(b[min(from, len(b)):min(len(b), i+4)], "\n")
		}
	}
	return ""
}
