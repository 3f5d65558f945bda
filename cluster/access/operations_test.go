package access_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/access"
	"github.com/riffle-search/riffle/cluster/node"
)

// TestOperations operates a cluster with the keys that the package comment names: a controller moves, trims, backs up and
// restores; what appends to logs needs a writer, too. Nobody, nodes least of all, lacks a right, and neither a writer nor
// a reader may do any of this.
func TestOperations(t *testing.T) {
	people = append(people, access.User{Name: "operator", Roles: []access.Role{access.Controller, access.Writer}}, access.User{Name: "c", Roles: []access.Role{access.Node}})
	defer func() { people = people[:len(people)-2] }()
	g := newGuarded(t)
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		conn, refused := g.connect(name)
		n, err := node.Start(t.Context(), node.Options{
			Name: name, Dir: filepath.Join(dir, name), Conn: conn, CopyBehind: 1, LeaveAfter: time.Millisecond, RetryAfter: 20 * time.Millisecond,
			Engine: riffle.Options{Durability: riffle.SyncNone},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		defer func() {
			if lacks := refused(); lacks != nil {
				t.Errorf("node %s lacks rights: %q", name, lacks)
			}
		}()
	}
	as := func(name string) *cluster.Client {
		conn, refused := g.connect(name)
		c, err := cluster.Connect(t.Context(), conn, &cluster.Options{FollowEvery: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if lacks := refused(); lacks != nil && (name == "controller" || name == "operator") {
				t.Errorf("%s lacks rights: %q", name, lacks)
			}
			c.Close()
		})
		return c
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	controller, operator := as("controller"), as("operator")
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	must("create", controller.Create(ctx, cluster.IndexOptions{Name: "books", Shards: 1, Replicas: 2, Nodes: []string{"a", "b"}, LogBytes: 64 << 20}))
	written, err := g.index("writer").Write(ctx, put("moby", map[string]any{"title": "Moby Dick"}))
	if err != nil || written.Err() != nil {
		t.Fatal(err, written.Err())
	}
	must("move", controller.Move(ctx, "books", 0, "a", "c"))
	_, err = controller.Trim(ctx, "books")
	must("trim", err)
	backup := filepath.Join(dir, "backup")
	_, err = controller.TakeBackup(ctx, "books", backup)
	must("backup", err)
	must("restore", controller.Restore(ctx, backup, cluster.RestoreOptions{Name: "again", LogBytes: 64 << 20, Work: dir}))
	r, err := operator.Check(ctx, "again")
	if err != nil || len(r.Faults()) > 0 {
		t.Errorf("check: %q, %v", r.Faults(), err)
	}
	must("alter the schema", operator.AlterSchema(ctx, "again", &riffle.Schema{Fields: map[string]riffle.Field{"n": {Type: riffle.FieldNumber}}}))
	must("reindex", operator.Reindex(ctx, "again", cluster.ReindexOptions{Shards: 2, LogBytes: 64 << 20, Work: dir}))
	for _, name := range []string{"reader", "writer", "both"} {
		c := as(name)
		for what, do := range map[string]func(context.Context) error{
			"moves":     func(ctx context.Context) error { return c.Move(ctx, "books", 0, "b", "a") },
			"drains":    func(ctx context.Context) error { return c.Drain(ctx, "b", nil) },
			"takes":     func(ctx context.Context) error { _, err := c.TakeBackup(ctx, "books", backup+name); return err },
			"reindexes": func(ctx context.Context) error { return c.Reindex(ctx, "books", cluster.ReindexOptions{}) },
		} {
			short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if err := do(short); err == nil {
				t.Errorf("%s %s", name, what)
			}
			cancel()
		}
	}
}
