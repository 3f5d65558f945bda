package embedded

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/riffle-search/riffle/cluster/access"
)

// tlsTimeout is how long a handshake may take: a node under load is slow.
const tlsTimeout = 5 * time.Second

// allow sets who may connect, and returns the secret of the user of this process, who may do everything, and connects in
// this process alone; it is empty if everybody may.
func allow(so *server.Options, o *Options) (seed string, err error) {
	own, seed, err := access.NewUser("process", access.Controller)
	if err != nil {
		return "", err
	}
	if so.TLSConfig = o.ClientTLS; so.TLSConfig != nil {
		so.TLS, so.TLSVerify, so.TLSTimeout = true, o.ClientTLS.ClientAuth == tls.RequireAndVerifyClientCert, tlsTimeout.Seconds()
	}
	if o.Open {
		if len(o.Users) > 0 {
			return "", errors.New("embedded: Options.Open and Users contradict each other")
		}
		return "", nil
	}
	so.Nkeys = []*server.NkeyUser{{Nkey: own.Key, AllowedConnectionTypes: map[string]struct{}{jwt.ConnectionTypeInProcess: {}}}}
	for _, u := range o.Users {
		if err := u.Check(); err != nil {
			return "", fmt.Errorf("embedded: %w", err)
		}
		r := u.Rights()
		p := &server.Permissions{Publish: &server.SubjectPermission{Allow: r.Publish}, Subscribe: &server.SubjectPermission{Allow: r.Subscribe}}
		if r.Answers > 0 {
			p.Response = &server.ResponsePermission{MaxMsgs: r.Answers, Expires: access.AnswerWithin}
		}
		so.Nkeys = append(so.Nkeys, &server.NkeyUser{Nkey: u.Key, Permissions: p})
	}
	return seed, nil
}

// verified returns a configuration in which both ends must show a certificate.
func verified(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	c = c.Clone()
	c.ClientAuth = tls.RequireAndVerifyClientCert
	if c.ClientCAs == nil {
		c.ClientCAs = c.RootCAs
	}
	return c
}
