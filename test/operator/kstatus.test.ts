/** What kstatus, and with it Flux, says about our resources: read from the API server, and made by the status functions. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { AccessibilityScan, KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { KSTATUS_TIMEOUT_MS, verdictsOf } from '../kstatus/kstatus.ts';
import { kubectlIn, type Kubectl } from '../support/kubectl.ts';
import { SCAN_STATES } from '../support/scan-states.ts';
import { useContext, TARGET, until } from './context.ts';
describe('operator: kstatus', function () {
  this.timeout(KSTATUS_TIMEOUT_MS);
  // Downloads the modules and compiles.
  before(() => verdictsOf([]));

  it('judges a scan in each state as decided', async () => {
    const verdicts = await verdictsOf(Object.values(SCAN_STATES).map(({ scan }) => scan));
    const shown = Object.keys(SCAN_STATES).map((state, index) => [state, verdicts[index]!.status]);
    expect(shown).to.deep.equal(Object.entries(SCAN_STATES).map(([state, { kstatus }]) => [state, kstatus]));
  });

  describe('of resources on the cluster', () => {
    const context = useContext();
    let kubectl: Kubectl;
    before(async () => {
      kubectl = kubectlIn(context.kubeconfig, context.team);
      await context.grant(1000);
    });

    /** The verdict on an object as kubectl shows it. */
    async function verdict(...args: string[]): Promise<string> {
      const object = JSON.parse(await kubectl(['get', ...args, '-o', 'json', '--show-managed-fields'])) as KubernetesObject;
      return (await verdictsOf([object]))[0]!.status;
    }
    type Manifest = KubernetesObject & { spec: object };
    const namespaceOf = ({ metadata }: Manifest) => ['--namespace', metadata.namespace ?? 'default'];
    const argsOf = (object: Manifest) => [object.kind.toLowerCase(), object.metadata.name, ...namespaceOf(object)];
    const apply = (object: Manifest) => kubectl(['apply', '-f', '-', ...namespaceOf(object)], object);

    /** Applies an object that no operator has seen. */
    async function unseen(object: Manifest): Promise<string> {
      await apply(object);
      return verdict(...argsOf(object));
    }
    /** Applies an object and waits until the operator has seen it. */
    async function applied(object: Manifest): Promise<string> {
      const args = argsOf(object);
      await apply(object);
      await until(`the operator has seen the ${object.kind}`, async () => {
        const read = JSON.parse(await kubectl(['get', ...args, '-o', 'json'])) as AccessibilityScan;
        return read.status?.observedGeneration === read.metadata.generation;
      });
      return verdict(...args);
    }

    it('tells ScanSchedules that can start scans from those that cannot, or not yet', async () => {
      const manifest = (name: string, namespace: string, spec: object = {}) => ({
        apiVersion: 'curbcut.dev/v1',
        kind: 'ScanSchedule',
        metadata: { name, namespace },
        spec: { schedule: '0 3 1 1 *', scanTemplate: { spec: { url: TARGET } }, ...spec },
      });
      const schedule = (...args: Parameters<typeof manifest>) => applied(manifest(...args));
      expect(await unseen(manifest('yearly', context.team)), 'no operator has seen it').to.equal('InProgress');
      context.start();
      expect(await schedule('yearly', context.team)).to.equal('Current');
      expect(await schedule('suspended', context.team, { suspend: true })).to.equal('Current');
      expect(await schedule('mistaken', context.team, { schedule: '0 3 30 2 *' })).to.equal('Failed');
      expect(await schedule('unowned', context.strangers)).to.equal('InProgress');
      await context.rest();
    });

    it('tells Organisations that are in effect from those that are not', async () => {
      // Organisations have no namespace: a class of its own keeps the operators of other tests away.
      const operatorClass = `kstatus-${randomUUID().slice(0, 8)}`;
      const manifest = (name: string, namespaces: string[]) => ({
        apiVersion: 'curbcut.dev/v1',
        kind: 'Organisation',
        metadata: { name: `${operatorClass}-${name}` },
        spec: { class: operatorClass, namespaces },
      });
      const organisation = (...args: Parameters<typeof manifest>) => applied(manifest(...args));
      try {
        expect(await unseen(manifest('free', [])), 'no operator has seen it').to.equal('InProgress');
        context.start({ operatorClass });
        expect(await organisation('free', [])).to.equal('Current');
        expect(await organisation('taken', [context.team]), 'the namespace belongs to another').to.equal('Failed');
      } finally {
        await kubectl(['delete', 'organisation', `${operatorClass}-free`, `${operatorClass}-taken`, '--ignore-not-found', '--timeout=60s']);
      }
      await context.rest();
    });

    it('is InProgress for a ScanQueue that no operator has seen', async () => {
      await context.createQueue('unseen');
      expect(await verdict('-n', context.namespace, 'scanqueue', 'unseen')).to.equal('InProgress');
    });

    it('is Current for a ScanQueue that the operator has seen', async () => {
      context.start();
      await until('the operator has seen the queue', async () => {
        const queue = await context.queue();
        return queue?.status?.observedGeneration === queue?.metadata.generation && queue;
      });
      expect(await verdict('-n', context.namespace, 'scanqueue', 'default')).to.equal('Current');
      await context.rest();
    });
  });
});
