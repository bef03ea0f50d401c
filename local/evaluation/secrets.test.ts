import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { changesOf, keepKey, restoreFiles } from './secrets.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('evaluation secrets', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'curbcut-kept-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** The files that the parts create in the data folder at start. */
  function start(identity: string, apiKey: string) {
    mkdirSync(join(folder, 'messages'), { recursive: true });
    writeFileSync(join(folder, 'messages/identity.json'), identity);
    writeFileSync(join(folder, 'objects.secret'), 'a1b2\n');
    writeFileSync(join(folder, 'demo-password'), 'c3d4\n');
    writeFileSync(join(folder, 'messages/service.creds'), 'credentials');
    keepKey(folder, apiKey);
    return { apiKey, signingSeed: 'SA1', credentialsFile: join(folder, 'messages/service.creds') };
  }

  it('are all written at the first start', () => {
    expect(changesOf(folder, start('{"a":1}', 'key-1'), {})).to.deep.equal({
      'api-key': base64('key-1'),
      'api-key.env': base64("export CURBCUT_API_KEY='key-1'"),
      'demo-password': base64('c3d4'),
      'identity.json': base64('{"a":1}'),
      'nats-signing-seed': base64('SA1'),
      's3-secret-access-key': base64('a1b2'),
      'service.creds': base64('credentials'),
    });
  });

  it('are not written if a new pod only has new credentials', () => {
    const data = changesOf(folder, start('{"a":1}', 'key-1'), {});
    writeFileSync(join(folder, 'messages/service.creds'), 'other credentials');
    expect(changesOf(folder, start('{"a":1}', 'key-1'), data)).to.deep.equal({});
  });

  it('include new credentials if the identity is new', () => {
    const data = changesOf(folder, start('{"a":1}', 'key-1'), {});
    const created = start('{"a":2}', 'key-1');
    writeFileSync(join(folder, 'messages/service.creds'), 'other credentials');
    expect(Object.keys(changesOf(folder, created, data))).to.have.members(['identity.json', 'service.creds']);
  });

  it('restore missing files and keep existing ones', () => {
    const data = changesOf(folder, start('{"a":1}', 'key-1'), {});
    rmSync(join(folder, 'messages'), { recursive: true });
    rmSync(join(folder, 'demo-password'));
    writeFileSync(join(folder, 'objects.secret'), 'kept\n');
    restoreFiles(folder, data);
    expect(readFileSync(join(folder, 'messages/identity.json'), 'utf8')).to.equal('{"a":1}');
    expect(readFileSync(join(folder, 'demo-password'), 'utf8')).to.equal('c3d4');
    expect(readFileSync(join(folder, 'objects.secret'), 'utf8')).to.equal('kept\n');
  });
});
