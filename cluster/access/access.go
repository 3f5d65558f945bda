// Package access says what the programs of a cluster may do: which subjects of NATS each role publishes to and
// subscribes to, and by which keys (nkeys, Ed25519) programs prove who they are.
//
//	role         may
//	reader       search, get and count; list indexes; see how the cluster is doing
//	writer       change documents
//	controller   create, change and drop indexes, and all that a reader may
//	node         have replicas, and answer for them
//
// A program has a key with one role or several: linearizable reads, for example, need a writer, since they append
// to the log. So do checks of replicas, reindexing and changes of a schema, beside a controller. A key with the role node is that of one node, and answers for no other.
//
// # What a role can do besides
//
// JetStream does not divide its requests more finely. A writer can read the messages of logs, because it must find
// out whether an earlier attempt has succeeded. A node makes consumers, by which it could have a server write
// into a log. So give these roles to programs that may see and change all documents. A reader can do
// neither: it makes no consumer.
//
// NATS does not ask where an answer goes. Every role may request something, and so can let a server or a node send an
// answer to a log, where replicas leave it out, or to the map, where it hides an entry until a person restores it.
// A key of any role is therefore for programs of the cluster, not for the people who search: give them HTTP (package server).
//
// Servers know these permissions by package embedded, or by Config for servers that run elsewhere. In such, give
// riffle an account of its own.
package access

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nats-io/nkeys"
)

// A Role is what a program of the cluster is.
type Role string

// The roles.
const (
	Reader     Role = "reader"
	Writer     Role = "writer"
	Controller Role = "controller"
	Node       Role = "node"
)

// Roles are all roles.
var Roles = []Role{Reader, Writer, Controller, Node}

// A User is who has a key.
type User struct {
	Name  string // for people; that of the node with the role Node
	Key   string // the public key, which begins with U
	Roles []Role
}

var nameRule = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Check returns an error unless the user is valid.
func (u *User) Check() error {
	switch {
	case !nameRule.MatchString(u.Name):
		return fmt.Errorf("access: %q is no name: 1 to 64 letters, digits, _ and - are allowed", u.Name)
	case !nkeys.IsValidPublicUserKey(u.Key):
		return fmt.Errorf("access: user %s: %q is no public key of a user", u.Name, u.Key)
	case len(u.Roles) == 0:
		return fmt.Errorf("access: user %s has no role", u.Name)
	}
	for _, r := range u.Roles {
		if !slices.Contains(Roles, r) {
			return fmt.Errorf("access: user %s: %q is no role", u.Name, r)
		}
	}
	return nil
}

// Rights are subjects, with wildcards.
type Rights struct {
	Publish, Subscribe []string

	// Answers is how many messages the user may send to the reply subject of a message it received; 0 for none.
	Answers int
}

// Rights returns what a user may do.
func (u *User) Rights() Rights {
	r := Rights{Subscribe: []string{Inbox(u.Key) + ".>"}}
	for _, role := range u.Roles {
		of := rightsOf(role, u.Name)
		r.Publish, r.Subscribe, r.Answers = append(r.Publish, of.Publish...), append(r.Subscribe, of.Subscribe...), max(r.Answers, of.Answers)
	}
	r.Publish, r.Subscribe = once(r.Publish), once(r.Subscribe)
	return r
}

func once(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// Inbox is where replies to a user come: its own, so that no other reads them.
func Inbox(key string) string { return "_INBOX." + key }

const (
	bucket = "KV_RIFFLE_MAP" // stream of the map of package topology
	api    = "$JS.API."
)

// ofAll are what all roles publish to: they read the map, and where the logs end.
var ofAll = []string{api + "STREAM.INFO.*", api + "STREAM.MSG.GET." + bucket}

// beatMessages is the most messages of a beat (package heartbeat).
const beatMessages = 1000

func rightsOf(role Role, name string) Rights {
	switch role {
	case Reader:
		return Rights{Publish: append([]string{"riffle.*.q.>", "riffle-node.*.ask"}, ofAll...), Subscribe: []string{"riffle-node.*.beat"}}
	case Writer:
		return Rights{Publish: append([]string{"riffle.*.w.*.*.*", api + "STREAM.MSG.GET.*"}, ofAll...)}
	case Controller:
		return Rights{
			Publish:   []string{api + ">", "$KV.RIFFLE_MAP.>", "$JS.FC.>", "riffle-node.*.do", "riffle-restore.*.do", "riffle-node.*.ask", "riffle.*.q.>"},
			Subscribe: []string{"riffle-node.*.beat", "riffle-restore.*.do"},
			Answers:   beatMessages,
		}
	case Node:
		return Rights{
			Publish: append([]string{
				"riffle-node." + name + ".beat", "riffle-node.*.ask", "riffle-node.*.do", "riffle-restore.*.do", "$KV.RIFFLE_MAP.node." + name, "$JS.FC.>",
				api + "STREAM.CREATE." + bucket, api + "STREAM.MSG.GET.*",
				api + "CONSUMER.CREATE.>", api + "CONSUMER.INFO.*.*", api + "CONSUMER.DELETE.*.*", api + "CONSUMER.MSG.NEXT.*.*",
			}, ofAll...),
			Subscribe: []string{"riffle.*.q.*.*." + name, "riffle-node." + name + ".do", "riffle-node." + name + ".ask", "riffle-node.*.beat"},
			Answers:   beatMessages,
		}
	}
	return Rights{}
}

// NewUser makes a user with a new key, of which the seed is the secret half.
func NewUser(name string, roles ...Role) (u User, seed string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return u, "", fmt.Errorf("access: %w", err)
	}
	defer pair.Wipe()
	u = User{Name: name, Roles: roles}
	secret, err := pair.Seed()
	if err == nil {
		u.Key, err = pair.PublicKey()
	}
	return u, string(secret), errors.Join(err, u.Check())
}

// Config returns users as the block "authorization" of the configuration of a server of NATS.
func Config(users []User) string {
	var b strings.Builder
	quoted := func(list []string) string {
		for i, s := range list {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%q", s)
		}
		return ""
	}
	b.WriteString("authorization {\n  users = [\n")
	for _, u := range users {
		r := u.Rights()
		fmt.Fprintf(&b, "    # %s: %s\n    {nkey: %s, permissions: {\n      publish: [", u.Name, joined(u.Roles), u.Key)
		quoted(r.Publish)
		b.WriteString("]\n      subscribe: [")
		quoted(r.Subscribe)
		b.WriteString("]\n")
		if r.Answers > 0 {
			fmt.Fprintf(&b, "      allow_responses: {max: %d, expires: \"%v\"}\n", r.Answers, AnswerWithin)
		}
		b.WriteString("    }}\n")
	}
	b.WriteString("  ]\n}\n")
	return b.String()
}

func joined(roles []Role) string {
	texts := make([]string, len(roles))
	for i, r := range roles {
		texts[i] = string(r)
	}
	return strings.Join(texts, ",")
}
