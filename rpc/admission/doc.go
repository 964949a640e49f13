// Package admission decides which connections and requests may reach the
// control plane. Control of agents is code execution as the user, so a request
// in doubt is refused.
//
// It owns the rules against browsers (Host, Origin, Sec-Fetch-Site), the bearer
// token and its files, which peers of a loopback TCP connection or a unix
// socket are admitted, and the unix socket file itself. It knows no JSON-RPC
// method; of this module it imports host, which looks peers up.
//
// A server makes one [Gate] for each listener, because the rules depend on the
// listener. So it needs one http.Server for each listener:
//
//	policy := admission.Policy{Mode: admission.Auto, Listen: "127.0.0.1:8080", Kind: admission.LoopbackTCP}
//	if err := policy.Check(); err != nil { … }     // before anything is opened; exit status 2
//	policy.Token, err = admission.LoadOrCreateToken(dataDir)
//	gate, err := admission.New(policy)
//	srv := &http.Server{
//		Handler:                      gate.Middleware(mux),
//		ConnContext:                  gate.ConnContext,
//		DisableGeneralOptionsHandler: true,        // else net/http answers "OPTIONS *" itself
//	}
//
// The package never writes a token into a log, an error, a header of a reply
// or a metric, and never takes one from a URL. docs/security.md has the threat
// model and the tables.
package admission
