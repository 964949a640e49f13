package dispatch

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
)

const (
	// lateness is how long after its time limit, or after its context is done, a Send is
	// still waited for: a program gets 4 s to end.
	lateness = 5 * time.Second
	// maxStuck is how many Sends of one bridge may be stuck before nothing more is sent
	// through it: each of them costs memory until it returns.
	maxStuck = 64
	// stuckError is the error of an attempt whose Send did not return.
	stuckError = "stuck"
)

// sender calls channels, and knows the deliveries whose Send is stuck: it did not return
// in time, and has not since. That outlives their rows and lanes, because a subscription
// that is created again must not send the same delivery beside it. At another target it may.
// Its methods may be called from many goroutines.
type sender struct {
	slots *slots
	log   *zap.Logger
	now   func() time.Time
	wake  func(deliveryID string) // it may be sent again

	mu    sync.Mutex
	stuck map[sending]bool
}

// sending is a delivery at one target.
type sending struct {
	deliveryID, bridgeID string
	target               bridges.Target
}

// sendingOf returns a delivery at the present target of the lane. l.mu is held.
func sendingOf(l *lane, d *bridges.Delivery) sending {
	return sending{d.DeliveryID, l.sub.BridgeID, l.sub.Target}
}

// isStuck reports whether a delivery must not be sent now.
func (s *sender) isStuck(of sending) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stuck[of]
}

// mark records whether the Send of a delivery is stuck.
func (s *sender) mark(to *bridgeLoad, of sending, stuck bool) {
	s.mu.Lock()
	if stuck {
		s.stuck[of] = true
	} else {
		delete(s.stuck, of)
	}
	s.mu.Unlock()
	s.slots.set(to, func(o *bridgeLoad) {
		if stuck {
			o.stuck++
		} else {
			o.stuck--
		}
	})
}

// send calls the channel of a bridge, and returns what came of it, at the latest when
// lateness is over. A Send that has not returned by then is an attempt that may have
// arrived. It goes on without anybody who waits for it, and what it returns later is
// ignored.
func (s *sender) send(ctx context.Context, to *bridgeLoad, channel bridges.Channel, of sending, o *bridges.Outgoing) bridges.Result {
	answer := make(chan bridges.Result, 1)
	began := s.now()
	go func() { answer <- s.call(ctx, channel, of.deliveryID, o) }()
	limit := time.NewTimer(channel.Timeout() + lateness)
	defer limit.Stop()
	late := bridges.Result{Outcome: bridges.Failed, Error: stuckError, Unhealthy: true, Arrived: true}
	for done, over := ctx.Done(), false; !over; {
		select {
		case r := <-answer:
			return r
		case <-done:
			done = nil
			late.Error, late.Unhealthy = "canceled", false
			limit.Reset(lateness)
		case <-limit.C:
			over = true
		}
	}
	select {
	case r := <-answer: // both have happened
		return r
	default:
	}
	s.log.Warn("an attempt does not return, and is no longer waited for", zap.String("delivery_id", of.deliveryID), zap.Duration("after", s.now().Sub(began)))
	s.mark(to, of, true)
	go func() {
		<-answer
		s.log.Info("an attempt that did not return has returned", zap.String("delivery_id", of.deliveryID), zap.Duration("after", s.now().Sub(began)))
		s.mark(to, of, false)
		s.wake(of.deliveryID)
	}()
	return late
}

// call calls the channel. A panic in it costs this attempt only.
func (s *sender) call(ctx context.Context, channel bridges.Channel, deliveryID string, o *bridges.Outgoing) (r bridges.Result) {
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("a bridge panicked", zap.String("delivery_id", deliveryID), zap.Any("panic", v), zap.Stack("stack"))
			r = bridges.Result{Outcome: bridges.Failed, Error: "internal", Arrived: true}
		}
	}()
	return channel.Send(ctx, o)
}
