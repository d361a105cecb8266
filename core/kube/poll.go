package kube

import (
	"context"
	"time"
)

// Polls start close together, because small clusters are ready quickly, and never get further apart than what
// is noticed as a delay.
const (
	firstPoll = 50 * time.Millisecond
	lastPoll  = 250 * time.Millisecond
)

// poll paces a wait and knows when it has gone on for too long: when nothing advanced for stall, or after limit.
type poll struct {
	stall, limit    time.Duration
	began, advanced time.Time
	best            int
	interval        time.Duration
	verdict         string    // what kept being the matter
	verdictSince    time.Time // and since when
}

func newPoll(stall, limit time.Duration) *poll {
	if stall <= 0 {
		stall = DefaultStall
	}
	if limit <= 0 {
		limit = DefaultLimit
	}
	now := time.Now()
	return &poll{stall: stall, limit: limit, began: now, advanced: now, interval: firstPoll}
}

// advance takes the score of the last look. A score that was reached before is no progress.
func (p *poll) advance(score int) {
	if score > p.best {
		p.best, p.advanced, p.interval = score, time.Now(), firstPoll
	}
}

// over says that waiting longer is not worth it, and after how long.
func (p *poll) over() (time.Duration, bool) {
	now := time.Now()
	if d := now.Sub(p.advanced); d >= p.stall {
		return p.stall, true
	}
	return p.limit, now.Sub(p.began) >= p.limit
}

// steady reports for how long the same thing has been the matter.
func (p *poll) steady(key string) time.Duration {
	if key != p.verdict {
		p.verdict, p.verdictSince = key, time.Now()
	}
	return time.Since(p.verdictSince)
}

// sleep waits for the next look.
func (p *poll) sleep(ctx context.Context) error {
	t := time.NewTimer(p.interval)
	defer t.Stop()
	p.interval = min(p.interval*3/2, lastPoll)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
