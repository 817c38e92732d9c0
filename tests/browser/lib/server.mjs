/** A real whycrash-server on a free loopback port, with a data folder of its own. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const TARGET = process.env.CARGO_TARGET_DIR ?? path.join(ROOT, 'target');
const BINARY = process.env.WHYCRASH_SERVER_BIN ?? path.join(TARGET, 'debug/whycrash-server');
/** Where the cases of the labelled corpus are laid out. */
const CORPUS = execFileSync(path.join(path.dirname(BINARY), 'whycrash-corpus'), ['folder'], { encoding: 'utf8' }).trim();

const START_MS = 60_000;
const READ_MS = 60_000;

export class Server {
  #process;
  #data;
  #port;
  url = '';

  /** Starts a server with these settings, as in whycrash.toml. */
  static async start(settings = '') {
    const server = new Server();
    server.#data = await mkdtemp(path.join(tmpdir(), 'whycrash-browser-'));
    await writeFile(path.join(server.#data, 'whycrash.toml'), settings);
    await server.resume();
    return server;
  }

  /** Starts the process: the first time on any free port, and on the same one after a {@link halt}. */
  async resume() {
    const config = path.join(this.#data, 'whycrash.toml');
    const args = ['--listen', `127.0.0.1:${this.#port ?? 0}`, '--data', this.#data, '--config', config];
    this.#process = spawn(BINARY, args, { cwd: this.#data, stdio: ['ignore', 'pipe', 'pipe'] });
    this.url = await listening(this.#process);
    this.#port = new URL(this.url).port;
  }

  /** Ends the process and keeps its data. */
  async halt() {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGTERM');
    await ended;
  }

  async stop() {
    await this.halt();
    await rm(this.#data, { recursive: true });
  }

  /** Makes a token with this scope; from the first on, every request needs one. */
  async token(scope) {
    const args = ['--data', this.#data, 'token', 'create', '--scope', scope];
    const { stdout } = await promisify(execFile)(BINARY, args);
    return stdout.trim();
  }

  /** Uploads a case of the labelled corpus and waits until it is read. Returns its document. */
  async uploadCase(name) {
    return this.upload(await caseFiles(name));
  }

  /** Uploads files, as pairs of name and bytes, and waits until they are read. Returns the report's document. */
  async upload(files, metadata = { host: 'node-17' }) {
    const form = new FormData();
    form.append('metadata', JSON.stringify(metadata));
    for (const [name, bytes] of files) form.append('file', new Blob([bytes]), name);
    const response = await fetch(`${this.url}/api/v1/reports`, { method: 'POST', body: form });
    const accepted = await response.json();
    if (!response.ok) throw new Error(`upload refused: ${JSON.stringify(accepted)}`);
    return this.whenRead(accepted.id);
  }

  /** Searches find a report a moment after it is done. */
  async whenIndexed(document) {
    const deadline = Date.now() + READ_MS;
    while ((await (await fetch(`${this.url}/readyz`)).json()).index.waiting > 0) {
      if (Date.now() > deadline) throw new Error('the index does not follow');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return document;
  }

  async whenRead(id) {
    const deadline = Date.now() + READ_MS;
    for (;;) {
      const document = await (await fetch(`${this.url}/api/v1/reports/${id}`)).json();
      if (document.state === 'done') return this.whenIndexed(document);
      if (document.state === 'failed' || Date.now() > deadline)
        throw new Error(`${id} was not read: ${document.state}, ${document.failure}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** The artifacts of a case of the labelled corpus, as pairs of name and bytes. */
export async function caseFiles(name) {
  const toml = await readFile(corpusFile(name, 'case.toml'), 'utf8');
  const [, list] = /^artifacts = (\[.*\])$/m.exec(toml);
  return Promise.all(JSON.parse(list).map(async (file) => [file, await readFile(corpusFile(name, file))]));
}

/** Path of a file of a corpus case. */
export function corpusFile(name, file) {
  return path.join(CORPUS, name, file);
}

/** The address the process says it listens on. */
function listening(child) {
  return new Promise((resolve, reject) => {
    let log = '';
    const fail = (why) => reject(new Error(`${BINARY}: ${why}\n${log}`));
    const timer = setTimeout(() => fail('does not listen'), START_MS);
    const read = (chunk) => {
      log += chunk;
      const address = /listening on .*?(http:\/\/127\.0\.0\.1:\d+)/.exec(log.replaceAll(/\x1b\[[0-9;]*m/g, ''));
      if (!address) return;
      clearTimeout(timer);
      resolve(address[1]);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code) => fail(`ended with ${code}`));
  });
}
