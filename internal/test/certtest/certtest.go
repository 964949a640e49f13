// Package certtest makes authorities and certificates. It is for tests only.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// PEM is its own certificate, what a client is to trust.
	PEM []byte
}

// New makes an authority.
func New(t *testing.T, name string) *Authority {
	t.Helper()
	a := &Authority{t: t}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert, a.key, a.PEM = certificate(t, template, nil)
	return a
}

// Issue makes a certificate for hosts that is valid from one hour ago until an hour
// after now plus shift.
func (a *Authority) Issue(shift time.Duration, hosts ...string) tls.Certificate {
	a.t.Helper()
	return issue(a.t, a, shift, hosts)
}

// SelfSigned makes a certificate without an authority, and its PEM.
func SelfSigned(t *testing.T, hosts ...string) (tls.Certificate, []byte) {
	t.Helper()
	c := issue(t, nil, 0, hosts)
	return c, encode("CERTIFICATE", c.Certificate[0])
}

// Files writes a certificate and its key as a server reads them.
func Files(t *testing.T, c tls.Certificate) (cert, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, text := range map[string][]byte{cert: encode("CERTIFICATE", c.Certificate[0]), key: encode("PRIVATE KEY", der)} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func issue(t *testing.T, by *Authority, shift time.Duration, hosts []string) tls.Certificate {
	t.Helper()
	until := time.Now().Add(time.Hour + shift)
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "a server"}, NotBefore: until.Add(-2 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	cert, key, _ := certificate(t, template, by)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// certificate makes a certificate; by is nil for one that signs itself.
func certificate(t *testing.T, template *x509.Certificate, by *Authority) (*x509.Certificate, *ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, encode("CERTIFICATE", der)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
