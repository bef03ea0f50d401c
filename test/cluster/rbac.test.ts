/** The permissions of each service account, as the cluster reports them, compared with a list. */
import { expect } from 'chai';
import { clusterAndHelm, CHART, eventually, helm, kubectl, removeNamespace, settings } from './release.ts';

const VALUES = {
  'mongodb.existingSecret.name': 'mongodb',
  's3.endpoint': 'https://s3.example.com',
  's3.bucket': 'reports',
  's3.existingSecret.name': 's3',
  // The chart cannot derive the networks of these addresses, and only its roles are applied.
  'networkPolicy.enabled': false,
};

/** The API's permissions, in the namespace of scans. */
const API = ['accessibilityscans.curbcut.dev: create get list patch', 'scanschedules.curbcut.dev: create delete get patch'];
/** The operator's permissions for Organisations, which are cluster-scoped, so they are shown for every namespace. */
const OPERATOR_ORGANISATIONS = ['organisations.curbcut.dev/status: patch', 'organisations.curbcut.dev: list patch watch'];
/** The operator's permissions in every watched namespace. */
const OPERATOR = [
  'accessibilityscans.curbcut.dev/finalizers: update',
  'accessibilityscans.curbcut.dev/status: patch',
  'accessibilityscans.curbcut.dev: create delete get list patch watch',
  'events: create list patch watch',
  'jobs.batch: create delete get list patch watch',
  'knownissues.curbcut.dev/status: patch',
  'knownissues.curbcut.dev: list watch',
  ...OPERATOR_ORGANISATIONS,
  'pods/status: patch',
  'pods: list watch',
  'scanschedules.curbcut.dev/finalizers: update',
  'scanschedules.curbcut.dev/status: patch',
  'scanschedules.curbcut.dev: list watch',
  'scanqueues.curbcut.dev/status: patch',
  'scanqueues.curbcut.dev: list watch',
  'secrets: create',
].sort();
/** The operator's additional permissions in the namespace of the API's scans. */
const OPERATOR_QUEUE = [
  'leases.coordination.k8s.io [curbcut-operator]: get update',
  'leases.coordination.k8s.io: create',
  'scanqueues.curbcut.dev: create get list watch',
  'scanschedules.curbcut.dev: delete list watch',
];
/** Where it creates the default queue: kubectl shows the rules of a resource as one. */
const OPERATOR_AND_QUEUE = [
  ...OPERATOR.filter((line) => !/^scan(queues|schedules).curbcut.dev: list watch$/.test(line)),
  ...OPERATOR_QUEUE,
].sort();

/** What remains of the operator's permissions when a namespace has lost its Role. */
const OPERATOR_WITHOUT_ROLE = [
  'accessibilityscans.curbcut.dev/status: patch',
  'accessibilityscans.curbcut.dev: get list patch watch',
  ...OPERATOR_ORGANISATIONS,
];

describe('permissions of the service accounts', () => {
  const release = `curbcut-rbac-${process.pid}`;
  const scans = `${release}-scans`;
  const team = `${release}-team`;
  const stranger = `${release}-stranger`;
  before(async function () {
    if (!(await clusterAndHelm())) return this.skip();
    for (const name of [release, scans, team, stranger]) await kubectl(['create', 'namespace', name]);
  });
  after(async () => {
    if (!process.env.KUBECONFIG) return;
    const names = ['operator', 'operator-scans', 'operator-organisations', 'view', 'edit', 'admin', 'platform-admin'].map(
      (suffix) => `${release}-curbcut-${suffix}`,
    );
    await kubectl(['delete', 'clusterrole,clusterrolebinding', ...names, '--ignore-not-found']);
    await Promise.all([release, scans, team, stranger].map(removeNamespace));
  });

  /** Applies only the chart's roles: `kubectl auth can-i` does not need the accounts to exist. */
  async function grant(values: Readonly<Record<string, unknown>>, ...only: string[]): Promise<void> {
    const shown = only.flatMap((name) => ['--show-only', `templates/${name}.yaml`]);
    const manifests = await helm('template', 'curbcut', CHART, '--namespace', release, ...shown, ...settings(values));
    await kubectl(['apply', '-f', '-'], manifests);
  }

  /** Returns the permissions of an account as lines `resource [name]: verbs`. */
  async function list(account: string, namespace: string): Promise<string[]> {
    const table = await kubectl(['auth', 'can-i', '--list', `--as=system:serviceaccount:${release}:${account}`, '--namespace', namespace]);
    return table
      .split('\n')
      .slice(1)
      .flatMap((line) => {
        const found = /^(\S*)\s+\[(.*?)\]\s+\[(.*?)\]\s+\[(.*?)\]$/.exec(line);
        if (!found) return [];
        const [, resource, urls, names, verbs] = found;
        return [`${resource || urls}${names ? ` [${names}]` : ''}: ${verbs!.split(' ').sort().join(' ')}`];
      });
  }

  /** Returns the same, without the permissions that every account has. */
  async function rights(account: string, namespace: string): Promise<string[]> {
    const common = await list('unbound', namespace);
    return (await list(account, namespace)).filter((line) => !common.includes(line)).sort();
  }

  it('are exactly what API and operator use, in the named namespaces', async () => {
    await grant({ ...VALUES, 'scans.extraNamespaces': [team] }, 'rbac');
    expect(await rights('curbcut-api', scans)).to.deep.equal(API);
    expect(await rights('curbcut-operator', scans)).to.deep.equal(OPERATOR_AND_QUEUE);
    expect(await rights('curbcut-operator', team)).to.deep.equal(OPERATOR);
  });

  it('are empty in other namespaces, but for the scans of namespaces that are being deleted', async () => {
    for (const namespace of [release, stranger, 'kube-system']) {
      expect(await rights('curbcut-api', namespace), `API in ${namespace}`).to.deep.equal([]);
      expect(await rights('curbcut-operator', namespace), `operator in ${namespace}`).to.deep.equal(OPERATOR_WITHOUT_ROLE);
    }
    expect(await rights('curbcut-api', team)).to.deep.equal([]);
    // The account of the scanner pods.
    expect(await rights('default', scans)).to.deep.equal([]);
  });

  it("of the evaluation's pod are only its own Secret", async () => {
    await grant({ 'evaluation.enabled': true }, 'rbac', 'evaluation');
    await kubectl(['delete', 'deployment', 'curbcut-evaluation', '--namespace', release, '--wait=false']);
    expect(await rights('curbcut-evaluation', release)).to.deep.equal(['secrets [curbcut-evaluation]: get patch']);
    expect(await rights('curbcut-evaluation', scans)).to.deep.equal([]);
  });

  it('are the same in every namespace with scans.clusterWide', async () => {
    await grant({ ...VALUES, 'scans.clusterWide': true }, 'rbac');
    expect(await rights('curbcut-operator', stranger)).to.deep.equal(OPERATOR);
    expect(await rights('curbcut-operator', scans)).to.deep.equal(OPERATOR_AND_QUEUE);
    expect(await rights('curbcut-api', stranger)).to.deep.equal([]);
  });

  describe('and of people', () => {
    const person = `${release}-person`;

    before(async () => {
      await grant(VALUES, 'clusterroles');
      for (const role of ['view', 'edit', 'admin'])
        await kubectl([
          'create',
          'rolebinding',
          `${person}-${role}`,
          `--clusterrole=${role}`,
          `--user=${person}-${role}`,
          '--namespace',
          team,
        ]);
      await kubectl([
        'create',
        'clusterrolebinding',
        person,
        `--clusterrole=${release}-curbcut-platform-admin`,
        `--user=${person}-platform`,
      ]);
    });
    after(() => kubectl(['delete', 'clusterrolebinding', person, '--ignore-not-found']));

    /** Asks `kubectl auth can-i VERB RESOURCE`, which exits with 1 for a no. */
    const mayDo = async (role: string, verb: string, resource: string, namespace = team): Promise<boolean> => {
      const answer = await kubectl([
        'auth',
        'can-i',
        verb,
        `${resource}.curbcut.dev`,
        `--as=${person}-${role}`,
        '--namespace',
        namespace,
      ]).catch((error: { stdout: string }) => error.stdout);
      expect(answer.trim(), `${role} ${verb} ${resource}`).to.match(/^(yes|no)$/m);
      return /^yes$/m.test(answer);
    };
    /** Lists what of `verb resource` the role may do. */
    async function allowed(role: string, namespace?: string): Promise<string[]> {
      const found: string[] = [];
      for (const resource of ['accessibilityscans', 'scanschedules', 'scanqueues', 'knownissues', 'organisations'])
        for (const verb of ['get', 'create', 'delete']) if (await mayDo(role, verb, resource, namespace)) found.push(`${verb} ${resource}`);
      return found;
    }
    const READ = ['get accessibilityscans', 'get scanschedules', 'get scanqueues', 'get knownissues'];
    const WRITE = [
      'get accessibilityscans',
      'create accessibilityscans',
      'delete accessibilityscans',
      'get scanschedules',
      'create scanschedules',
      'delete scanschedules',
      'get scanqueues',
      'get knownissues',
    ];
    const ACCEPT = [...WRITE, 'create knownissues', 'delete knownissues'];

    it('let viewers of a namespace read its scans, schedules and queues', async () => {
      // The controller that aggregates roles works asynchronously.
      await eventually(
        () => allowed('view'),
        (found) => found.length === READ.length,
      );
      expect(await allowed('view')).to.deep.equal(READ);
      expect(await allowed('view', stranger)).to.deep.equal([]);
    });

    for (const [role, what, rights] of [
      ['edit', 'write its scans and schedules', WRITE],
      ['admin', 'also accept known issues', ACCEPT],
    ] as const)
      it(`let holders of ${role} in a namespace ${what}, but write neither queues nor Organisations`, async () => {
        await eventually(
          () => allowed(role),
          (found) => found.length === rights.length,
        );
        expect(await allowed(role)).to.deep.equal(rights);
        expect(await allowed(role, stranger)).to.deep.equal([]);
      });

    it('let platform administrators write queues and Organisations', async () => {
      expect(await allowed('platform')).to.deep.equal([
        'get scanqueues',
        'create scanqueues',
        'delete scanqueues',
        'get organisations',
        'create organisations',
        'delete organisations',
      ]);
    });
  });
});
