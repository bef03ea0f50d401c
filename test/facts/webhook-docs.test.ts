/** The functions of docs/webhooks.md that verify a request, run as printed, and signatures checked with the specification's library. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import { Webhook as Verifier } from 'standardwebhooks';
import { isWebhookSecret, secretText, signedHeaders } from '../../core/webhooks/signature.ts';
import { CREDITS_BELOW_DEFAULT, DELIVERED_EVENTS, WEBHOOKS_MAX } from '../../core/webhooks/webhooks.ts';

const run = promisify(execFile);
const [OLD, NEW] = [secretText(Buffer.alloc(32, 1)), secretText(Buffer.alloc(32, 2))];
const EVENT = { type: 'scan.completed', data: { message: 'für „ein“ Konto', score: 87.5 } };
const BODY = JSON.stringify(EVENT);
const NOW = new Date('2026-03-02T10:05:00Z');

describe('docs/webhooks.md', () => {
  let text: string;
  let folder: string;
  before(async () => {
    text = await readFile('docs/webhooks.md', 'utf8');
    folder = await mkdtemp(join(tmpdir(), 'curbcut-webhooks-'));
  });
  after(() => rm(folder, { recursive: true }));

  const block = (language: string): string => {
    const found = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(text);
    if (found === null) throw new Error(`there is no ${language}`);
    return found[1]!;
  };
  /** Requests, and whether each is accepted. */
  const headers = signedHeaders({ id: 'msg_1', at: NOW, body: BODY }, [NEW, OLD]);
  const cases: [what: string, secret: string, headers: Record<string, string>, body: string, accepted: boolean][] = [
    ['the new secret', NEW, headers, BODY, true],
    ['the secret before', OLD, headers, BODY, true],
    ['another secret', secretText(Buffer.alloc(32, 3)), headers, BODY, false],
    ['another body', NEW, headers, BODY.replace('87.5', '99'), false],
    ['another ID', NEW, { ...headers, 'webhook-id': 'msg_2' }, BODY, false],
    ['an old time', NEW, signedHeaders({ id: 'msg_1', at: new Date(NOW.getTime() - 301_000), body: BODY }, [NEW]), BODY, false],
  ];
  for (const name of Object.keys(headers)) {
    const { [name]: _, ...others } = headers;
    cases.push([`no ${name}`, NEW, others, BODY, false]);
  }
  for (const [name, value] of [
    ['webhook-timestamp', 'yesterday'],
    ['webhook-timestamp', '1e999'],
    ['webhook-timestamp', '9'.repeat(400)],
    ['webhook-signature', 'v1,ünsigned'],
    ['webhook-signature', ''],
  ] as const)
    cases.push([`${name} ${value}`, NEW, { ...headers, [name]: value }, BODY, false]);
  const seconds = NOW.getTime() / 1000;

  it('verifies requests in Node.js', async () => {
    const file = join(folder, 'verify.mjs');
    await writeFile(file, block('js'));
    const { verify } = (await import(pathToFileURL(file).href)) as { verify(...parameters: unknown[]): unknown };
    for (const [what, secret, sent, body, accepted] of cases)
      expect(verify(secret, sent, body, seconds), what).to.deep.equal(accepted ? EVENT : null);
  });

  it('verifies requests in Python', async () => {
    const calls = cases.map(([, secret, sent, body]) => [secret, sent, body, seconds]);
    await writeFile(join(folder, 'cases.json'), JSON.stringify(calls));
    const program = `${block('python')}\nprint(json.dumps([verify(*case) for case in json.load(open("cases.json"))]))\n`;
    await writeFile(join(folder, 'verify.py'), program);
    const { stdout } = await run('python3', ['verify.py'], { cwd: folder, env: { ...process.env, PYTHONUTF8: '1' } });
    expect(JSON.parse(stdout)).to.deep.equal(cases.map(([, , , , accepted]) => (accepted ? EVENT : null)));
  });

  it('names every event and the limits', () => {
    for (const event of DELIVERED_EVENTS) expect(text).to.include(`| \`${event}\` |`);
    expect(text).to.include(`can have ${WEBHOOKS_MAX} webhooks`).and.include(`(default ${CREDITS_BELOW_DEFAULT})`);
  });
});

describe('signatures of webhooks', () => {
  it('are accepted by the library of Standard Webhooks, whatever the secret and the body', () =>
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 24, maxLength: 64 }), fc.json(), (bytes, body) => {
        const secret = secretText(bytes);
        expect(isWebhookSecret(secret)).to.equal(true);
        const headers = signedHeaders({ id: 'msg_1', at: new Date(), body }, [secretText(Buffer.alloc(32)), secret]);
        expect(JSON.stringify(new Verifier(secret).verify(body, headers))).to.equal(JSON.stringify(JSON.parse(body)));
      }),
      { numRuns: 50 },
    ));

  it('are not made with what is no secret', () => {
    const short = secretText(Buffer.alloc(23));
    for (const text of ['', 'whsec_', short, secretText(Buffer.alloc(65)), 'AAAA', `${NEW}=`, NEW.slice(0, -2)])
      expect(isWebhookSecret(text), text).to.equal(false);
  });
});
