import { expect } from 'chai';
import { readTargetRules, readTestTargets } from './settings.ts';

describe('readTargetRules', () => {
  it('returns empty lists by default', () => {
    expect(readTargetRules({})).to.deep.equal({ targets: { allow: [], deny: [] }, problems: [] });
  });

  it('accepts CIDRs, names, and addresses with a port', () => {
    const { targets, problems } = readTargetRules({
      ALLOW_TARGETS: '127.0.0.0/8, intranet.example ,10.1.2.3:8080,[::1]:80',
      DENY_TARGETS: '198.19.0.0/17',
    });
    expect(problems).to.deep.equal([]);
    expect(targets).to.deep.equal({ allow: ['127.0.0.0/8', 'intranet.example', '10.1.2.3:8080', '[::1]:80'], deny: ['198.19.0.0/17'] });
  });

  it('reports each malformed item', () => {
    expect(readTargetRules({ ALLOW_TARGETS: '10.0.0.0/99,a b', DENY_TARGETS: 'example.com' }).problems).to.deep.equal([
      'ALLOW_TARGETS holds "10.0.0.0/99"; each item must be a CIDR, a host name or address:port.',
      'ALLOW_TARGETS holds "a b"; each item must be a CIDR, a host name or address:port.',
      'DENY_TARGETS holds "example.com"; each item must be a CIDR.',
    ]);
  });
});

describe('readTestTargets', () => {
  it('reads names and ports, and reports ranges and mistakes', () => {
    expect(readTestTargets({})).to.deep.equal({ testTargets: [], problems: [] });
    expect(readTestTargets({ TEST_TARGETS: 'demo.example, try:8080' })).to.deep.equal({
      testTargets: ['demo.example', 'try:8080'],
      problems: [],
    });
    expect(readTestTargets({ TEST_TARGETS: '10.0.0.0/8,a b' }).problems).to.deep.equal([
      'TEST_TARGETS holds "10.0.0.0/8"; each item must be a host name or name:port.',
      'TEST_TARGETS holds "a b"; each item must be a host name or name:port.',
    ]);
  });
});
