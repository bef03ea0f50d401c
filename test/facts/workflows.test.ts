/** The workflows of .github/: pinned, with the least rights, and in step with the repository. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';

interface Step {
  uses?: string;
  with?: Record<string, unknown>;
  run?: string;
  env?: Record<string, string>;
}

interface Workflow {
  permissions?: Record<string, string>;
  jobs: Record<string, { permissions?: Record<string, string>; env?: Record<string, string>; steps: Step[]; 'timeout-minutes'?: number }>;
}

const ROOT = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const workflows = globSync('.github/workflows/*.yaml', { cwd: ROOT }).map((path) => ({ path, workflow: parse(read(path)) as Workflow }));

for (const { path, workflow } of workflows) {
  const jobs = Object.values(workflow.jobs);
  const steps = jobs.flatMap((job) => job.steps);
  const scripts = steps.map(({ run = '' }) => run).join('\n');

  describe(path, () => {
    it('pins every action by commit', () => {
      expect(steps.flatMap(({ uses }) => uses ?? []).filter((uses) => !/^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/.test(uses))).to.deep.equal([]);
    });

    it('has no rights by default but to read, and a bound for each job', () => {
      expect(Object.values(workflow.permissions ?? { all: 'write' }).filter((right) => right !== 'read')).to.deep.equal([]);
      for (const job of jobs) expect(job['timeout-minutes']).to.be.within(1, 180);
    });

    it('runs targets and scripts that exist', () => {
      const targets = [...read('Makefile').matchAll(/^([a-z-]+):/gm)].map(([, name]) => name!);
      const called = [...scripts.matchAll(/\bmake ([a-z-]+)/g)].map(([, name]) => name!);
      expect(called.filter((name) => !targets.includes(name))).to.deep.equal([]);
      for (const [script] of scripts.matchAll(/\btools\/[\w./-]+/g)) expect(globSync(script, { cwd: ROOT })).to.have.length(1);
    });

    it('passes values of a run to scripts through variables only', () => {
      expect(scripts).to.not.match(/\$\{\{\s*(github|inputs|secrets)\b/);
    });
  });
}
