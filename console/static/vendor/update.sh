#!/bin/sh
# Brings the console's libraries into this directory: packages of npm, each as one
# module whose imports are relative, so that browsers load them without an import map.
# It writes manifest.json and licences.txt beside them. Run it after a change of a
# version below; nothing else edits the files, and a test compares them with the manifest.
set -eu
cd "$(dirname "$0")"
here=$PWD
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
rows=
: >licences.txt

# package NAME VERSION LICENCE fetches a package and keeps the text of its licence.
package() {
	name=$1 version=$2 licence=$3
	mkdir "$tmp/package"
	(cd "$tmp" && tar -xzf "$(npm pack --silent "$name@$version")" -C package --strip-components=1)
	printf '==== %s %s (%s) ====\n\n' "$name" "$version" "$licence" >>licences.txt
	tr -d '\r' <"$tmp/package/LICENSE" >>licences.txt
	printf '\n' >>licences.txt
}

# module UPSTREAM FILE makes a module of a file of the package.
module() {
	{
		printf '/*! %s %s, licence %s: licences.txt */\n' "$name" "$version" "$licence"
		sed -e 's|//# sourceMappingURL=.*$||' \
			-e 's|from"preact"|from"./preact.js"|g' \
			-e 's|from"preact/hooks"|from"./hooks.js"|g' \
			-e 's|from"@preact/signals-core"|from"./signals-core.js"|g' "$tmp/package/$1"
	} >"$2"
	rows="$rows${rows:+,
}  {\"file\": \"$2\", \"package\": \"$name\", \"version\": \"$version\", \"licence\": \"$licence\", \"upstream\": \"$1\",
   \"upstream_sha256\": \"$(sum "$tmp/package/$1")\",
   \"sha256\": \"$(sum "$2")\"}"
}

sum() { sha256sum "$1" | cut -d' ' -f1; }
done_with_package() { rm -r "$tmp/package"; }

package preact 11.2.0 MIT
module dist/preact.mjs preact.js
module hooks/dist/hooks.mjs hooks.js
done_with_package

package @preact/signals-core 1.14.5 MIT
module dist/signals-core.mjs signals-core.js
done_with_package

package @preact/signals 2.11.4 MIT
module dist/signals.mjs signals.js
done_with_package

package htm 3.1.1 Apache-2.0
module dist/htm.mjs htm.js
done_with_package

package marked 18.2.1 MIT
module lib/marked.esm.js marked.js
done_with_package

printf '[\n%s\n]\n' "$rows" >"$here/manifest.json"
