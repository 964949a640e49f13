package acp

import "time"

// An agent may say paceBurst messages as fast as it can, and from then on
// pacePerSecond: some hundred times what models say. Reading it as fast as it
// writes would take a core for it and another for us, from the turns of
// everybody else.
const (
	paceBurst     = 4096
	pacePerSecond = 25000
)

// pace is a bucket of messages. One goroutine uses it. The zero value is full.
type pace struct {
	spent time.Duration // what was taken, as time that it takes to come back
	last  time.Time
	timer *time.Timer
}

const (
	paceEach = time.Second / pacePerSecond
	paceFull = paceBurst * paceEach
)

// take takes n messages, and waits if there are too few.
func (p *pace) take(n int) {
	now := time.Now()
	p.spent = max(0, p.spent-now.Sub(p.last)) + time.Duration(n)*paceEach
	p.last = now
	over := p.spent - paceFull
	if over <= 0 {
		return
	}
	if p.timer == nil {
		p.timer = time.NewTimer(over)
	} else {
		p.timer.Reset(over)
	}
	<-p.timer.C
}
