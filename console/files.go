package console

import "embed"

// static holds the files of the page, without what makes the libraries.
//
//go:embed static/*.* static/app static/vendor/*.js static/vendor/licences.txt
var static embed.FS
