package acp

import "time"

// An agent may send paceBurst messages at full speed, and from then on
// pacePerSecond: some hundred times what models produce. Reading as fast as it
// writes would use one core for the agent and one for the server, at the cost
// of all other turns.
const (
	paceBurst     = 4096
	pacePerSecond = 25000
)

// pace is a token bucket of messages. One goroutine uses it. The zero value is
// full.
type pace struct {
	spent time.Duration // the tokens taken, as the time until they are back
	last  time.Time
	timer *time.Timer
}

const (
	paceEach = time.Second / pacePerSecond
	paceFull = paceBurst * paceEach
)

// take takes n messages from the bucket, and waits if there are too few.
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
