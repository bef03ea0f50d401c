import { expect } from 'chai';
import { judgeTarget, targetItem } from './targets.ts';

const resolver = (addresses: Record<string, string[]>) => {
  const asked: string[] = [];
  return { asked, resolve: (name: string) => (asked.push(name), Promise.resolve(addresses[name] ?? [])) };
};

describe('judgeTarget', () => {
  it('asks nobody for an address that the URL spells out', async () => {
    const names = resolver({});
    expect(await judgeTarget('http://93.184.215.14/a', { allow: [], deny: [] }, names)).to.deep.equal({
      allowed: true,
      url: 'http://93.184.215.14/a',
    });
    expect((await judgeTarget('http://[::ffff:10.0.0.1]/', { allow: [], deny: [] }, names)).allowed).to.equal(false);
    expect(names.asked).to.deep.equal([]);
  });

  it('lets through what the operator lists: a range, a name, an address with its port', async () => {
    const names = resolver({ localhost: ['127.0.0.1', '::1'], 'intranet.example': ['10.0.0.5'] });
    const verdict = async (url: string, ...allow: string[]) => (await judgeTarget(url, { allow, deny: [] }, names)).allowed;
    expect(await verdict('http://localhost:3000/', '127.0.0.0/8', '::1')).to.equal(true);
    expect(await verdict('http://localhost:3000/', '127.0.0.0/8'), 'one of its addresses is not listed').to.equal(false);
    expect(await verdict('http://intranet.example/', 'intranet.example')).to.equal(true);
    expect(await verdict('http://127.0.0.1:3000/', '127.0.0.1:3000')).to.equal(true);
    expect(await verdict('http://127.0.0.1:3001/', '127.0.0.1:3000')).to.equal(false);
  });

  it('refuses a name by the operator’s deny list', async () => {
    const judged = await judgeTarget(
      'https://site.example/',
      { allow: [], deny: ['93.184.215.0/24'] },
      resolver({ 'site.example': ['93.184.215.14'] }),
    );
    expect(judged.allowed ? null : targetItem(judged)).to.deep.include({ loc: ['body', 'url'], type: 'url.private_address' });
  });
});
