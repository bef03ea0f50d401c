import { expect } from 'chai';
import { createSilentHosts } from './silent-hosts.ts';

describe('silent hosts', () => {
  const PAGE = new URL('https://example.org/page');

  it('are blocked with all their files if they never answered', () => {
    const hosts = createSilentHosts();
    hosts.gaveUp('https://cdn.example:8443/a.png?x=1');
    expect(hosts.blockedOn(PAGE)).to.deep.equal(['https://cdn.example:8443/*']);
  });

  it('are blocked with the one file if they answered other requests', () => {
    const hosts = createSilentHosts();
    hosts.answered('https://example.org/page');
    hosts.gaveUp('https://example.org/images/a.png?x=1');
    expect(hosts.blockedOn(PAGE)).to.deep.equal(['https://example.org/images/a.png*']);
  });

  it('are not blocked any longer once they answer', () => {
    const hosts = createSilentHosts();
    hosts.gaveUp('https://cdn.example/a.png');
    hosts.answered('https://cdn.example/b.png');
    expect(hosts.blockedOn(PAGE)).to.deep.equal([]);
  });

  it('never block the page itself, or its host', () => {
    const hosts = createSilentHosts();
    hosts.gaveUp('https://example.org/a.png');
    expect(hosts.blockedOn(PAGE)).to.deep.equal([]);
    expect(hosts.blockedOn(new URL('https://other.example/'))).to.deep.equal(['https://example.org/*']);
    hosts.answered('https://example.org/');
    hosts.gaveUp('https://example.org/page');
    expect(hosts.blockedOn(PAGE)).to.deep.equal([]);
  });

  it('have no effect on URLs without a host', () => {
    const hosts = createSilentHosts();
    for (const url of ['data:text/plain,x', 'blob:https://example.org/1', '', 'about:blank']) {
      hosts.gaveUp(url);
      hosts.leftOpen(url);
    }
    expect(hosts.blockedOn(PAGE)).to.deep.equal([]);
  });

  it('remember data requests that two pages left open, until one is finished', () => {
    const hosts = createSilentHosts();
    hosts.leftOpen('https://example.org/poll?since=1');
    expect(hosts.staysOpen('https://example.org/poll')).to.equal(false);
    hosts.leftOpen('https://example.org/poll?since=2');
    expect(hosts.staysOpen('https://example.org/poll?since=3')).to.equal(true);
    expect(hosts.staysOpen('https://example.org/other')).to.equal(false);
    hosts.finished('https://example.org/poll?since=3');
    expect(hosts.staysOpen('https://example.org/poll')).to.equal(false);
  });
});
