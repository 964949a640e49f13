package client

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// Certificates returns the certificates of a PEM text; other blocks are passed over.
// The error says what is there instead, and never quotes it.
func Certificates(text []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	keys := false
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			keys = keys || strings.HasSuffix(block.Type, "PRIVATE KEY")
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d cannot be read: %w", len(all)+1, err)
		}
		all = append(all, certificate)
	}
	switch {
	case len(all) > 0:
		return all, nil
	case keys:
		return nil, errors.New("a private key is in there, and no certificate: give the certificate of the authority")
	}
	return nil, errors.New("there is no certificate in the form of PEM, which begins with -----BEGIN CERTIFICATE-----")
}

// TLSConfig returns how to check the server's certificate: by the authorities of the
// system, and those of CA.
func (e Endpoint) TLSConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(e.CA) == 0 {
		return config, nil
	}
	further, err := Certificates(e.CA)
	if err != nil {
		return nil, fmt.Errorf("further certificates: %w", err)
	}
	if config.RootCAs, err = x509.SystemCertPool(); err != nil {
		config.RootCAs = x509.NewCertPool() // this system has none
	}
	for _, certificate := range further {
		config.RootCAs.AddCert(certificate)
	}
	return config, nil
}

// CertificateReason says what is wrong with a server's certificate.
type CertificateReason string

// What may be wrong with a certificate.
const (
	CertificateUntrusted CertificateReason = "untrusted"
	CertificateName      CertificateReason = "name"
	CertificateTime      CertificateReason = "time"
	CertificateInvalid   CertificateReason = "invalid"
)

// CertificateError says that the certificate of the server at URL was not accepted.
// No request was sent.
type CertificateError struct {
	URL    string
	Reason CertificateReason
	// Err is the error of crypto/tls.
	Err error

	text string
}

// Error describes what is wrong with the certificate.
func (e *CertificateError) Error() string { return "the certificate of " + e.URL + " " + e.text }

// Unwrap returns the error of crypto/tls.
func (e *CertificateError) Unwrap() error { return e.Err }

// ofCertificate turns an error of the handshake into a CertificateError, nil if it is
// about something else.
func ofCertificate(endpoint Endpoint, err error) *CertificateError {
	var refused *tls.CertificateVerificationError
	if !errors.As(err, &refused) {
		return nil
	}
	e := &CertificateError{URL: endpoint.URL, Reason: CertificateInvalid, Err: refused.Err}
	e.text = fmt.Sprintf("is not valid: %v", refused.Err)
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		e.Reason, e.text = CertificateUntrusted, untrusted(refused.UnverifiedCertificates)
	case errors.As(err, &name):
		e.Reason, e.text = CertificateName, fmt.Sprintf("is not for %s, but for %s", name.Host, namesOf(name.Certificate))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		e.Reason, e.text = CertificateTime, "has expired or is not valid yet: it is valid from "+
			invalid.Cert.NotBefore.UTC().Format("2006-01-02 15:04")+" to "+invalid.Cert.NotAfter.UTC().Format("2006-01-02 15:04")+" UTC"
	}
	return e
}

// untrusted names who has signed the certificates of a server.
func untrusted(chain []*x509.Certificate) string {
	if len(chain) == 0 {
		return "is not trusted"
	}
	last := chain[len(chain)-1]
	switch {
	case len(chain) == 1 && bytes.Equal(last.RawIssuer, last.RawSubject):
		return "is not trusted: it has signed itself"
	case last.Issuer.String() == "":
		return "is not trusted: this machine does not know the authority that has signed it"
	}
	return fmt.Sprintf("is not trusted: this machine does not know the authority that has signed it, %s", last.Issuer)
}

// namesOf lists some names that a certificate is for.
func namesOf(c *x509.Certificate) string {
	names := c.DNSNames
	for _, ip := range c.IPAddresses {
		names = append(names[:len(names):len(names)], ip.String())
	}
	const most = 5
	switch {
	case len(names) == 0:
		return "no host at all"
	case len(names) > most:
		return strings.Join(names[:most], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}
