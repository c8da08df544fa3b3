// client.mjs SDK MODE STEPS ROOT -- COMMAND...: drives a server with a TypeScript SDK, step by step.
//
// SDK is the folder of @modelcontextprotocol/sdk (1.x) or @modelcontextprotocol/client (2.x); MODE is legacy, or with
// 2.x also auto or a revision. STEPS is a JSON list; each step has one of the keys of `perform`. Prints a JSON object:
// what was negotiated, and how each step went (ok, tool_error, rpc_error, gave_up).
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import path from 'node:path';

const [sdk, mode, steps, root, dashes, command, ...args] = process.argv.slice(2);
if (dashes !== '--') throw new Error('usage: client.mjs SDK MODE STEPS ROOT -- COMMAND...');
const part = name => import(pathToFileURL(path.join(sdk, 'dist', name)).href);
const { name: packageName, version } = JSON.parse(readFileSync(path.join(sdk, 'package.json'), 'utf8'));

const answered = new Set();
const answers = {
  'sampling/createMessage': () => {
    answered.add('sampling');
    const content = { type: 'text', text: 'a tap, a drop, a row' };
    return { role: 'assistant', content, model: 'none', stopReason: 'endTurn' };
  },
  'elicitation/create': () => (answered.add('elicitation'), { action: 'decline' }),
  'roots/list': () => (answered.add('roots'), { roots: [{ uri: `file://${root}`, name: 'work' }] })
};
const info = { name: 'real-typescript', version };
const capabilities = { sampling: {}, elicitation: {}, roots: {} };
let client, transport, call, revisionOf;
if (packageName.endsWith('/client')) {
  const [{ Client }, { StdioClientTransport }] = await Promise.all([part('index.mjs'), part('stdio.mjs')]);
  const negotiation = { auto: { mode: 'auto' }, legacy: undefined }[mode];
  const versionNegotiation = mode in { auto: 0, legacy: 0 } ? negotiation : { mode: { pin: mode } };
  client = new Client(info, { capabilities, versionNegotiation });
  for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, answer);
  transport = new StdioClientTransport({ command, args });
  call = (what, options) => client.callTool(what, options);
  revisionOf = () => client.getNegotiatedProtocolVersion();
} else {
  const [{ Client }, { StdioClientTransport }, types] =
    await Promise.all([part('esm/client/index.js'), part('esm/client/stdio.js'), part('esm/types.js')]);
  client = new Client(info, { capabilities });
  client.setRequestHandler(types.CreateMessageRequestSchema, answers['sampling/createMessage']);
  client.setRequestHandler(types.ElicitRequestSchema, answers['elicitation/create']);
  client.setRequestHandler(types.ListRootsRequestSchema, answers['roots/list']);
  let revision = null;
  transport = new StdioClientTransport({ command, args });
  transport.setProtocolVersion = given => (revision = given);
  call = (what, options) => client.callTool(what, undefined, options);
  revisionOf = () => revision;
}

async function perform(step) {
  if ('list' in step) {
    const suffix = { tools: 'Tools', resources: 'Resources', templates: 'ResourceTemplates', prompts: 'Prompts' };
    for (let page = 0, cursor; page < 3 && (page === 0 || cursor); page++)
      ({ nextCursor: cursor } = await client[`list${suffix[step.list]}`](cursor ? { cursor } : undefined));
  } else if ('call' in step) {
    const options = {};
    if (step.progress) options.onprogress = () => answered.add('progress');
    if (step.cancel_after_ms) options.signal = AbortSignal.timeout(step.cancel_after_ms);
    try {
      const result = await call({ name: step.call, arguments: step.with ?? {} }, options);
      return result.isError ? 'tool_error' : 'ok';
    } catch (error) {
      if (options.signal?.aborted) return 'gave_up';
      throw error;
    }
  } else if ('read' in step) await client.readResource({ uri: step.read });
  else if ('prompt' in step) await client.getPrompt({ name: step.prompt, arguments: step.with });
  else if ('complete' in step) {
    const argument = { name: step.argument, value: step.value };
    await client.complete({ ref: { type: 'ref/prompt', name: step.complete }, argument });
  } else if ('ping' in step) await client.ping();
  else if ('level' in step) await client.setLoggingLevel(step.level);
  else if ('wait_for_tools' in step) {
    const there = async () => (await client.listTools()).tools.map(tool => tool.name);
    while (!(names => step.wait_for_tools.every(name => names.includes(name)))(await there()))
      await new Promise(done => setTimeout(done, 100));
  } else throw new Error(`no such step: ${JSON.stringify(step)}`);
  return 'ok';
}

async function attempt(step) {
  if ('together' in step) return Promise.all(step.together.map(attempt));
  try {
    return await perform(step);
  } catch (error) {
    // A JSON-RPC error has a whole number for its code; everything else is a failure of this script.
    if (Number.isInteger(error.code)) return 'rpc_error';
    throw error;
  }
}

await client.connect(transport);
const outcomes = [];
for (const step of JSON.parse(steps)) outcomes.push(await attempt(step));
const report = { revision: revisionOf(), server: client.getServerVersion()?.name, outcomes };
await client.close();
console.log(JSON.stringify({ ...report, answered: [...answered].sort() }));
