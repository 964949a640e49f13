// Encodes each line of stdin, a JSON value, with the reference encoder in the
// folder TOON_REFERENCE, and prints the result as a JSON string on a line.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const { encode } = await import(pathToFileURL(`${process.env.TOON_REFERENCE}/dist/index.mjs`))
for (const line of readFileSync(0, 'utf8').split('\n')) {
  if (line !== '') console.log(JSON.stringify(encode(JSON.parse(line))))
}
