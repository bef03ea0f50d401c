import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { runSteps, type StepTab } from './steps.ts';

describe('steps', () => {
  it('end with their time, so that none runs while the tab visits pages again', async () => {
    const opened: string[] = [];
    let answer = (): void => undefined;
    const page = {
      goto(url: string) {
        opened.push(url);
        return new Promise<void>((resolve) => (answer = resolve));
      },
      waitForLoadState: () => Promise.resolve(),
    };
    const tab = {
      page,
      cdp: { send: () => Promise.resolve({}) },
      frame: { id: 'main' },
      traffic: { begin: () => undefined, hold: () => undefined, stopped: () => null },
    } as unknown as StepTab;
    const steps = ['/one', '/two'].map((goto) => ({ step: { goto }, description: `goto ${goto}` }));
    const signedIn = await runSteps(tab, {
      of: 'the sign-in',
      steps,
      marker: null,
      origins: [],
      mayGoTo: () => null,
      base: new URL('https://site.example/'),
      state: { cookies: [], storage: [] },
      budgetMs: 20,
      stepMs: 1000,
    });
    expect(signedIn).to.have.property('ok', false);
    answer();
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    expect(opened).to.deep.equal(['https://site.example/one']);
  });
});
