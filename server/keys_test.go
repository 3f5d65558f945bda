package server

import (
	"net/http"
	"strings"
	"testing"
)

// newKeys makes keys of some roles, and returns the secret of each.
func newKeys(t testing.TB, roles ...Role) (keys *Keys, secrets []string) {
	t.Helper()
	var file strings.Builder
	for _, role := range roles {
		secret, line, err := NewKey("key-"+role.String(), role)
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, secret)
		file.WriteString(line + "\n")
	}
	keys, err := ReadKeys(strings.NewReader(file.String()))
	if err != nil {
		t.Fatal(err)
	}
	return keys, secrets
}

// TestSetKeys: new keys take the place of all old ones, and a server with keys never becomes one without.
func TestSetKeys(t *testing.T) {
	before, old := newKeys(t, RoleRead)
	after, fresh := newKeys(t, RoleRead)
	s := newServer(t, &Options{Keys: before})
	status := func(secret string) int {
		r := readRequest(t, "GET /v1/indexes")
		if secret != "" {
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		return send(s, r).StatusCode
	}
	check := func(secret string, want int) {
		t.Helper()
		if got := status(secret); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
	check(old[0], http.StatusOK)
	check(fresh[0], http.StatusUnauthorized)
	if err := s.SetKeys(nil); err == nil {
		t.Error("the keys can be taken away")
	}
	check("", http.StatusUnauthorized)
	if err := s.SetKeys(after); err != nil {
		t.Error(err)
	}
	check(old[0], http.StatusUnauthorized)
	check(fresh[0], http.StatusOK)
	if err := s.SetKeys(new(Keys)); err != nil {
		t.Error(err)
	}
	check(fresh[0], http.StatusUnauthorized)
	if err := newServer(t, nil).SetKeys(after); err == nil {
		t.Error("a server without keys gets some, though it checks other things then")
	}
}

// TestReadKeys: errors name the line.
func TestReadKeys(t *testing.T) {
	hash := strings.Repeat("0f", 32)
	for _, c := range []struct{ file, want string }{
		{"# nothing\n\n", ""},
		{"a read " + hash + "\n b  admin\t" + hash + "\n", ""},
		{"a read\n", "line 1 of the keys: a name, a role and a hash are wanted, not 2 words"},
		{"\na none " + hash, `line 2 of the keys: there is no role "none"`},
		{"a read 0f", "line 1 of the keys: the hash must be 64 hexadecimal digits"},
		{"a read " + hash + "\na write " + hash, `line 2 of the keys: a line above has the name "a", too`},
		{"ä read " + hash, "line 1 of the keys: the name of a key must have"},
	} {
		_, err := ReadKeys(strings.NewReader(c.file))
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.file, err, c.want)
		}
	}
}

// TestDrain: a server that announces its end says so to load balancers and clients, and answers as before.
func TestDrain(t *testing.T) {
	s := newServer(t, nil)
	ready, list := readRequest(t, "GET /readyz"), readRequest(t, "GET /v1/indexes")
	if r := send(s, ready); r.StatusCode != http.StatusOK || r.Header.Get("Connection") != "" {
		t.Errorf("%s, Connection: %s", r.Status, r.Header.Get("Connection"))
	}
	s.Drain()
	if r := send(s, ready); r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("ready: %s", r.Status)
	}
	if r := send(s, list); r.StatusCode != http.StatusOK || r.Header.Get("Connection") != "close" {
		t.Errorf("%s, Connection: %s", r.Status, r.Header.Get("Connection"))
	}
}
