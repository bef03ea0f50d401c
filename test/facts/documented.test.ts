/** What people look up in docs/ is there: every error code, setting, field, reason and permission, and the limits of the code. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Environment as ApiEnvironment } from '../../api/config.ts';
import { ERRORS, VALIDATION_TYPES } from '../../api/http/errors.ts';
import { CSV_LIMITS } from '../../api/dashboard/credits.ts';
import { READ_LIMITS } from '../../api/scans/scan-views.ts';
import { KEY_SCOPES, PERMISSIONS, permissionsOf, ROLES, type KeyScope } from '../../core/accounts.ts';
import { Environment as OperatorEnvironment } from '../../operator/config.ts';
import { conditionOf } from '../../operator/runtime/conditions.ts';
import { FRAME_FAILURES, PAGE_CAVEATS, PAGE_FAILURES } from '../../report/schema/page.ts';
import { Report } from '../../report/schema/report.ts';
import { COMPARISON_LIMITS } from '../../report/workers/comparisons.ts';
import { CONVERSION_LIMITS } from '../../report/workers/report-formats.ts';
import { INVITATION_HOURS } from '../../stores/accounts/invitations.ts';
import { SCAN_STATES } from '../support/scan-states.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The names of all fields of a JSON Schema. */
function fieldsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {} } = schema as { properties?: object };
  return [...Object.keys(properties), ...Object.values(schema).flatMap(fieldsOf)];
}

describe('docs/', () => {
  const DOCUMENTED: readonly [what: string, pages: string[], names: readonly string[]][] = [
    ['error codes', ['docs/reference.md'], [...Object.keys(ERRORS), ...VALIDATION_TYPES]],
    [
      'settings',
      ['docs/contributing/configuration.md'],
      [ApiEnvironment, OperatorEnvironment].flatMap(({ properties }) => Object.keys(properties)),
    ],
    ['reasons and caveats of pages', ['docs/scanning.md'], [...PAGE_FAILURES, ...FRAME_FAILURES, ...PAGE_CAVEATS]],
    ['fields of the JSON export', ['docs/reports.md', 'docs/reference.md'], fieldsOf(JSON.parse(JSON.stringify(Report)))],
  ];
  for (const [what, pages, names] of DOCUMENTED)
    it(`has all ${what}`, () => {
      const text = pages.map(read).join('\n');
      const missing = names.filter((name) => !text.includes(`\`${name}\``) && !text.includes(`.${name}\``));
      expect(missing.filter((name) => !['properties', 'items', 'respect_robots'].includes(name))).to.deep.equal([]);
    });

  it('has the permissions of each role, and whether they are scopes', () => {
    const rows = PERMISSIONS.map((permission) => {
      const byRole = ROLES.map((role) => (permissionsOf(role).includes(permission) ? 'yes' : 'no'));
      const byKey = KEY_SCOPES.includes(permission as KeyScope) ? 'by scope' : 'no';
      return `| \`${permission}\` | ${[...byRole, byKey].join(' | ')} |\n`;
    });
    expect(read('docs/security.md')).to.include(
      `| permission | ${ROLES.join(' | ')} | API key |\n|---|---|---|---|---|\n${rows.join('')}\n`,
    );
  });

  for (const [work, { held, pending = held }] of [
    ['conversions', CONVERSION_LIMITS],
    ['comparisons', COMPARISON_LIMITS],
    ['downloads', CSV_LIMITS],
    ['reads', READ_LIMITS],
  ] as const)
    it(`has the limits of ${work}`, () => {
      const row = new RegExp(`^\\| ${work} [^|]*\\| (.*) \\|$`, 'm').exec(read('docs/sizing.md'))?.[1];
      expect(row?.split(' | ').map(Number)).to.deep.equal([held.total, held.perKey, pending.total, pending.perKey]);
    });

  it('says for how long mailed links and reports are kept', () => {
    const { default: days } = OperatorEnvironment.properties.VERDICT_RETENTION_DAYS as { default?: number };
    const rowOf = (what: string) => new RegExp(`^\\| ${what} \\|.*\\|$`, 'm').exec(read('docs/security.md'))![0];
    expect(rowOf('link that is mailed')).to.include(`for ${INVITATION_HOURS} hours`);
    expect(rowOf('report, after its retention')).to.include(`for ${days} days`);
  });

  it('has the conditions of scans, and the verdicts of GitOps tools', () => {
    const argo = { InProgress: 'Progressing', Current: 'Healthy', Failed: 'Degraded', Terminating: 'Progressing' };
    const actual = Object.values(SCAN_STATES).map(({ scan, kstatus }) => {
      const conditions = ['Complete', 'Reconciling', 'Stalled'].map((type) => conditionOf(scan.status?.conditions, type)?.status ?? '');
      return [...conditions, kstatus, argo[kstatus]].join('|');
    });
    const [, table] = read('docs/kubernetes.md').split('| state | `Complete` | `Reconciling` | `Stalled` | kstatus | Argo CD |\n');
    const [, ...rows] = table!.split('\n\n')[0]!.split('\n');
    const documented = rows.map((row) => row.split('|').slice(2, -1).map((cell) => cell.trim()).join('|')); // prettier-ignore
    expect(new Set(documented)).to.deep.equal(new Set(actual));
  });
});

describe('error codes', () => {
  it('of error bodies are all in the table', () => {
    const sources = globSync('{api,core,report,platform,stores,operator}/**/*.ts', { cwd: ROOT }).filter(
      (file) => !file.endsWith('.test.ts'),
    );
    const used = sources.flatMap((file) =>
      [...read(file).matchAll(/(?:new ApiError\(\s*|\bdetail: |answerOnSocket\(\w+, )'(\w+)'/g)].map(([, code]) => ({ file, code: code! })),
    );
    expect(used.map(({ code }) => code)).to.include.members(['too_many_streams', 'streams_full', 'method_not_allowed']);
    expect(used.filter(({ code }) => !Object.hasOwn(ERRORS, code))).to.deep.equal([]);
  });
});
