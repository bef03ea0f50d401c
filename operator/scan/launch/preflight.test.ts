import { expect } from 'chai';
import { contextOf } from '../../../test/support/operator-context.ts';
import { NOW, scanWith } from '../../../test/support/scan-samples.ts';
import { scanRow } from '../../../test/support/scan-rows.ts';
import type { Organisation } from '../../../core/organisation.ts';
import type { Resolution } from '../../../core/scan/targets.ts';
import {
  metadataAnnotations,
  ORGANISATION_LABEL,
  type AccessibilityScan,
  type AccessibilityScanSpec,
} from '../../../core/protocol/custom-resources.ts';
import { DASHBOARD_MANAGER, MANAGED_BY_LABEL } from '../../../core/protocol/scan-schedules.ts';
import type { Reservation } from '../../../stores/credits/credits.ts';
import type { NewRow, ScanRow } from '../../../stores/scans/scan-row.ts';
import { claim, ReservationLate, reserve, vet } from './preflight.ts';

describe('the preflight of manifests', () => {
  const RESOLVED: Resolution = { ok: true, addresses: ['203.0.113.7'] };
  const HELD: Reservation = { ok: true, reserved: 5, balance: 0 };

  interface World {
    resolution?: Resolution;
    balance?: number;
    answer?: Reservation;
    blocked?: boolean;
    maxPagesLimit?: number;
    /** The further hosts of the scan. */
    hosts?: string[];
    /** Its list of addresses. */
    urls?: string[];
    /** Of the annotations of the scan. */
    metadata?: Record<string, string>;
    /** Whether an organisation is charged for the namespace. */
    owned?: boolean;
    /** The pages that the scan holds already. */
    pagesReserved?: number;
    /** Set: the scan has no row yet. */
    create?: (row: NewRow) => Promise<ScanRow>;
    /** The organisations of schedules of the dashboard, by `namespace/name`. */
    claims?: Map<string, string>;
  }

  /** A preflight of a scan of five pages, and the store calls that move or read credits. */
  function preflightOf({
    resolution = RESOLVED,
    balance = 5,
    answer = HELD,
    blocked = false,
    maxPagesLimit = 500,
    hosts = [],
    urls = [],
    metadata = {},
    owned = true,
    pagesReserved = 0,
    create,
    claims = new Map(),
  }: World = {}) {
    const calls: string[] = [];
    const row = scanRow({ id: 'a', organisation: 'acme', resource: { namespace: 'team', name: 'a' }, pagesReserved });
    row.options.maxPages = 5;
    Object.assign(row.options.crawl, { hosts, urls });
    const team = { id: 'acme', blocked, deletedAt: null as Date | null } as Organisation;
    const context = contextOf({
      stores: {
        scans: {
          find: async () => (create ? null : row),
          mirror: async (_, change) => ({ row: { ...row, ...change }, changed: true }),
          create: create ?? (async () => expect.fail()),
          accept: async () => expect.fail(),
          abandon: async () => expect.fail(),
        },
        organisations: { find: async (id) => ({ ...team, id }), findByNamespace: async () => (create && owned ? team : null) },
        dashboardSchedules: { owners: async () => claims },
        credits: {
          async balance() {
            calls.push('balance');
            return { balance, granted: 9, held: 0, spent: 0 };
          },
          async reserve({ pages, partial, maxLive }) {
            calls.push(`reserve ${pages}`);
            expect([partial, maxLive], 'a share limits submissions, and places limit manifests').to.deep.equal([false, undefined]);
            return answer;
          },
        },
      },
      resolver: { resolve: async () => resolution },
      settings: {
        maxPagesLimit,
        targets: { allow: ['203.0.113.0/24'], deny: [] },
        podTemplate: { allow: [], maxResources: { cpu: '1', memory: '1Gi' } },
      },
      clock: { now: () => NOW },
    });
    const preflight = {
      claim: (scan: AccessibilityScan, scanId: string) => claim(context, scan, scanId),
      vet: (scan: AccessibilityScan, scanId: string) => vet(context, scan, scanId),
      reserve: (scanId: string) => reserve(context, scanId),
    };
    return {
      calls,
      preflight,
      vet: (spec: Partial<AccessibilityScanSpec> = {}) => {
        const annotations = metadataAnnotations(metadata);
        const scan = scanWith(undefined, { metadata: { name: 'a', namespace: 'team', creationTimestamp: NOW.toISOString(), annotations } });
        return preflight.vet({ ...scan, spec: { ...scan.spec, ...spec } }, 'a');
      },
    };
  }

  it('reserves nothing before the admission', async () => {
    const { vet, calls } = preflightOf();
    expect(await vet()).to.have.nested.property('row.pagesReserved', 0);
    expect(calls).to.deep.equal(['balance']);
  });

  it('refuses a scan that its organisation cannot pay now, before it waits', async () => {
    expect(await preflightOf({ balance: 4 }).vet()).to.have.nested.property('end.reason', 'InsufficientCredits');
  });

  it('does not refuse a scan that holds its credits already', async () => {
    const { vet, calls } = preflightOf({ balance: 0, pagesReserved: 5 });
    expect(await vet()).to.have.property('ok', true);
    expect(calls).to.deep.equal([]);
  });

  const REFUSED: [reason: string, world: World, spec: Partial<AccessibilityScanSpec>][] = [
    ['OrganisationBlocked', { blocked: true }, {}],
    ['TargetRefused', { resolution: { ok: false, reason: 'not_found' } }, {}],
    ['TargetRefused', { hosts: ['10.0.0.1'] }, {}],
    ['TooManyPages', { maxPagesLimit: 4 }, {}],
    ['PodTemplateRefused', {}, { podTemplate: { annotations: { a: 'b' } } }],
    ['AddressListRefused', { urls: ['https://other.test/'] }, {}],
    ['MetadataRefused', { metadata: { branch: 'a\n' } }, {}],
    ['NoOrganisation', { create: async () => expect.fail(), owned: false }, {}],
  ];
  for (const [reason, world, spec] of REFUSED)
    it(`refuses a scan: ${reason}`, async () => {
      expect(await preflightOf(world).vet(spec)).to.have.nested.property('end.reason', reason);
    });

  it('waits for name servers that do not answer, and reads no credits', async () => {
    const { vet, calls } = preflightOf({ resolution: { ok: false, reason: 'unavailable' } });
    expect(await vet()).to.have.nested.property('unresolved.reason', 'TargetRefused');
    expect(calls).to.deep.equal([]);
  });

  it('reserves all pages or none after the admission', async () => {
    const { preflight, calls } = preflightOf();
    expect(await preflight.reserve('a')).to.have.nested.property('row.pagesReserved', 5);
    const poor = preflightOf({ answer: { ok: false, reason: 'insufficient_credits', balance: 3 } });
    const refused = await poor.preflight.reserve('a');
    expect(refused.ok ? '' : refused.end.message).to.match(/needs 5 credits, but 3 are left/);
    expect([...calls, ...poor.calls]).to.deep.equal(['reserve 5', 'reserve 5']);
  });

  it('reserves nothing for an organisation that was blocked while its scan waited', async () => {
    const { preflight, calls } = preflightOf({ blocked: true });
    expect(await preflight.reserve('a')).to.have.nested.property('end.reason', 'OrganisationBlocked');
    expect(calls).to.deep.equal([]);
  });

  it('compares a scan that signs in only with its like, and keeps no sign-in that the API could submit again', async () => {
    const rows: NewRow[] = [];
    const create = async (row: NewRow): Promise<ScanRow> => {
      rows.push(row);
      return { ...scanRow(), ...row };
    };
    const { vet } = preflightOf({ create });
    for (const auth of [undefined, { secretRef: { name: 'shop' } }, { secretRef: { name: 'admin' } }]) await vet({ auth });
    expect(new Set(rows.map(({ optionsKey }) => optionsKey))).to.have.property('size', 3);
    expect(rows.map(({ auth, signedIn }) => [auth, signedIn])).to.deep.equal([
      [undefined, undefined],
      [undefined, true],
      [undefined, true],
    ]);
  });

  it('charges the organisation of the schedule if the dashboard manages it, only in the namespace of the API', async () => {
    const { preflight } = preflightOf({ create: async (row) => ({ ...scanRow(), ...row }), claims: new Map([['curbcut/shop', 'globex']]) });
    const owner = { apiVersion: 'curbcut.dev/v1', kind: 'ScanSchedule', name: 'shop', uid: 'u', controller: true };
    const organisationOf = async (namespace: string, ownerReferences?: [typeof owner]) => {
      const scan = scanWith(undefined, { metadata: { name: 'a', namespace, ownerReferences } });
      return (await preflight.claim(scan, 'a')).labels?.[ORGANISATION_LABEL];
    };
    expect(await organisationOf('curbcut', [owner])).to.equal('globex');
    expect(await organisationOf('curbcut')).to.equal('acme');
    expect(await organisationOf('curbcut', [{ ...owner, kind: 'Other' }])).to.equal('acme');
    expect(await organisationOf('team', [owner])).to.equal('acme');
  });

  it('charges nobody for a scan of a schedule of the dashboard without a record, although the namespace has an owner', async () => {
    const { preflight, calls } = preflightOf({ create: async () => expect.fail() });
    const owner = { apiVersion: 'curbcut.dev/v1', kind: 'ScanSchedule', name: 'shop', uid: 'u', controller: true };
    const labels = { [MANAGED_BY_LABEL]: DASHBOARD_MANAGER };
    const scan = scanWith(undefined, { metadata: { name: 'shop-1', namespace: 'curbcut', ownerReferences: [owner], labels } });
    expect(await preflight.claim(scan, 'a')).to.not.have.property('labels');
    const vetted = await preflight.vet(scan, 'a');
    expect(vetted).to.have.nested.property('end.reason', 'NoOrganisation');
    expect(vetted)
      .to.have.nested.property('end.message')
      .that.matches(/schedule of this scan was deleted in the dashboard.*Nothing was charged/);
    expect(calls).to.deep.equal([]);
  });

  it('fails if a reservation is too late for the clock of MongoDB, and says so', async () => {
    const { preflight } = preflightOf({ answer: { ok: false, reason: 'deadline_passed' } });
    const error = await preflight.reserve('a').then(() => null, (thrown: unknown) => thrown); // prettier-ignore
    expect(error)
      .to.be.instanceOf(ReservationLate)
      .with.property('message')
      .that.matches(/clocks of the operator and MongoDB differ/);
  });
});
