package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"github.com/riffle-search/riffle/cluster/access"
)

// connectFlags say how a process reaches a cluster, and who it is there.
type connectFlags struct {
	nats              string // URL
	key               string // file with the secret key
	cert, certKey, ca string // files
}

// declare adds the flags to a command's. usage is that of --nats.
func (f *connectFlags) declare(flags *pflag.FlagSet, url, usage string) {
	flags.StringVar(&f.nats, "nats", url, usage)
	flags.StringVar(&f.key, "nats-key", "", "with --nats: file with the secret key that riffle cluster key made")
	flags.StringVar(&f.cert, "cluster-cert", "", "file of the certificate for connections within the cluster, in PEM")
	flags.StringVar(&f.certKey, "cluster-key", "", "file of the certificate's private key, in PEM")
	flags.StringVar(&f.ca, "cluster-ca", "", "file of the certificates of the authority by which members of the cluster know each other, in PEM")
}

func (f *connectFlags) check() error {
	if (f.cert == "") != (f.certKey == "") || f.cert != "" && f.ca == "" {
		return errors.New("--cluster-cert, --cluster-key and --cluster-ca need each other")
	}
	return nil
}

// tls returns the configuration for connections within the cluster, or nil. A process without a certificate can only be
// a client.
func (f *connectFlags) tls() (*tls.Config, error) {
	if f.ca == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.ca)
	if err != nil {
		return nil, fmt.Errorf("--cluster-ca: %w", err)
	}
	c := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !c.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--cluster-ca: %s has no certificate", f.ca)
	}
	if c.ClientCAs = c.RootCAs; f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.certKey)
		if err != nil {
			return nil, fmt.Errorf("--cluster-cert, --cluster-key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// connect connects to servers of NATS of other processes.
func (f *connectFlags) connect(name string, log *slog.Logger) (*nats.Conn, error) {
	config, err := f.tls()
	if err != nil {
		return nil, err
	}
	options := keptUp(name, log)
	if f.key != "" {
		seed, err := access.ReadSeed(f.key)
		if err != nil {
			return nil, fmt.Errorf("--nats-key: %w", err)
		}
		key, err := access.Options(seed)
		if err != nil {
			return nil, fmt.Errorf("--nats-key: %w", err)
		}
		options = append(options, key...)
	}
	if config != nil {
		options = append(options, nats.Secure(config))
	}
	c, err := nats.Connect(f.nats, options...)
	if err != nil {
		return nil, fmt.Errorf("--nats %s: %w", f.nats, err)
	}
	return c, nil
}

// keptUp returns the options of a connection to NATS that is kept up for as long as the process runs.
func keptUp(name string, log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("the connection to the cluster is lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info("the connection to the cluster is back") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("NATS", "error", err) }),
	}
}
