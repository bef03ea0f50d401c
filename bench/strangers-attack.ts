/**
 * Sends the requests of strangers from 10,000 networks until its input ends, and prints the answers by status as JSON.
 *
 *   node bench/strangers-attack.ts URL REQUESTS_PER_SECOND
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool, request } from 'undici';
import { attack } from '../test/support/stranger-attacks.ts';

const NETWORKS = 10_000;
const TICK_MS = 20;
const CONNECTIONS = 64;

const [url = '', rate = '200'] = process.argv.slice(2);
let ended = false;
process.stdin.on('end', () => (ended = true)).resume();

const page = await request(`${url}/dashboard/sign-in`, { headers: { accept: 'text/html' } });
const token = /name="_csrf" value="([^"]+)"/.exec(await page.body.text())?.[1] ?? '';
const cookie = [page.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0]!).join('; '); // prettier-ignore
// The cookies of a service at an http address have no prefix.
const form = { token, cookie, session: 'curbcut_session' };

const pool = new Pool(url, { connections: CONNECTIONS });
const statuses: Record<string, number> = {};
const sent = new Set<Promise<void>>();
const count = (status: string): void => void (statuses[status] = (statuses[status] ?? 0) + 1);
let owed = 0;
for (let network = 0; !ended;) {
  for (owed += (Number(rate) * TICK_MS) / 1000; owed >= 1; owed--) {
    const one: Promise<void> = attack(pool, network++ % NETWORKS, form).then(
      (answer) => count(answer.slice(0, 3)),
      () => count('failed'),
    );
    sent.add(one);
    void one.finally(() => sent.delete(one));
  }
  await sleep(TICK_MS);
}
await Promise.all(sent);
await pool.close();
process.stdout.write(JSON.stringify(statuses));
