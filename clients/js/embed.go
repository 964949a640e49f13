// Package js holds the modules of the JavaScript client holon-client, which the
// console in the browser uses too. It serves nothing itself.
package js

import "embed"

// Files are the modules, index.js first among them, without tests and types.
//
//go:embed *.js
var Files embed.FS
