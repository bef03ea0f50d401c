import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createNameServerCheck, hostNamesIn, type NameLookups } from './name-servers.ts';

const NAMES = ['db.data.svc', 'minio.objects.svc'];
const coded = (code: string) => Object.assign(new Error(code), { code });

async function resultOf(nameServers: NameLookups['nameServers'], hostsFile = '127.0.0.1 localhost'): Promise<string> {
  const check = createNameServerCheck(NAMES, { nameServers, hostsFile: () => Promise.resolve(hostsFile) });
  return check().then(
    () => 'answered',
    (error: unknown) => (error as Error).message,
  );
}

describe('the check of name servers', () => {
  it('succeeds if one answers for any name, also if it does not know the name', async () => {
    expect(await resultOf(() => Promise.resolve(['10.0.0.1']))).to.equal('answered');
    for (const code of ['ENOTFOUND', 'ENODATA', 'ESERVFAIL', 'EREFUSED'])
      expect(await resultOf(() => Promise.reject(coded(code))), code).to.equal('answered');
    expect(await resultOf((name) => (name === NAMES[1] ? Promise.resolve([]) : Promise.reject(coded('ETIMEOUT'))))).to.equal('answered');
  });

  it('names the value of the chart if none answers, in time for the readiness probe', async () => {
    for (const nameServers of [() => Promise.reject(coded('ETIMEOUT')), () => Promise.reject(coded('ECONNREFUSED'))])
      expect(await resultOf(nameServers)).to.match(/No name server answers for db\.data\.svc, minio\.objects\.svc\. .*networkPolicy\.dns/);
    const started = performance.now();
    expect(await resultOf(() => new Promise(() => undefined))).to.include('networkPolicy.dns');
    expect(performance.now() - started).to.be.below(1_950);
  });

  it('succeeds without name servers if the hosts file has a name', async () => {
    expect(await resultOf(() => Promise.reject(coded('ECONNREFUSED')), '10.1.2.3 minio.objects.svc')).to.equal('answered');
  });

  it('recognises the silence of a real name server, as behind a NetworkPolicy', async () => {
    const silent = createSocket('udp4');
    await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve));
    const client = new Resolver({ timeout: 200, tries: 1 });
    client.setServers([`127.0.0.1:${(silent.address() as AddressInfo).port}`]);
    try {
      expect(await resultOf((name) => client.resolve4(name))).to.include('networkPolicy.dns');
    } finally {
      silent.close();
    }
  });

  it('asks for the host names of all addresses', () => {
    const addresses = ['mongodb://user:p%40w@db-0.data.svc:27017,db-1.data.svc/x?a=b', 'nats://10.1.2.3:4222', undefined];
    expect(hostNamesIn(addresses)).to.deep.equal(['db-0.data.svc', 'db-1.data.svc']);
    expect(hostNamesIn(['http://localhost:9000', 'mongodb://[fd00::1]:27017/x', 'mongodb+srv://cluster.example.net/x'])).to.deep.equal([
      'cluster.example.net',
    ]);
  });
});
