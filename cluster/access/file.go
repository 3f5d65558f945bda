package access

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// AnswerWithin is how long after a message a user may answer it.
const AnswerWithin = 5 * time.Minute

// ReadUsers reads users, one a line: name, roles joined by commas, and the public key, with spaces between. Empty
// lines and those that begin with # do not count.
func ReadUsers(r io.Reader) (users []User, err error) {
	lines := bufio.NewScanner(r)
	names, keys := map[string]bool{}, map[string]bool{}
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		parts := strings.Fields(text)
		if len(parts) != 3 {
			return nil, fmt.Errorf("access: line %d: want a name, roles and a public key", n)
		}
		u := User{Name: parts[0], Key: parts[2]}
		for role := range strings.SplitSeq(parts[1], ",") {
			u.Roles = append(u.Roles, Role(role))
		}
		if err := u.Check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if names[u.Name] || keys[u.Key] {
			return nil, fmt.Errorf("access: line %d: the name or the key of user %s comes twice", n, u.Name)
		}
		names[u.Name], keys[u.Key] = true, true
		users = append(users, u)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	return users, nil
}

// Line returns the line of a user in a file of users.
func (u *User) Line() string { return fmt.Sprintf("%s %s %s\n", u.Name, joined(u.Roles), u.Key) }

// ReadSeed reads the secret half of a key from a file.
func ReadSeed(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("access: %w", err)
	}
	seed := strings.TrimSpace(string(data))
	if _, err := nkeys.FromSeed([]byte(seed)); err != nil || !strings.HasPrefix(seed, "SU") {
		return "", fmt.Errorf("access: %s has no secret key of a user", path)
	}
	return seed, nil
}

// Options returns the options of a connection to NATS by a key.
func Options(seed string) ([]nats.Option, error) {
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	key, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	return []nats.Option{nats.Nkey(key, pair.Sign), nats.CustomInboxPrefix(Inbox(key))}, nil
}
