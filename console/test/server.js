// A server of this tree as a process. HOLON_BINARY names it; node_test.go builds it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const binary = process.env.HOLON_BINARY

export class Server {
  #data = mkdtempSync(join(tmpdir(), 'holon-console-'))
  #process
  url

  async start() {
    const args = ['serve', '--data', this.#data, '--listen', '127.0.0.1:0', '--agent', 'echo', '--agent', 'builds=worker', '--heartbeat-seconds', '1', '--log-level', 'error']
    const env = { ...process.env, XDG_CONFIG_HOME: this.#data, XDG_RUNTIME_DIR: this.#data, HOLON_TOKEN: '', HOLON_URL: '' }
    this.#process = spawn(binary, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    this.#process.stderr.on('data', chunk => { said += chunk })
    while (!await this.#ready()) {
      assert.equal(this.#process.exitCode, null, `the server has ended: ${said}`)
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }

  async #ready() {
    try {
      const { pid, urls } = JSON.parse(readFileSync(join(this.#data, 'server.json'), 'utf8'))
      if (pid !== this.#process.pid) return false
      this.url = urls[0]
      return (await fetch(this.url + '/readyz')).ok
    } catch {
      return false
    }
  }

  async end() {
    if (this.#process?.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, 'exit')
      this.#process.kill('SIGKILL')
      await ended
    }
    rmSync(this.#data, { recursive: true, force: true })
  }
}
