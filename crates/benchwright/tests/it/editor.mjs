// An editor for the test of the schema: it opens documents in a YAML language server, and prints its
// diagnostics and completions.
//
//   node editor.mjs SERVER < [{"uri": …, "text": …, "at": {"line": 0, "character": 0}}, …]
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

const documents = JSON.parse(readFileSync(0, 'utf8'));
const server = spawn(process.execPath, [process.argv[2], '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] });

// A server that dies or says nothing ends this program, too.
server.on('exit', () => process.exit(1));
setTimeout(() => process.exit(2), 120_000).unref();

let received = Buffer.alloc(0);
let requests = 0;
const waiting = new Map();

function send(message) {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

function wait(key) {
  return new Promise((resolve) => waiting.set(key, resolve));
}

function request(method, params) {
  requests += 1;
  const answer = wait(requests);
  send({ id: requests, method, params });
  return answer;
}

function receive(message) {
  if (message.method && message.id !== undefined) {
    send({ id: message.id, result: null });
  } else if (message.method === 'textDocument/publishDiagnostics') {
    waiting.get(message.params.uri)?.(message.params.diagnostics);
  } else if (message.id !== undefined) {
    waiting.get(message.id)?.(message.result);
  }
}

server.stdout.on('data', (bytes) => {
  received = Buffer.concat([received, bytes]);
  for (;;) {
    const end = received.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = Number(/Content-Length: (\d+)/.exec(received.subarray(0, end))[1]);
    if (received.length < end + 4 + length) return;
    receive(JSON.parse(received.subarray(end + 4, end + 4 + length)));
    received = received.subarray(end + 4 + length);
  }
});

await request('initialize', { processId: process.pid, rootUri: null, capabilities: {} });
send({ method: 'initialized', params: {} });
// Without the store, nothing is looked up outside of this machine.
const yaml = { validate: true, completion: true, hover: true, schemaStore: { enable: false } };
send({ method: 'workspace/didChangeConfiguration', params: { settings: { yaml } } });

const seen = [];
for (const { uri, text, at } of documents) {
  const diagnostics = wait(uri);
  const textDocument = { uri, languageId: 'yaml', version: 1, text };
  send({ method: 'textDocument/didOpen', params: { textDocument } });
  const found = await diagnostics;
  const completed = at && await request('textDocument/completion', { textDocument, position: at });
  const hovered = at && await request('textDocument/hover', { textDocument, position: at });
  seen.push({
    diagnostics: found.map(({ range, message }) => ({ line: range.start.line, message })),
    completions: (completed?.items ?? []).map((item) => item.label),
    hover: hovered?.contents?.value ?? null,
  });
}
console.log(JSON.stringify(seen));
server.removeAllListeners('exit');
await request('shutdown', null);
send({ method: 'exit' });
