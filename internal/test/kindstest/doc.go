// Package kindstest has what tests of bridges need: targets on loopback that behave
// as the documentation of Slack, GitHub, ntfy and Standard Webhooks says, and that
// fail on demand; and Exercise, the suite that every kind passes.
//
//	func Listen(t testing.TB, h http.Handler) *Listener     // http://127.0.0.1:…
//	func ListenTLS(t testing.TB, h http.Handler) *Listener  // with a certificate of its own
//	func NewReceiver(t testing.TB, secrets ...string) *Receiver
//	func NewNtfy(t testing.TB) *Ntfy
//	func NewSlack(t testing.TB, token string) *Slack
//	func NewGitHub(t testing.TB, token string) *GitHub
//	func NewStuck(t testing.TB) *Stuck                      // a channel whose Send does not return
//	func Exercise(t *testing.T, r Rig)
//
// Every target records its requests (Listener.Requests) and fails the next of them
// as it is told (Listener.Fail). What people would see there is its Shown.
package kindstest
