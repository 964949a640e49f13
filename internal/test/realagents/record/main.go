// Command record records what real agents send over ACP, for the tests of
// package mapping:
//
//	go run ./internal/test/realagents/record -out DIR opencode codex claude gemini
//
// Each scenario of each agent becomes DIR/<agent>-<scenario>.ndjson, with one
// JSON object per line: {"dir":"in","msg":…} came from the agent, "out" went to
// it. Paths, ids, times and addresses are replaced and long lists are cut, so
// that recordings are small and can be compared.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed82539d15/holon/internal/test/mockmodel"
	"github.com/seed82539d15/holon/internal/test/realagents"
)

func main() {
	out := flag.String("out", "", "directory for the recordings")
	only := flag.String("scenarios", "", "names of scenarios, separated by commas; empty = all")
	raw := flag.Bool("raw", false, "replace nothing, and keep what the model was asked")
	flag.Parse()
	if *out == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := recordAll(ctx, *out, *only, *raw, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func recordAll(ctx context.Context, out, only string, raw bool, names []string) error {
	agents, err := realagents.Named(names...)
	if err != nil {
		return err
	}
	cache, err := realagents.Cache()
	if err != nil {
		return err
	}
	for _, a := range agents {
		if !a.Installed(cache) {
			return fmt.Errorf("%s %s is not in %s: run the install command first", a.Name, a.Version, cache)
		}
		for _, s := range scenarios {
			if only != "" && !strings.Contains(","+only+",", ","+s.name+",") {
				continue
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			started := time.Now()
			n, err := recordOne(ctx, a, cache, s, out, raw)
			if err != nil {
				// A scenario that an agent cannot do does not end the command.
				fmt.Printf("%-10s %-20s %v\n", a.Name, s.name, err)
				continue
			}
			fmt.Printf("%-10s %-20s %d messages in %.1f s\n", a.Name, s.name, n, time.Since(started).Seconds())
		}
	}
	return nil
}

// recordOne runs a scenario with a new home and a new model.
func recordOne(ctx context.Context, a realagents.Agent, cache string, s scenario, out string, raw bool) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	root, err := os.MkdirTemp("", "holon-record-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(root)
	home, project := filepath.Join(root, "home"), filepath.Join(root, "project")
	for _, dir := range []string{home, project} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return 0, err
		}
	}
	log, err := os.Create(filepath.Join(root, "model.log"))
	if err != nil {
		return 0, err
	}
	defer log.Close()
	model, err := mockmodel.Start(mockmodel.Options{Log: log})
	if err != nil {
		return 0, err
	}
	defer model.Close()
	launch, err := a.Configure(cache, home, model.URL())
	if err != nil {
		return 0, err
	}
	p := &play{ctx: ctx, launch: launch, cwd: project, byMinute: a.ByMinute}
	played := s.run(p)
	p.end()
	if played != nil {
		if _, skipped := played.(*notOffered); skipped {
			return 0, played
		}
		requests, _ := os.ReadFile(log.Name())
		keep := filepath.Join(os.TempDir(), "holon-record-"+a.Name+"-"+s.name+".log")
		text := append(join(p.recording), requests...)
		text = append(text, p.stderr.Bytes()...)
		_ = os.WriteFile(keep, text, 0o600) // optional; the error below counts
		return 0, fmt.Errorf("%w (see %s)", played, keep)
	}
	recording, path := p.recording, filepath.Join(out, a.Name+"-"+s.name)
	if raw {
		requests, err := os.ReadFile(log.Name())
		if err != nil {
			return 0, err
		}
		if err := os.WriteFile(path+".model", requests, 0o644); err != nil {
			return 0, err
		}
	} else {
		recording = clean(recording, []replacement{
			{home, "/home/user"}, {project, "/project"}, {cache, "/agents"}, {model.URL(), "http://127.0.0.1:1"}, {root, "/tmp"},
		})
	}
	return len(recording), os.WriteFile(path+".ndjson", join(recording), 0o644)
}
