/**
 * Measures polls with a key, in alternating rounds: at rest, while strangers from 10,000 networks attack, and while the same attack
 * goes to a server that does nothing. The last shows what the attacking process alone costs a machine that it shares.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PER_ORGANISATION, startInstallation, timesOf, type Times } from './installation.ts';
import { startPeer } from './peer.ts';

export interface StrangersCost {
  polls: number;
  rest: Times;
  /** While the attack goes to another server. */
  control: Times;
  attacked: Times;
  /** Requests of strangers by status. */
  strangers: Record<string, number>;
}

/** Polls are sent at this rate, whatever the answers take, so that a slow answer delays no other measurement. */
const POLLS_PER_SECOND = 20;
const ROUND_SECONDS = 15;
const SETTLE_MS = 3_000;

/** @param rate requests of strangers per second */
export async function measureStrangers(rounds: number, rate: number): Promise<StrangersCost> {
  const perRound = POLLS_PER_SECOND * ROUND_SECONDS;
  const count = 3 * rounds * perRound;
  const issuer = await startIssuer();
  const closers: (() => Promise<unknown>)[] = [];
  const idle = await startPeer(closers);
  const { product, submit, poll, close } = await startInstallation({
    scans: count,
    maxRunning: 1,
    environment: { TRUSTED_PROXIES: '127.0.0.0/8', OIDC_ISSUER: issuer.url, OIDC_CLIENT_ID: 'bench', OIDC_CLIENT_SECRET: 'bench' },
  });
  try {
    const ids: string[] = [];
    for (let index = 0; index < count; index += PER_ORGANISATION) ids.push(await submit(index));
    let next = 0;
    const measureRound = async (): Promise<number[]> => {
      const each: number[] = [];
      const sent: Promise<void>[] = [];
      for (let one = 0; one < perRound; one++) {
        const index = next++;
        const before = performance.now();
        sent.push(poll(index, ids[Math.floor(index / PER_ORGANISATION)]!).then(() => void each.push(performance.now() - before)));
        await sleep(1000 / POLLS_PER_SECOND);
      }
      await Promise.all(sent);
      return each;
    };
    const measureAttack = async (target: string): Promise<{ each: number[]; answers: Record<string, number> }> => {
      const attack = startAttack(target, rate);
      await sleep(SETTLE_MS);
      const each = await measureRound();
      const answers = await attack.end();
      await sleep(SETTLE_MS);
      return { each, answers };
    };
    const [rest, control, attacked]: [number[], number[], number[]] = [[], [], []];
    const strangers: Record<string, number> = {};
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`bench: round ${round + 1}\n`);
      rest.push(...(await measureRound()));
      control.push(...(await measureAttack(idle)).each);
      const { each, answers } = await measureAttack(product.url);
      attacked.push(...each);
      for (const [status, requests] of Object.entries(answers)) strangers[status] = (strangers[status] ?? 0) + requests;
    }
    return { polls: count, rest: timesOf(rest), control: timesOf(control), attacked: timesOf(attacked), strangers };
  } finally {
    await close();
    issuer.close();
    for (const end of closers) await end();
  }
}

/** Attacks from a process of its own, so that the attack costs the measuring process nothing. */
function startAttack(url: string, rate: number): { end(): Promise<Record<string, number>> } {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'strangers-attack.ts'), url, String(rate)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return {
    async end() {
      child.stdin.end();
      await once(child, 'close');
      return JSON.parse(output) as Record<string, number>;
    },
  };
}

/** An identity provider that has metadata and nothing else: strangers only start sign-ins. */
async function startIssuer(): Promise<{ url: string; close(): void }> {
  const server = createServer((_request, response) => {
    const metadata = { issuer: url, authorization_endpoint: `${url}/auth`, token_endpoint: `${url}/token`, jwks_uri: `${url}/jwks` };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(metadata));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, close: () => server.close() };
}
