package conformance

import (
	"context"
	"fmt"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Options are the choices of a run; the zero value runs everything.
type Options struct {
	// Filter chooses checks: globs over ids, separated by commas, such as
	// "envelope.*,turn.queue". Empty means all.
	Filter string
	// Timeout bounds each check; 0 means 30 s. Checks that must wait for a
	// heartbeat are skipped if it is shorter than that wait.
	Timeout time.Duration
	// Patience bounds each single wait inside a check; 0 means 8 s.
	Patience time.Duration
	// Done, when set, is called after each check, one call at a time.
	Done func(Result)
}

// Run runs every chosen check against the target, one after the other (those
// that only wait run beside them), and returns a report. The error is about an
// invalid target or filter, or a context that ended; faults of the server are
// in the report. It may be called from several goroutines, but two runs against
// one server disturb each other, because they pause the runtime.
func Run(ctx context.Context, target Target, opts Options) (*Report, error) {
	if opts.Timeout <= 0 {
		opts.Timeout = 30 * time.Second
	}
	if opts.Patience <= 0 {
		opts.Patience = 8 * time.Second
	}
	checks, err := choose(table(), opts.Filter)
	if err != nil {
		return nil, err
	}
	end, err := target.open()
	if err != nil {
		return nil, err
	}
	defer end.close()
	began := time.Now()
	s := &session{end: end, opts: opts, seen: newObserver()}
	s.facts = survey(ctx, s)
	report := &Report{
		URL: target.URL, StartedAt: began.UTC().Truncate(time.Millisecond),
		Server: s.facts.server, Protocol: s.facts.protocol,
		Results: make([]Result, len(checks)),
	}
	s.runAll(ctx, checks, report.Results)
	report.Millis = time.Since(began).Milliseconds()
	report.count()
	return report, ctx.Err()
}

// List returns every check's id, sentence and source, in the report's order.
func List() []Result {
	var all []Result
	for _, c := range table() {
		all = append(all, Result{ID: c.id, Sentence: c.sentence, Source: c.source})
	}
	return all
}

// choose returns the checks that match the filter.
func choose(all []check, filter string) ([]check, error) {
	if strings.TrimSpace(filter) == "" {
		return all, nil
	}
	chosen := make([]bool, len(all))
	for glob := range strings.SplitSeq(filter, ",") {
		glob = strings.TrimSpace(glob)
		hit := false
		for i, c := range all {
			ok, err := path.Match(glob, c.id)
			if err != nil {
				return nil, fmt.Errorf("filter %q: %w", glob, err)
			}
			if ok {
				chosen[i], hit = true, true
			}
		}
		if !hit {
			return nil, fmt.Errorf("filter %q matches no check", glob)
		}
	}
	var kept []check
	for i, c := range all {
		if chosen[i] {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

// session holds what the checks of one run share.
type session struct {
	end   *endpoint
	opts  Options
	facts facts
	seen  *observer
}

// runAll runs the background checks beside the ordinary ones, and then those of
// all seen messages.
func (s *session) runAll(ctx context.Context, checks []check, results []Result) {
	finished := make(chan int)
	go func() {
		defer close(finished)
		var waiting errgroup.Group
		for i, c := range checks {
			if c.needs&background != 0 {
				waiting.Go(func() error {
					results[i] = s.runOne(ctx, c)
					finished <- i
					return nil
				})
			}
		}
		for _, judging := range []bool{false, true} {
			for i, c := range checks {
				if c.needs&background == 0 && (c.needs&last != 0) == judging {
					results[i] = s.runOne(ctx, c)
					finished <- i
				}
			}
		}
		// Group.Wait returns the functions' error, and they have none.
		_ = waiting.Wait()
	}()
	for i := range finished {
		if s.opts.Done != nil {
			s.opts.Done(results[i])
		}
	}
}

// verdict is the panic value with which a probe ends its check.
type verdict struct {
	outcome Outcome
	message string
}

// runOne runs a check in a separate goroutine, under its time limit.
func (s *session) runOne(ctx context.Context, c check) Result {
	res := Result{ID: c.id, Sentence: c.sentence, Source: c.source, Outcome: Pass}
	if ctx.Err() != nil {
		res.Outcome, res.Message = Skip, "the run was stopped before this check"
		return res
	}
	if why := s.facts.lacks(c.needs); why != "" {
		res.Outcome, res.Message = Skip, why
		return res
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	p := &probe{session: s, ctx: limited, trail: &trail{}}
	done := make(chan verdict, 1)
	go func() { done <- p.guard(c.run) }()
	select {
	case v := <-done:
		res.Outcome, res.Message = v.outcome, v.message
	case <-time.After(s.opts.Timeout + 10*time.Second):
		// Every wait of a probe ends with its context, so this is a fault of
		// the suite. Its goroutine is abandoned so that the run can continue.
		res.Outcome, res.Message = Error, "the check did not come back after its time was up"
	}
	res.Millis = time.Since(began).Milliseconds()
	if res.Outcome == Fail || res.Outcome == Error {
		res.Evidence = p.trail.lines()
	}
	return res
}

// guard runs the check and its clean-up and turns panics into verdicts.
func (p *probe) guard(run func(*probe)) (v verdict) {
	v.outcome = Pass
	defer p.cleanUp()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case verdict:
			v = r
		default:
			v = verdict{Error, fmt.Sprintf("panic: %v\n%s", r, debug.Stack())}
		}
	}()
	run(p)
	return v
}
