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

// noResponders is the status of a server that nobody listens.
const noResponders = "503"

// Ask asks all nodes and returns their answers, by name, when those named have answered, or after the time
// wait, or when ctx ends.
func Ask(ctx context.Context, c *nats.Conn, nodes []string, wait time.Duration) ([]Heard, error) {
	inbox, err := c.SubscribeSync(c.NewInbox())
	if err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	defer inbox.Unsubscribe()
	if err := c.PublishRequest(AskSubject, inbox.Subject, nil); err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	short, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var beats Beats
	missing := slices.Clone(nodes)
	for len(missing) > 0 {
		m, err := inbox.NextMsgWithContext(short)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case short.Err() != nil:
			return beats.All(), nil
		case err != nil:
			return nil, fmt.Errorf("heartbeat: %w", err)
		case m.Header.Get("Status") == noResponders:
			return nil, nil
		}
		part, err := Parse(m.Data)
		if err == nil && beats.Add(part, time.Now()) {
			missing = slices.DeleteFunc(missing, func(n string) bool { return n == part.Node })
		}
	}
	return beats.All(), nil
}
