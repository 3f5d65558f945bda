package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// A View has the last beats of all nodes that publish. Its methods are safe for concurrent use.
type View struct {
	Beats
	subscription *nats.Subscription
}

// Follow returns a view, which Close ends. heard, unless nil, is called with each beat, one after the other.
func Follow(c *nats.Conn, heard func(Heard)) (*View, error) {
	v := &View{}
	var err error
	v.subscription, err = c.Subscribe(BeatSubject("*"), func(m *nats.Msg) {
		part, err := Parse(m.Data)
		if err != nil { // another version: its node is as good as silent
			return
		}
		if v.Add(part, time.Now()) && heard != nil {
			if h, ok := v.Of(part.Node); ok {
				heard(h)
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	return v, nil
}

// Close ends the view; what it has stays.
func (v *View) Close() error {
	if err := v.subscription.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		return fmt.Errorf("heartbeat: %w", err)
	}
	return nil
}

// noResponders is the status of a message from a server that nobody listens.
const noResponders = "503"

// Ask asks nodes and returns their answers, by name. It waits until all have answered, or a server says that
// they are not there, or for the time wait, or until ctx ends.
func Ask(ctx context.Context, c *nats.Conn, nodes []string, wait time.Duration) ([]Heard, error) {
	to := c.NewInbox()
	answers := make(chan *nats.Msg, 1024)
	inbox, err := c.ChanSubscribe(to+".*", answers)
	if err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	defer inbox.Unsubscribe()
	for _, n := range nodes {
		if err := c.PublishRequest(AskSubject(n), to+"."+n, nil); err != nil {
			return nil, fmt.Errorf("heartbeat: %w", err)
		}
	}
	short, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var beats Beats
	missing := slices.Clone(nodes)
	for len(missing) > 0 {
		var m *nats.Msg
		select {
		case m = <-answers:
		case <-short.Done():
			return beats.All(), ctx.Err()
		}
		known := m.Header.Get("Status") == noResponders
		if !known {
			part, err := Parse(m.Data)
			known = err == nil && beats.Add(part, time.Now())
		}
		if known {
			missing = slices.DeleteFunc(missing, func(n string) bool { return to+"."+n == m.Subject })
		}
	}
	return beats.All(), nil
}
