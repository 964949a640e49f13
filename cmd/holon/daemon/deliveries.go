package daemon

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/dispatch"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/bridges/secrets"
	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/follow"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/turns"
)

// deliveries are the parts of delivery to bridges, from the start to the stop.
type deliveries struct {
	service    *dispatch.Service // nil before openDeliveries
	client     *kinds.Client
	shared     kinds.Shared
	secrets    *secrets.Store
	configured []dispatch.Configured
}

// newDeliveries opens the secrets and the bridges of the configuration. The variables
// that have a secret are then removed from the environment of the server: agents
// inherit that. The caller calls close.
func newDeliveries(cfg *config.Config, records *process.Records) (_ *deliveries, err error) {
	d := &deliveries{client: kinds.NewClient(kinds.ClientConfig{})}
	d.shared = kinds.Shared{Client: d.client, Records: records}
	for _, name := range slices.Sorted(maps.Keys(cfg.Bridges)) {
		row, c, err := cfg.Bridges[name].Open(name, os.Getenv)
		if err != nil {
			return nil, &UsageError{fmt.Errorf("bridges.%s: %w", name, err)}
		}
		channel, err := kinds.New(c, d.shared)
		if err != nil {
			return nil, &UsageError{fmt.Errorf("bridges.%s: %w", name, err)}
		}
		d.configured = append(d.configured, dispatch.Configured{Bridge: row, Channel: channel})
	}
	for name, b := range cfg.Bridges {
		for _, variable := range b.Variables() {
			if err := os.Unsetenv(variable); err != nil {
				return nil, fmt.Errorf("bridges.%s: remove %s from the environment: %w", name, variable, err)
			}
		}
	}
	if d.secrets, err = secrets.Open(cfg.Data); err != nil {
		return nil, err
	}
	return d, nil
}

// close ends what newDeliveries has opened, once nothing delivers any more.
func (d *deliveries) close() error {
	d.client.Close()
	return d.secrets.Close()
}

// openDeliveries reads bridges and subscriptions, and adds their followers.
func (d *daemon) openDeliveries(ctx context.Context, followers *follow.Dispatcher) error {
	position, err := d.store.Reader().Position(ctx)
	if err != nil {
		return err
	}
	read := func(class persist.ReadClass) func(context.Context, func(ledger.Reader) error) error {
		return func(ctx context.Context, f func(ledger.Reader) error) error {
			return d.store.Reader().Snapshot(ctx, class, func(s persist.Snapshot) error { return f(s) })
		}
	}
	d.deliveries.service, err = dispatch.Open(ctx, dispatch.Config{
		Store: d.store, Read: read(persist.ForEngine), ReadList: read(persist.ForScans), Events: d.store.Reader(), Followers: followers,
		LogID: position.LogID, Head: d.store.Tail().Head, Position: d.store.Reader().Position, Secrets: d.deliveries.secrets, Open: d.deliveries.open,
		Configured: d.deliveries.configured, Drain: d.cfg.DrainTimeout, ConsoleURL: d.cfg.ConsoleURL(), Log: d.log.Named("deliveries"),
	})
	if err != nil {
		return fmt.Errorf("open bridges and subscriptions: %w", err)
	}
	return nil
}

// bothFor is how long webhooks are signed with the secret before a rotation, too.
const bothFor = 24 * time.Hour

// open makes the channel of a bridge that a client has created.
func (d *deliveries) open(b *bridges.Bridge, current bridges.Secrets, previous *bridges.Secrets) (bridges.Channel, error) {
	c := kinds.Config{
		Kind: b.Kind, URL: b.URL, Server: b.Server, APIURL: b.APIURL, Topic: current.Topic, WebhookURL: current.WebhookURL,
		Secret: current.Token, Targets: b.Targets,
	}
	other, given := "secret", current.Secret != ""
	if b.Kind == bridges.KindWebhook {
		c.Secret, other, given = current.Secret, "token", current.Token != ""
		if previous != nil {
			c.Previous, c.PreviousUntil = previous.Secret, b.RotatedAt.Add(bothFor)
		}
	}
	if given {
		return nil, turns.Invalid(other, turns.ReasonUnknown, "a bridge of kind %s has no such member", b.Kind)
	}
	return kinds.New(c, d.shared)
}

// setOwn sets where this server listens, so that no bridge connects there.
func (d *daemon) setOwn() {
	var own []netip.AddrPort
	for _, l := range d.listeners {
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			own = append(own, a.AddrPort())
		}
	}
	d.deliveries.client.SetOwn(own)
}

// deliver runs followers and deliveries. The followers outlive the deliveries, which
// at a stop give attempts under way their time.
func (d *daemon) deliver(ctx context.Context, followers *follow.Dispatcher) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	followCtx, stopFollowing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopFollowing()
	following := make(chan error, 1)
	go func() {
		following <- followers.Run(followCtx)
		stop()
	}()
	err := d.deliveries.service.Run(ctx)
	stopFollowing()
	if failed := <-following; err == nil {
		err = failed
	}
	if err != nil {
		d.log.Error("deliveries have ended", zap.Error(err))
	}
	return err
}
