import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createFakeLogger } from '../test/support/fake-logger.ts';
import { mountSecret, type MountedSecret } from '../test/support/mounted-secret.ts';
import { fromFile, readConfiguration, secret, Type } from './configuration.ts';
import { currentOf, openSettingFiles, type SettingFiles } from './setting-files.ts';

const SCHEMA = Type.Object({
  KEY_ID: Type.Optional(Type.String({ ...fromFile, description: 'an id' })),
  PASSWORD: Type.String({ pattern: '^[a-z ]+$', ...secret, description: 'letters' }),
  PORT: Type.Optional(Type.Integer({ description: 'a port' })),
});
const EVERY_MS = 10;

describe('settings from files', () => {
  let mounted: MountedSecret;
  let stop = (): void => undefined;
  beforeEach(() => (mounted = mountSecret({ KEY_ID: 'one', PASSWORD: 'hush' })));
  afterEach(() => {
    stop();
    mounted.remove();
  });
  const logger = createFakeLogger();
  function follow(files: SettingFiles): void {
    stop();
    stop = files.follow(logger, EVERY_MS);
  }

  it('are read without the line end, and only if they may come from a file', () => {
    const { environment, problems } = openSettingFiles(SCHEMA, { ...mounted.environment, PORT_FILE: mounted.environment['KEY_ID_FILE'] });
    expect(problems).to.deep.equal([]);
    expect(readConfiguration(SCHEMA, environment)).to.deep.equal({ KEY_ID: 'one', PASSWORD: 'hush' });
  });

  it('must be readable, not empty, and not set in two ways', () => {
    const problemsOf = (over: Record<string, string>) => openSettingFiles(SCHEMA, { ...mounted.environment, ...over }).problems;
    expect(problemsOf({ KEY_ID_FILE: '/nowhere' })).to.deep.equal(['KEY_ID_FILE is "/nowhere"; the file cannot be read (ENOENT).']);
    expect(problemsOf({ PASSWORD: 'other' })).to.deep.equal(['PASSWORD and PASSWORD_FILE are both set; set one of them.']);
    mounted.write({ KEY_ID: '', PASSWORD: 'x'.repeat(1024 * 1024) });
    expect(problemsOf({}).map((problem) => problem.replace(/"[^"]+"/, 'F'))).to.deep.equal([
      'KEY_ID_FILE is F; the file is empty.',
      'PASSWORD_FILE is F; the file is larger than 1 MiB.',
    ]);
  });

  it('change while the process runs, and listeners learn it once for all settings', async () => {
    const files = openSettingFiles(SCHEMA, mounted.environment);
    const password = files.credential('PASSWORD')!;
    const seen: string[] = [];
    files.onChange(['KEY_ID', 'PASSWORD'], () => seen.push(`${files.credential('KEY_ID')!()} ${currentOf(password)}`));
    files.onChange(['OTHER'], () => seen.push('never'));
    follow(files);
    await sleep(5 * EVERY_MS);
    expect(seen).to.deep.equal([]);
    mounted.write({ KEY_ID: 'two', PASSWORD: 'quiet' });
    while (seen.length === 0) await sleep(EVERY_MS);
    await sleep(5 * EVERY_MS);
    expect(seen).to.deep.equal(['two quiet']);
    expect(logger.lines.map(({ message, fields }) => [message, fields['setting']])).to.deep.include.members([
      ['setting changed', 'KEY_ID'],
      ['setting changed', 'PASSWORD'],
    ]);
    expect(JSON.stringify(logger.lines)).not.to.match(/hush|quiet/);
  });

  it('keep the earlier value while the new one is invalid or the file is gone', async () => {
    const files = openSettingFiles(SCHEMA, mounted.environment);
    const password = files.credential('PASSWORD')!;
    follow(files);
    const refusals = async (count: number) => {
      while (logger.lines.filter(({ level }) => level === 'error').length < count) await sleep(EVERY_MS);
      return logger.lines.filter(({ level }) => level === 'error').at(-1)!;
    };
    mounted.write({ KEY_ID: 'one', PASSWORD: 'LOUD' });
    const { message, fields } = await refusals(1);
    expect(message).to.equal('changed setting refused, the earlier value stays in use');
    expect(fields).to.deep.equal({ setting: 'PASSWORD', problems: ['PASSWORD is (hidden); it must be letters.'] });
    expect(password()).to.equal('hush');
    rmSync(mounted.environment['PASSWORD_FILE']!);
    expect(JSON.stringify((await refusals(2)).fields)).to.include('ENOENT');
    expect(password()).to.equal('hush');
  });
});
