/** The ClusterRoles for people, which Kubernetes adds to its own roles view, edit and admin. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { needsHelm, PLAIN, render, ROOT, type Rendered } from './rendered.ts';

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'delete', 'deletecollection', 'patch', 'update'];

describe('ClusterRoles for people', () => {
  needsHelm();

  /** The ClusterRoles that belong to no service account. */
  const rolesFor = (values: Readonly<Record<string, unknown>>): Rendered[] => {
    const objects = render({ ...PLAIN, ...values });
    const bound = objects.filter(({ kind }) => kind === 'ClusterRoleBinding').map(({ roleRef }) => (roleRef as { name: string }).name);
    return objects.filter(({ kind, metadata }) => kind === 'ClusterRole' && !bound.includes(metadata.name));
  };
  const rulesOf = (roles: readonly Rendered[], name: string): Rule[] =>
    roles.find(({ metadata }) => metadata.name === name)!.rules as Rule[];
  const aggregatedTo = ({ metadata }: Rendered): string[] =>
    Object.keys(metadata.labels).flatMap((label) => /^rbac\.authorization\.k8s\.io\/aggregate-to-(.*)$/.exec(label)?.slice(1) ?? []);

  it('let viewers read, editors write scans and schedules, and only administrators of a namespace accept known issues', () => {
    const roles = rolesFor({});
    const all = ['accessibilityscans', 'scanschedules', 'scanqueues', 'knownissues'];
    for (const [name, resources, verbs] of [
      ['view', all, READ],
      ['edit', ['accessibilityscans', 'scanschedules'], WRITE],
      ['admin', ['knownissues'], WRITE],
    ] as const)
      expect(rulesOf(roles, `prod-curbcut-${name}`)).to.deep.equal([{ apiGroups: ['curbcut.dev'], resources, verbs }]);
  });

  it('keep Organisations, which grant credits, in a role that is not aggregated', () => {
    const roles = rolesFor({});
    expect(Object.fromEntries(roles.map((role) => [role.metadata.name, aggregatedTo(role)]))).to.deep.equal({
      'prod-curbcut-view': ['view'],
      'prod-curbcut-edit': ['edit', 'admin'],
      'prod-curbcut-admin': ['admin'],
      'prod-curbcut-platform-admin': [],
    });
    const granting = roles.filter((role) => (role.rules as Rule[]).some(({ resources }) => resources.includes('organisations')));
    expect(granting.map(({ metadata }) => metadata.name)).to.deep.equal(['prod-curbcut-platform-admin']);
  });

  it('cover every kind of the definitions, and never a status', () => {
    const plurals = globSync('crds/*.yaml', { cwd: ROOT }).map(
      (path) => (parse(readFileSync(join(ROOT, path), 'utf8')) as { spec: { names: { plural: string } } }).spec.names.plural,
    );
    const covered = rolesFor({}).flatMap(({ rules }) => (rules as Rule[]).flatMap(({ resources }) => resources));
    expect(covered).to.include.members(plurals);
    expect(covered.filter((resource) => resource.includes('/'))).to.deep.equal([]);
  });

  it('are left out with rbac.aggregate=false, or if the chart creates no roles', () => {
    expect(rolesFor({ 'rbac.aggregate': false })).to.deep.equal([]);
    expect(rolesFor({ 'rbac.create': false })).to.deep.equal([]);
  });
});

describe('the Role of the API', () => {
  needsHelm();

  it('has the schedules of its own namespace only if there is a dashboard', () => {
    const rulesWith = (values: Readonly<Record<string, unknown>>): unknown[] => {
      const roles = render({ ...PLAIN, ...values }).filter(({ kind, metadata }) => kind === 'Role' && metadata.name === 'curbcut-api');
      expect(roles.map(({ metadata }) => metadata.namespace)).to.deep.equal(['prod-scans']);
      return roles[0]!.rules as Rule[];
    };
    const scans = { apiGroups: ['curbcut.dev'], resources: ['accessibilityscans'], verbs: ['create', 'get', 'list', 'patch'] };
    const schedules = { apiGroups: ['curbcut.dev'], resources: ['scanschedules'], verbs: ['create', 'delete', 'get', 'patch'] };
    expect(rulesWith({})).to.deep.equal([scans, schedules]);
    expect(rulesWith({ 'dashboard.enabled': false })).to.deep.equal([scans]);
  });
});
