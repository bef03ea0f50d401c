/** The pages of credits and schedules: what they show, and whose. */
import { expect } from 'chai';
import { ledgerCsv } from '../../api/dashboard/credits.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { scheduleRow } from '../support/schedule-rows.ts';
import { eventually, useContext } from './context.ts';
import { createClient } from './client.ts';
import { addPerson, PASSWORD, signedIn } from './people.ts';

const CSV = '/dashboard/credits/ledger.csv';
const HOSTILE = '<img src=x onerror=alert(1)>';

describe('the page of credits', () => {
  const context = useContext();

  const soon = () => new Date(Date.now() + 60_000);
  /** Reserves and settles a scan. */
  async function spend(organisation: string, pages: number, spent: number): Promise<string> {
    const { id } = await context.scan(organisation);
    await context.stores.credits.reserve({ organisation, scanId: id, pages, partial: false, deadline: soon() });
    await context.stores.credits.settle(organisation, id, spent);
    return id;
  }

  it('shows the balance, the movements with links to their scans, and the first steps until they are done', async () => {
    const person = await signedIn(context, { role: 'viewer' });
    const empty = await person.client.get('/dashboard/credits');
    expect(empty.text).to.include('No credits have moved yet').and.include('First steps');
    // A viewer may not create keys.
    expect(empty.text).to.not.include('/dashboard/settings/api-keys');
    await context.stores.credits.grant(person.organisation, HOSTILE, 100);
    const scan = await spend(person.organisation, 5, 3);
    const { text } = await person.client.get('/dashboard/credits');
    expect(text).to.not.include('First steps').and.not.include(HOSTILE);
    expect(text).to.include(`/dashboard/scans/${scan}`).and.include('&lt;img src=x');
    expect(text).to.match(/figure-value">97</);
  });

  /** The cells of the ledger but the times, as text. */
  const linesIn = (text: string): string[][] => {
    const body = /<table id="ledger"[^]*?<tbody[^>]*>([^]*?)<\/tbody>/.exec(text)![1]!;
    const rows = body.match(/<tr[^]*?<\/tr>/g) ?? [];
    return rows.map((row) =>
      (row.match(/<td[^]*?<\/td>/g) ?? []).map((cell) =>
        cell
          .replaceAll(/<[^>]+>/g, ' ')
          .replaceAll(/\s+/g, ' ')
          .trim(),
      ),
    );
  };

  it('shows one line for each scan, with its site and the sign of what it moved', async () => {
    const { client, organisation } = await signedIn(context, { role: 'viewer' });
    const { credits } = context.stores;
    const reserve = async (url: string) => {
      const { id } = await context.scan(organisation, { options: withDefaults({ url }) });
      await credits.reserve({ organisation, scanId: id, pages: 5, partial: false, deadline: soon() });
      return id;
    };
    await credits.grant(organisation, 'contract-2026', 1000);
    const [part, all, none, gone] = [
      await reserve('https://part.test/a'),
      await reserve('https://all.test/'),
      await reserve('https://none.test/'),
      await reserve('https://gone.test/'),
    ];
    const running = await reserve('https://running.test:8443/');
    for (const [scan, pages] of [
      [part, 3],
      [all, 5],
      [none, 0],
      [gone, 1],
    ] as const)
      await credits.settle(organisation, scan, pages);
    await context.db.collection<{ _id: string }>('scans').deleteOne({ _id: gone });
    const { text } = await client.get('/dashboard/credits');
    expect(linesIn(text)).to.deep.equal([
      ['Spent 1 of 5 reserved', `Scan ${gone} , which is no longer stored`, '\u22121', '986'],
      ['Released all 5 reserved', 'none.test /', '0', '982'],
      ['Spent', 'all.test /', '\u22125', '977'],
      ['Spent 3 of 5 reserved', 'part.test /a', '\u22123', '977'],
      ['Reserved', 'running.test:8443 /', '\u22125', '975'],
      ['Granted', 'contract-2026', '+1,000', '1,000'],
    ]);
    expect(text).to.include(`/dashboard/scans/${running}"`);
  });

  it('sends one CSV of an organisation at a time', async () => {
    const person = await signedIn(context);
    let proceed = (): void => undefined;
    const waiting = new Promise<void>((resolve) => (proceed = resolve));
    context.faults.set('credits.ledger', (real, ...parameters) => waiting.then(() => real(...parameters)));
    const first = person.client.get(CSV);
    await eventually('the first download', () => context.calls.includes('credits.ledger'));
    expect((await person.client.get(CSV)).status).to.equal(503);
    proceed();
    expect((await first).status).to.equal(200);
    context.faults.clear();
    expect((await person.client.get(CSV)).status).to.equal(200);
  });

  it('denies pages to a user who asks for too many in a minute, and to no one else', async () => {
    const replica = await context.replica({ limits: { pages: { limit: 10, windowSeconds: 60 } } });
    const [person, other] = await Promise.all(
      [1, 2].map(async () => {
        const { email } = await addPerson(context, (await context.organisation()).id);
        const client = createClient(replica.url);
        await client.signIn(email, PASSWORD);
        return client;
      }),
    );
    const statuses = [];
    for (let n = 0; n < 11; n += 1) statuses.push((await person!.get('/dashboard/credits')).status);
    expect([statuses[0], statuses.at(-1)]).to.deep.equal([200, 429]);
    expect((await other!.get('/dashboard/credits')).status).to.equal(200);
  });

  it('lists movements in parts, and all of them as CSV', async () => {
    const person = await signedIn(context);
    for (let count = 0; count < 26; count += 1) await context.stores.credits.grant(person.organisation, `=SUM(A${count})`, 10);
    const first = await person.client.get('/dashboard/credits');
    const second = await person.client.get(/rel="next" href="([^"]+)"/.exec(first.text)![1]!);
    expect([linesIn(first.text).length, linesIn(second.text)]).to.deep.equal([25, [['Granted', '=SUM(A0)', '+10', '10']]]);
    const csv = await person.client.get(CSV);
    expect(csv.headers.get('content-disposition')).to.equal('attachment; filename="ledger.csv"');
    expect(csv.headers.get('content-type')).to.equal('text/csv; charset=utf-8');
    const lines = csv.text.trimEnd().split('\r\n');
    expect(lines).to.have.lengthOf(1 + 26);
    expect(lines[0]).to.equal('time,kind,pages,balance_after,scan_id,id');
    expect(lines.at(-1)).to.match(/,grant,10,10,,grant:=SUM\(A0\)$/);
  });
});

describe('the ledger as CSV', () => {
  it('ends at its limit, and says so', async () => {
    const entries = Array.from({ length: 20 }, (_, index) => ({
      id: `grant:${index}`,
      organisation: 'acme',
      operation: 'grant' as const,
      scanId: null,
      pages: 1,
      released: 0,
      balance: 1,
      sequence: 20 - index,
      at: new Date(0),
    }));
    const ledger = async ({ before, limit }: { before?: number | null; limit: number }) =>
      entries.filter(({ sequence }) => sequence < (before ?? Infinity)).slice(0, limit);
    let text = '';
    for await (const part of ledgerCsv({ ledger }, 7)) text += part;
    const lines = text.trimEnd().split('\r\n');
    expect(lines).to.have.lengthOf(1 + 7 + 1);
    expect(lines.at(-1)).to.include('cut after 7 rows');
  });
});

describe('the page of schedules', () => {
  const context = useContext();

  it('says that the list may be out of date while no operator confirms it', async () => {
    const person = await signedIn(context);
    await context.stores.schedules.put(scheduleRow({ organisation: person.organisation, operatorClass: 'down', name: 'old' }), 'x');
    expect((await person.client.get('/dashboard/schedules')).text).to.include('out of date');
    await context.stores.schedules.observed('down', new Date(Date.now() - 4 * 60_000));
    expect((await person.client.get('/dashboard/schedules')).text)
      .to.include('out of date')
      .and.include('since');
    await context.stores.schedules.observed('down', new Date());
    expect((await person.client.get('/dashboard/schedules')).text).to.not.include('out of date');
  });
});
