package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle/cluster/internal/ask"
)

// A Node is a node that has registered. Its entry stays: another machine never gets the name.
type Node struct {
	Version int    `json:"v"` // of the form of the entry
	Name    string `json:"name"`

	// Identity is that of its directory, so that a name is not used for two.
	Identity string `json:"identity"`

	Joined time.Time `json:"joined"` // when it registered

	// Drained is set while the node is to have no replicas: no new ones are placed on it.
	Drained bool `json:"drained,omitempty"`
}

var (
	// ErrNameTaken says that a node with another directory has registered under a name.
	ErrNameTaken = errors.New("topology: another node has the name")

	// ErrNoNode says that no node has registered under a name.
	ErrNoNode = errors.New("topology: there is no such node")
)

// RestorePrefix begins the names of programs that give copies while they restore an index (Index.Source). No
// node has such a name.
const RestorePrefix = "restore-"

const nodePrefix = "node."

// Register adds a node, or finds that it is there. With replace it takes the name from a node that had
// another directory. Otherwise the error matches ErrNameTaken then.
func (m *Map) Register(ctx context.Context, name, identity string, replace bool) error {
	if !nameRule.MatchString(name) || strings.HasPrefix(name, RestorePrefix) {
		return fmt.Errorf("topology: %q is no name of a node: 1 to 64 letters, digits, _ and - are allowed, and no %s at the beginning", name, RestorePrefix)
	}
	n := &Node{Version: Version, Name: name, Identity: identity, Joined: time.Now().UTC()}
	data, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("topology: node %s: %w", name, err)
	}
	_, err = ask.Until(ctx, func(ctx context.Context) (uint64, error) { return m.kv.Create(ctx, nodePrefix+name, data) })
	if !errors.Is(err, jetstream.ErrKeyExists) {
		if err != nil {
			err = fmt.Errorf("topology: node %s: %w", name, err)
		}
		return err
	}
	unchanged := errors.New("it is registered")
	err = m.UpdateNode(ctx, name, func(n *Node) error {
		switch {
		case n.Identity == identity:
			return unchanged
		case !replace:
			return fmt.Errorf("%w: %s registered from another directory on %s", ErrNameTaken, name, n.Joined.Format(time.RFC3339))
		}
		n.Identity, n.Joined = identity, time.Now().UTC()
		return nil
	})
	if errors.Is(err, unchanged) {
		return nil
	}
	return err
}

// Node returns a node. The error matches ErrNoNode if there is none of the name.
func (m *Map) Node(ctx context.Context, name string) (*Node, error) {
	n, _, err := m.node(ctx, name)
	return n, err
}

func (m *Map) node(ctx context.Context, name string) (*Node, uint64, error) {
	if !nameRule.MatchString(name) {
		return nil, 0, fmt.Errorf("%w: %s", ErrNoNode, name)
	}
	e, err := m.read(ctx, nodePrefix+name)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, fmt.Errorf("%w: %s", ErrNoNode, name)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("topology: node %s: %w", name, err)
	}
	n := &Node{}
	if err := unmarshal(e.Value(), n, &n.Version); err != nil {
		return nil, 0, fmt.Errorf("topology: node %s: %w", name, err)
	}
	return n, e.Revision(), nil
}

// UpdateNode changes a node. change is called again if somebody else has changed it meanwhile.
func (m *Map) UpdateNode(ctx context.Context, name string, change func(*Node) error) error {
	for {
		n, revision, err := m.node(ctx, name)
		if err != nil {
			return err
		}
		if err := change(n); err != nil {
			return err
		}
		n.Name = name
		data, err := json.Marshal(n)
		if err != nil {
			return fmt.Errorf("topology: node %s: %w", name, err)
		}
		err = m.update(ctx, nodePrefix+name, data, revision)
		if !errors.Is(err, jetstream.ErrKeyExists) {
			if err != nil {
				err = fmt.Errorf("topology: node %s: %w", name, err)
			}
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// Nodes returns all nodes that have registered, by name.
func (m *Map) Nodes(ctx context.Context) ([]*Node, error) {
	names, err := m.keys(ctx, nodePrefix)
	if err != nil {
		return nil, err
	}
	var all []*Node
	for _, name := range names {
		n, err := m.Node(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}
