package server

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// A Role says what the holder of a key may do. Each role may do what the ones before it may.
type Role uint8

const (
	RoleNone  Role = iota // what needs no key: health, the OpenAPI document, the files of the page
	RoleRead              // search, and read documents, schemas and figures
	RoleWrite             // change documents
	RoleAdmin             // create, drop, compact and copy indexes; profiles
)

var roleNames = []string{"none", "read", "write", "admin"}

// String returns the name of the role in small letters.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("Role(%d)", uint8(r))
}

// ParseRole returns the role of a name: read, write or admin.
func ParseRole(name string) (Role, error) {
	for r, n := range roleNames[1:] {
		if n == name {
			return Role(r + 1), nil
		}
	}
	return RoleNone, fmt.Errorf("there is no role %q, only read, write and admin", name)
}

// keyPrefix begins every key, so that people and programs that look for secrets know one when they see it.
const keyPrefix = "riffle_"

// Keys are the API keys of a Server, which refuses everybody if there are none. They hold hashes, from which a key cannot be found: a key has 160 random bits.
type Keys struct {
	entries []keyEntry
}

type keyEntry struct {
	name string
	role Role
	hash [sha256.Size]byte
}

// NewKey makes a key. It returns the secret, which is not kept anywhere, and a line for the file that ReadKeys
// reads.
func NewKey(name string, role Role) (secret, line string, err error) {
	if err := checkKeyName(name); err != nil {
		return "", "", err
	}
	if role == RoleNone || role > RoleAdmin {
		return "", "", fmt.Errorf("server: a key needs the role read, write or admin, not %v", role)
	}
	secret = keyPrefix + strings.ToLower(rand.Text())
	hash := sha256.Sum256([]byte(secret))
	return secret, fmt.Sprintf("%s %s %s", name, role, hex.EncodeToString(hash[:])), nil
}

// ReadKeys reads keys from lines such as
//
//	crawler write 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//
// of a name for logs, a role, and the SHA-256 of the secret in hexadecimal digits. Empty lines and those that
// begin with # are skipped.
func ReadKeys(r io.Reader) (*Keys, error) {
	k := new(Keys)
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		e, err := parseKey(text)
		if err != nil {
			return nil, fmt.Errorf("server: line %d of the keys: %w", n, err)
		}
		for _, other := range k.entries {
			if other.name == e.name {
				return nil, fmt.Errorf("server: line %d of the keys: a line above has the name %q, too", n, e.name)
			}
		}
		k.entries = append(k.entries, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("server: reading keys: %w", err)
	}
	return k, nil
}

func parseKey(line string) (e keyEntry, err error) {
	parts := strings.Fields(line)
	if len(parts) != 3 {
		return e, fmt.Errorf("a name, a role and a hash are wanted, not %d words", len(parts))
	}
	if err := checkKeyName(parts[0]); err != nil {
		return e, err
	}
	e.name = parts[0]
	if e.role, err = ParseRole(parts[1]); err != nil {
		return e, err
	}
	hash, err := hex.DecodeString(parts[2])
	if err != nil || len(hash) != len(e.hash) {
		return e, fmt.Errorf("the hash must be %d hexadecimal digits", 2*len(e.hash))
	}
	copy(e.hash[:], hash)
	return e, nil
}

// checkKeyName admits what can stand in a line and in a log.
func checkKeyName(name string) error {
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '#' }) {
		return fmt.Errorf("the name of a key must have 1 to 64 printable ASCII characters without spaces and #, not %q", name)
	}
	return nil
}

// find returns the name and the role of a key. How long it takes says nothing about the keys: all hashes are
// compared, each in constant time.
func (k *Keys) find(secret string) (name string, role Role) {
	hash := sha256.Sum256([]byte(secret))
	for i := range k.entries {
		if e := &k.entries[i]; subtle.ConstantTimeCompare(hash[:], e.hash[:]) == 1 {
			name, role = e.name, e.role
		}
	}
	return name, role
}

// SetKeys replaces the keys of a Server that was made with some. Requests that come later need a new key. To go on
// without keys is not possible.
func (s *Server) SetKeys(k *Keys) error {
	if k == nil || s.keys.Load() == nil {
		return errors.New("server: SetKeys replaces keys by others: it can neither add the first ones nor take all away")
	}
	s.keys.Store(k)
	return nil
}

// authorize finds the key of a request and makes sure that it has a role. Without keys, everybody has every role.
func (s *Server) authorize(r *http.Request, need Role) (name string, err error) {
	keys := s.keys.Load()
	if keys == nil || need == RoleNone {
		return "", nil
	}
	secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		if _, secret, ok = r.BasicAuth(); !ok {
			return "", kindKey.fault("send the key as a bearer token, or as the password of basic authentication")
		}
	}
	name, role := keys.find(secret)
	if role == RoleNone {
		return "", kindKey.fault("the key is not known")
	}
	if role < need {
		return name, kindRole.fault("the key %q has the role %v, and %v is needed", name, role, need)
	}
	return name, nil
}
