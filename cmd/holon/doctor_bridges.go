package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/bridges/secrets"
	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/rpc/client"
)

const (
	// reachTime bounds a connection to a target, because a person waits for doctor.
	reachTime = 3 * time.Second
	// reaching is how many targets are connected to at the same time.
	reaching = 8
	// lateAfter is the age from which a message that waits is a warning: the quick
	// retries are over then.
	lateAfter = 15 * time.Minute
)

// bridgeChecks are the bridges of a data directory and of a configuration, with what
// is wrong with them.
type bridgeChecks struct {
	now  time.Time
	seen map[string]*bridgeCheck
}

// bridgeCheck is one bridge.
type bridgeCheck struct {
	row        *bridges.Bridge // nil: the server does not know it
	configured *config.Bridge  // nil: the configuration that was read does not have it
	to         *kinds.Config   // nil: not known, so it is not connected to
	subs       int
	held       []string
	gone       []string // disabled
	dead       int
	mismatches int
	waiting    int
	oldest     time.Time
	problems   []sqlite.Finding // without names
	reached    time.Duration    // 0: not tried, or in vain
}

func (b *bridgeCheck) problem(level sqlite.Level, format string, args ...any) {
	b.problems = append(b.problems, sqlite.Finding{Level: level, Text: fmt.Sprintf(format, args...)})
}

// examineBridges checks the bridges: what the rows say, the secrets, and unless skip
// is true whether their targets can be reached.
func examineBridges(ctx context.Context, g *globals, reader *sqlite.Reader, skip bool) ([]sqlite.Finding, error) {
	checks := bridgeChecks{now: time.Now(), seen: map[string]*bridgeCheck{}}
	if reader != nil {
		if err := reader.Read(ctx, checks.read); err != nil {
			return nil, fmt.Errorf("read bridges and deliveries: %w", err)
		}
		if err := checks.secrets(reader.Dir()); err != nil {
			return nil, err
		}
	}
	for name, b := range g.loaded.Bridges {
		checks.of(name).configured = &b
	}
	checks.configuration(g.env)
	checks.states()
	if !skip {
		checks.reach(ctx, g.loaded.Data)
	}
	return checks.findings(), nil
}

func (c *bridgeChecks) of(name string) *bridgeCheck {
	if c.seen[name] == nil {
		c.seen[name] = &bridgeCheck{}
	}
	return c.seen[name]
}

// read reads the rows.
func (c *bridgeChecks) read(tx ledger.Reader) error {
	if err := tx.Scan(ledger.Range{Index: bridges.BridgeByID}, func(v ledger.Values) error {
		b, err := bridges.ReadBridge(v)
		if err == nil {
			c.of(b.BridgeID).row = b
		}
		return err
	}); err != nil {
		return err
	}
	if err := tx.Scan(ledger.Range{Index: bridges.SubscriptionBySeq}, func(v ledger.Values) error {
		s, err := bridges.ReadSubscription(v)
		if err != nil || s.State == bridges.Deleted {
			return err
		}
		b := c.of(s.BridgeID)
		b.subs++
		switch s.State {
		case bridges.Held:
			b.held = append(b.held, s.SubscriptionID)
		case bridges.Disabled: // gone is the only reason
			b.gone = append(b.gone, s.SubscriptionID)
		}
		return nil
	}); err != nil {
		return err
	}
	count := func(v ledger.Values) error {
		d, err := bridges.ReadDelivery(v)
		if err != nil {
			return err
		}
		b := c.of(d.BridgeID)
		switch d.State {
		case bridges.StateDead:
			b.dead++
		case bridges.StateMismatch:
			b.mismatches++
		default:
			b.waiting++
			if b.oldest.IsZero() || d.CreatedAt.Before(b.oldest) {
				b.oldest = d.CreatedAt.Time
			}
		}
		return nil
	}
	for _, index := range []*ledger.Index{bridges.OpenDeliveries, bridges.DeadDeliveries} {
		if err := tx.Scan(ledger.Range{Index: index}, count); err != nil {
			return err
		}
	}
	return nil
}

// secrets looks at the secrets of bridges that clients have created, and finds where
// these send.
func (c *bridgeChecks) secrets(dir string) error {
	store, err := secrets.OpenReadOnly(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist): // each is missing then
	case err != nil:
		return err
	default:
		defer store.Close()
	}
	for _, b := range c.seen {
		row := b.row
		if row == nil || row.Configured {
			continue
		}
		b.to = &kinds.Config{Kind: row.Kind, URL: row.URL, Server: row.Server, APIURL: row.APIURL}
		if row.Generation == 0 {
			continue
		}
		if store == nil {
			b.lost(row, secrets.ErrNotFound)
			continue
		}
		if err := store.Check(row.BridgeID, row.Generation); err != nil {
			b.lost(row, err)
			continue
		}
		var secret bridges.Secrets
		raw, err := store.Read(row.BridgeID, row.Generation)
		if err == nil {
			err = jsonv2.Unmarshal(raw, &secret)
		}
		if err != nil {
			b.problem(sqlite.Error, "its secrets cannot be read")
		}
		b.to.WebhookURL = secret.WebhookURL
	}
	return nil
}

// lost reports what is wrong with the file of secrets.
func (b *bridgeCheck) lost(row *bridges.Bridge, err error) {
	if row.Kind == bridges.KindSlack {
		b.to = nil // where it sends may be in there
	}
	switch {
	case errors.Is(err, secrets.ErrExposed):
		b.problem(sqlite.Error, "others can read its secrets: chmod 700 the directory secrets, chmod 600 the files in it, then: holon bridge rotate %s", row.BridgeID)
	case errors.Is(err, secrets.ErrNotFound), errors.Is(err, secrets.ErrDamaged):
		b.problem(sqlite.Error, "its secrets are missing or damaged; backups have none. Give it new ones: holon bridge rotate %s", row.BridgeID)
	default:
		b.problem(sqlite.Error, "its secrets: %v", err)
	}
}

// configuration looks at the bridges of the configuration.
func (c *bridgeChecks) configuration(env func(string) string) {
	for name, b := range c.seen {
		if b.configured == nil {
			continue
		}
		unset := slices.DeleteFunc(b.configured.Variables(), func(v string) bool { return env(v) != "" })
		if len(unset) > 0 {
			b.problem(sqlite.Warning, "%s is not set here, so the secret is not checked; the server needs it", strings.Join(unset, ", "))
			continue
		}
		_, to, err := b.configured.Open(name, env)
		if err != nil {
			b.problem(sqlite.Error, "%v. The server does not start with it", err)
			continue
		}
		b.to = &to
	}
}

// states looks at what the rows say.
func (c *bridgeChecks) states() {
	for name, b := range c.seen {
		switch row := b.row; {
		case row == nil && b.configured == nil: // of rows whose bridge is gone
			continue
		case row == nil:
			b.problem(sqlite.Warning, "the server does not know it yet: restart it")
			continue
		case row.State == bridges.Active:
		case row.Reason == bridges.ReasonNoSecret && len(b.problems) > 0: // said already
		default:
			b.problem(sqlite.Warning, "%s. %s", bridgeState(*row), strings.ReplaceAll(bridgeAdvice(*row), "\n", ". "))
		}
		if b.mismatches > 0 {
			b.problem(sqlite.Error, "%s with the rows of their turns: the store is damaged. See --refold, and: holon deliveries --state mismatch --bridge %s",
				counted(b.mismatches, "end disagrees", "ends disagree"), name)
		}
		if n := len(b.held); n > 0 {
			b.problem(sqlite.Warning, "%s held, too much waits: holon notify show %s", counted(n, "subscription is", "subscriptions are"), b.held[0])
		}
		if n := len(b.gone); n > 0 {
			b.problem(sqlite.Warning, "%s disabled, the target says that it is gone: holon notify show %s", counted(n, "subscription is", "subscriptions are"), b.gone[0])
		}
		if b.dead > 0 {
			b.problem(sqlite.Warning, "%s given up: holon deliveries --dead --bridge %s", counted(b.dead, "message was", "messages were"), name)
		}
		if b.late(c.now) {
			b.problem(sqlite.Warning, "%s, the oldest for %s: holon deliveries --state pending --bridge %s", counted(b.waiting, "message waits", "messages wait"), age(b.oldest), name)
		}
	}
}

func (b *bridgeCheck) late(now time.Time) bool { return b.waiting > 0 && now.Sub(b.oldest) > lateAfter }

// reach connects to the targets that are known.
func (c *bridgeChecks) reach(ctx context.Context, dir string) {
	dialer := kinds.NewClient(kinds.ClientConfig{})
	defer dialer.Close()
	dialer.SetOwn(ownListeners(dir))
	slots := make(chan struct{}, reaching)
	var wg sync.WaitGroup
	for _, b := range c.seen {
		if b.to == nil {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, reachTime)
			defer cancel()
			began := time.Now()
			err := dialer.Reach(ctx, *b.to)
			b.reached = max(time.Since(began), time.Millisecond)
			if err != nil {
				b.reached = 0
				b.unreached(err.Error())
			}
		})
	}
	wg.Wait()
}

// unreached reports why a target cannot be reached.
func (b *bridgeCheck) unreached(why string) {
	switch why {
	case "private_address":
		b.problem(sqlite.Error, "its name leads to a private network: only a bridge of the configuration may connect there, with allow_private = true")
	case "own_address":
		b.problem(sqlite.Error, "its address is that of this server: nothing is sent there")
	case "no_program", "bad_address":
		b.problem(sqlite.Error, "it cannot send: %s", why)
	default:
		b.problem(sqlite.Warning, "its target cannot be reached from here: %s. Messages wait, and are tried again", why)
	}
}

// ownListeners returns where the running server listens; none if there is none.
func ownListeners(dir string) (list []netip.AddrPort) {
	record, err := client.ReadServerFile(dir)
	if err != nil {
		return nil
	}
	for _, text := range record.URLs {
		if u, err := url.Parse(text); err == nil {
			if at, err := netip.ParseAddrPort(u.Host); err == nil {
				list = append(list, at)
			}
		}
	}
	return list
}

// findings returns the findings in the order of the names.
func (c *bridgeChecks) findings() (list []sqlite.Finding) {
	for _, name := range slices.Sorted(maps.Keys(c.seen)) {
		b := c.seen[name]
		for _, f := range b.problems {
			f.Name = "bridge " + name
			list = append(list, f)
		}
		if len(b.problems) == 0 && b.row != nil {
			list = append(list, sqlite.Finding{Name: "bridge " + name, Level: sqlite.OK, Text: b.fine()})
		}
	}
	return list
}

// fine describes a bridge without problems.
func (b *bridgeCheck) fine() string {
	text := string(b.row.Kind)
	switch {
	case b.reached > 0:
		text += fmt.Sprintf(", reached in %d ms", b.reached.Milliseconds())
	case b.row.Configured && b.configured == nil:
		text += ", of a configuration that was not read: give --config to check its secrets and target"
	}
	text += ", " + counted(b.subs, "subscription", "subscriptions")
	if b.waiting > 0 {
		text += fmt.Sprintf(", %s, the oldest for %s", counted(b.waiting, "message waits", "messages wait"), age(b.oldest))
	}
	return text
}
