/**
 * The responses of a Kubernetes API. Each case runs on the embedded API and, if KUBECONFIG is set, on a real cluster. Both
 * transcripts must be equal except for IDs, times and revisions.
 */
import { expect } from 'chai';
import { isDeepStrictEqual } from 'node:util';
import type { Client } from './client.ts';
import './semantics-builtin.ts';
import { cases, NAMESPACE, type Case } from './semantics-case.ts';
import './semantics-custom.ts';
import { openTargets, type Targets } from './targets.ts';

/** Removes what differs between servers and runs. */
const OWN_FIELDS = new Set([
  'continue',
  'managedFields',
  'resourceVersion',
  'uid',
  'creationTimestamp',
  'serverAddressByClientCIDRs',
  'storageVersionHash',
]);
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;

function settled(value: unknown): unknown {
  if (typeof value === 'string') {
    return (
      value
        .replace(UUID, '<uid>')
        .replace(TIME, '<time>')
        .replace(/\(\d+\)/g, '(<revision>)')
        // The real server names the types of Go.
        .replace(/(cannot be handled as a \w+: )(?!strict|no kind).*/s, '$1<why>')
        .replace(/(patch: |^)Invalid value: "\{.*\}": strict/s, '$1Invalid value: <object>: strict')
        .replace(/(generated-)[a-z0-9]{5}/, '$1<suffix>')
        // The embedded API supports fewer patches, propagation policies and verbs.
        .replace(/(accepted media types include: |supported values: "Foreground").*/, '<supported>')
    );
  }
  if (Array.isArray(value)) return value.filter((item) => item !== 'deletecollection').map(settled);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !OWN_FIELDS.has(key));
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, settled(item)]));
}

/** Causes are in the random order of Go's maps. */
function sortedCauses(body: Record<string, unknown>): Record<string, unknown> {
  const details = body['details'] as { causes?: { field: string; message: string }[] } | undefined;
  if (details?.causes === undefined || details.causes.length < 2) return body;
  const causes = details.causes.toSorted((a, b) => `${a.field}${a.message}`.localeCompare(`${b.field}${b.message}`));
  return { ...body, message: '<many>', details: { ...details, causes } };
}

describe('Kubernetes API semantics', () => {
  let targets: Targets;
  before(async () => {
    targets = await openTargets(NAMESPACE);
  });
  after(() => targets.close());

  /** Runs a case and records its transcript. */
  async function transcript(client: Client, { run }: Case): Promise<unknown[]> {
    const said: unknown[] = [];
    await run({
      async call(method, path, body, options) {
        const reply = await client.call(method, path, body, options);
        const warnings = [reply.headers['warning'] ?? []].flat().join(', ');
        const shown =
          reply.body['kind'] === 'Table'
            ? { rows: (reply.body['rows'] as { cells: unknown[] }[]).map((row) => row.cells.length) }
            : settled(sortedCauses(reply.body));
        said.push({ asked: `${method} ${path}`, code: reply.code, warnings, body: shown });
        return reply;
      },
    });
    return said;
  }

  for (const trial of cases) {
    it(trial.name, async () => {
      const ours = await transcript(targets.embedded, trial);
      if (targets.real === undefined) return;
      const theirs = await transcript(targets.real, trial);
      expect(ours).to.have.lengthOf(theirs.length);
      const differences = theirs.flatMap((entry, index) =>
        isDeepStrictEqual(entry, ours[index]) ? [] : [{ real: entry, embedded: ours[index] }],
      );
      expect(JSON.stringify(differences, null, 1)).to.equal('[]');
    });
  }
});
