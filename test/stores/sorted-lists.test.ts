/** Each list that is shown in parts reads an index in the order of the list. Otherwise every page sorts the whole list. */
import type { CommandStartedEvent, Document } from 'mongodb';
import { expect } from 'chai';
import { scanRow } from '../support/scan-rows.ts';
import { openStores, type AllStores } from '../../stores/stores.ts';
import { useDatabase } from './database.ts';

const OID = '0123456789abcdef01234567';
const UUID = 'c7f3a1de-0000-4000-8000-000000000000';
const entry = (id: string) => ({ at: new Date(), id });

/** Every list of the stores that is sorted, first page and next page. */
const LISTS: Readonly<Record<string, (stores: AllStores) => Promise<unknown>>> = {
  'organisations.audit': ({ organisations }) => organisations.audit('acme', 5),
  'organisations.auditPage': ({ organisations }) => organisations.auditPage('acme', { limit: 5 }),
  'organisations.auditPage, next': ({ organisations }) => organisations.auditPage('acme', { limit: 5, after: entry(OID) }),
  'organisations.auditPage of an action': ({ organisations }) => organisations.auditPage('acme', { action: 'key.issue', limit: 5 }),
  'organisations.auditPage of a kind': ({ organisations }) => organisations.auditPage('acme', { kind: 'changes', limit: 5 }),
  'organisations.list': ({ organisations }) => organisations.list(),
  'keys.list': ({ keys }) => keys.list('acme', { limit: 5, after: entry(UUID) }),
  'keys.list of a status': ({ keys }) => keys.list('acme', { status: 'live', limit: 5 }),
  'keys.createdBy': ({ keys }) => keys.createdBy('acme', 'a@example.com'),
  'scans.search': ({ scans }) => scans.search('acme', { limit: 5, after: entry(UUID) }),
  'scans.search of a phase': ({ scans }) => scans.search('acme', { phases: ['done'], limit: 5 }),
  'scans.search of a time': ({ scans }) => scans.search('acme', { since: new Date(0), until: new Date(), limit: 5 }),
  'scans.search of a site': ({ scans }) => scans.search('acme', { site: 'example.com', limit: 5 }),
  'scans.search of metadata': ({ scans }) => scans.search('acme', { metadata: { branch: 'main' }, limit: 5 }),
  'scans.search of a site and metadata': ({ scans }) => scans.search('acme', { site: 'a.example', metadata: { branch: 'main' }, limit: 5 }),
  'scans.newestDoneWith': ({ scans }) =>
    scans.newestDoneWith('acme', { site: 'a.example', metadata: { branch: 'main' }, before: new Date() }),
  'scans.trend': ({ scans }) => scans.trend(scanRow(), 5),
  'schedules.list': ({ schedules }) => schedules.list('acme', { limit: 5, after: { namespace: 'n', name: 'm' } }),
  'sessions.list': ({ sessions }) => sessions.list('a@example.com'),
  'members.list': ({ members }) => members.list('acme'),
  'invitations.list': ({ invitations }) => invitations.list('acme'),
  'invitations.findByEmail': ({ invitations }) => invitations.findByEmail('a@example.com'),
  'credits.ledger': ({ credits }) => credits.ledger('acme', { limit: 5, before: 9 }),
};

/** The fields for which a filter demands one value. */
function fixedFields(filter: Document): string[] {
  const own = Object.entries(filter).filter(([field, value]) => !field.startsWith('$') && (value === null || typeof value !== 'object'));
  return [...own.map(([field]) => field), ...((filter['$and'] as Document[] | undefined) ?? []).flatMap(fixedFields)];
}

/** Whether an index has exactly the order of the sort, or the reverse, after a part that the filter fixes. */
function hasOrder(index: Document, fixed: readonly string[], sort: ReadonlyMap<string, number>): boolean {
  const fields = Object.entries(index) as [string, number][];
  const start = fields.findIndex(([field]) => !fixed.includes(field));
  if (start < 0 || (start === 0 && fixed.length > 0)) return false;
  const rest = JSON.stringify(fields.slice(start, start + sort.size));
  return [1, -1].some((sign) => rest === JSON.stringify([...sort].map(([field, order]) => [field, sign * order])));
}

describe('lists in order', () => {
  const database = useDatabase({ monitorCommands: 'true' });
  let stores: AllStores;
  const sorted: Document[] = [];
  before(async () => {
    stores = openStores(database.db);
    await stores.credits.open('acme');
    await stores.users.add({ email: 'a@example.com', password: null });
    database.db.client.on('commandStarted', ({ commandName, command }: CommandStartedEvent) => {
      if (commandName === 'find' && command['sort'] !== undefined) sorted.push(command);
    });
  });

  for (const [name, list] of Object.entries(LISTS))
    it(`${name} reads an index in its order`, async () => {
      sorted.length = 0;
      await list(stores);
      expect(sorted).to.have.lengthOf(1);
      const { find, filter, sort } = sorted[0] as { find: string; filter: Document; sort: ReadonlyMap<string, number> };
      const indexes = (await database.db.collection(find).indexes()).map(({ key }) => key);
      const fixed = fixedFields(filter);
      expect(
        indexes.filter((index) => hasOrder(index, fixed, sort)),
        `of ${JSON.stringify(indexes)} for ${JSON.stringify([...sort])} after ${String(fixed)}`,
      ).to.not.deep.equal([]);
    });
});
