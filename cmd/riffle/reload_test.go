package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writeCertificate writes a certificate for 127.0.0.1 with a serial number, and its key.
func writeCertificate(t *testing.T, dir string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCertificatesAndKeysAreReadAgain: a server takes new files without a pause, and keeps what it has if they are wrong.
func TestCertificatesAndKeysAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	cert, keys := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "keys")
	writeCertificate(t, dir, 1)
	first := strings.TrimSpace(must(t, "key", "--keys", keys, "first", "read"))
	p := startServe(t, "--dir", filepath.Join(dir, "indexes"), "--tls-cert", cert, "--tls-key", filepath.Join(dir, "key.pem"), "--keys", keys)
	if !strings.HasPrefix(p.url, "https://") {
		t.Fatalf("serving on %s", p.url)
	}
	get := func(secret string) (status int, serial int64) {
		t.Helper()
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
		r, err := http.NewRequest("GET", p.url+"/v1/indexes", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		answer, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.ProtoMajor != 2 {
			t.Errorf("the protocol is %s", answer.Proto)
		}
		return answer.StatusCode, answer.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if status, serial := get(first); status != http.StatusOK || serial != 1 {
		t.Fatalf("status %d, certificate %d", status, serial)
	}

	second := strings.TrimSpace(must(t, "key", "--keys", keys, "second", "admin"))
	waitUntil(t, "the second key is known", func() bool { status, _ := get(second); return status == http.StatusOK })
	writeCertificate(t, dir, 2)
	waitUntil(t, "the new certificate is served", func() bool { _, serial := get(first); return serial == 2 })

	for _, path := range []string{cert, keys} {
		if err := os.WriteFile(path, []byte("nonsense\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	waitUntil(t, "wrong files are reported", func() bool {
		log := p.log.String()
		return strings.Contains(log, `level=ERROR msg="not read again" flag=--tls-cert`) && strings.Contains(log, `level=ERROR msg="not read again" flag=--keys`)
	})
	if status, serial := get(second); status != http.StatusOK || serial != 2 {
		t.Errorf("after wrong files: status %d, certificate %d", status, serial)
	}

	again := strings.Count(p.log.String(), "read again")
	p.Process.Signal(syscall.SIGHUP)
	waitUntil(t, "files are read on SIGHUP", func() bool { return strings.Count(p.log.String(), "read again") == again+2 })
	p.end(t)
}

// TestKeyFile: riffle key makes a file that others cannot read, and leaves it as it is if the key cannot be added.
func TestKeyFile(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	secret := must(t, "key", "--keys", keys, "crawler", "write")
	if st, err := os.Stat(keys); err != nil || st.Mode() != 0o600 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	before, err := os.ReadFile(keys)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(before), strings.TrimSpace(secret)) {
		t.Error("the file has the secret")
	}
	if code, _, stderr := commandLine("", "key", "--keys", keys, "crawler", "read"); code != exitFailure || !strings.Contains(stderr, "line 2 of the keys: a line above has the name") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if after, _ := os.ReadFile(keys); string(after) != string(before) {
		t.Errorf("the file has become %q", after)
	}
	if err := os.WriteFile(keys, []byte(strings.TrimSpace(string(before))), 0o600); err != nil { // as an editor may leave it
		t.Fatal(err)
	}
	must(t, "key", "--keys", keys, "reader", "read")
	if k, err := readKeys(keys); err != nil || k == nil {
		t.Errorf("%v", err)
	}
}
