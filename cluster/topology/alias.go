package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle/cluster/internal/ask"
)

// An Alias is another name of an index. It goes before an index of the same name.
type Alias struct {
	Version int    `json:"v"` // of the form of the entry
	Name    string `json:"name"`
	Index   string `json:"index"`
}

const aliasPrefix = "alias."

// Alias returns an alias. The error matches ErrNoIndex if there is none of the name.
func (m *Map) Alias(ctx context.Context, name string) (*Alias, error) {
	a, _, err := m.alias(ctx, name)
	return a, err
}

func (m *Map) alias(ctx context.Context, name string) (*Alias, uint64, error) {
	if !nameRule.MatchString(name) {
		return nil, 0, fmt.Errorf("%w: %s", ErrNoIndex, name)
	}
	e, err := m.read(ctx, aliasPrefix+name)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, fmt.Errorf("%w: %s", ErrNoIndex, name)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("topology: alias %s: %w", name, err)
	}
	a := &Alias{}
	if err := unmarshal(e.Value(), a, &a.Version); err != nil {
		return nil, 0, fmt.Errorf("topology: alias %s: %w", name, err)
	}
	a.Name = name
	return a, e.Revision(), nil
}

// SetAlias lets a name stand for an index. If the name stands for another one it must be from, which is empty for none.
func (m *Map) SetAlias(ctx context.Context, name, from, to string) error {
	if !nameRule.MatchString(name) || !nameRule.MatchString(to) {
		return fmt.Errorf("topology: %q and %q: 1 to 64 letters, digits, _ and - are allowed", name, to)
	}
	data, err := json.Marshal(&Alias{Version: Version, Name: name, Index: to})
	if err != nil {
		return fmt.Errorf("topology: alias %s: %w", name, err)
	}
	now, revision, err := m.alias(ctx, name)
	switch {
	case err == nil && now.Index == to:
		return nil
	case err == nil && now.Index == from:
		err = m.update(ctx, aliasPrefix+name, data, revision)
	case err == nil:
		return fmt.Errorf("%w: %s stands for %s", ErrExists, name, now.Index)
	case errors.Is(err, ErrNoIndex):
		_, err = ask.Heard(ctx, func(ctx context.Context) (uint64, error) { return m.kv.Create(ctx, aliasPrefix+name, data) })
	}
	if err != nil {
		return fmt.Errorf("topology: alias %s: %w", name, err)
	}
	return nil
}

// DeleteAlias removes an alias. The error matches ErrNoIndex if there is none of the name.
func (m *Map) DeleteAlias(ctx context.Context, name string) error {
	_, revision, err := m.alias(ctx, name)
	if err != nil {
		return err
	}
	if err := m.remove(ctx, aliasPrefix+name, revision); err != nil {
		return fmt.Errorf("topology: alias %s: %w", name, err)
	}
	return nil
}

// Aliases returns all aliases, by name.
func (m *Map) Aliases(ctx context.Context) ([]*Alias, error) {
	names, err := m.keys(ctx, aliasPrefix)
	if err != nil {
		return nil, err
	}
	var all []*Alias
	for _, name := range names {
		a, err := m.Alias(ctx, name)
		if errors.Is(err, ErrNoIndex) { // removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}
