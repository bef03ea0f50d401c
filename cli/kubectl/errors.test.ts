import { expect } from 'chai';
import { kubectlErrorOf } from './errors.ts';

describe('errors of kubectl', () => {
  const forbidden = 'scans is forbidden: User "ada" cannot list resource "scans" in API group "curbcut.dev" at the cluster scope';
  const table: [string, string, string, string | null, boolean][] = [
    ['no permission', `Error from server (Forbidden): ${forbidden}`, `kubectl: ${forbidden} (Forbidden)`, 'Forbidden', false],
    ['an unknown name', 'Error from server (NotFound): scans "a" not found', 'kubectl: scans "a" not found (NotFound)', 'NotFound', false],
    ['an overloaded server', 'Error from server (TooManyRequests): later', 'kubectl: later (TooManyRequests)', 'TooManyRequests', true],
    ['etcd without a leader', 'Error from server: etcdserver: no leader', 'kubectl: etcdserver: no leader', null, true],
    [
      'a rejected user',
      'error: You must be logged in to the server (Unauthorized)',
      'kubectl: You must be logged in to the server (Unauthorized)',
      'Unauthorized',
      false,
    ],
    [
      'a server that is down, once, without the log lines',
      'E1122 16:43:50.288594 5911 memcache.go:265] "Unhandled Error"\nThe connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?',
      'kubectl: The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?',
      null,
      true,
    ],
    [
      'a certificate, which no retry cures',
      'Unable to connect to the server: tls: failed to verify certificate: x509: certificate signed by unknown authority',
      'kubectl: Unable to connect to the server: tls: failed to verify certificate: x509: certificate signed by unknown authority',
      null,
      false,
    ],
    [
      'a time-out',
      'Unable to connect to the server: net/http: TLS handshake timeout',
      'kubectl: Unable to connect to the server: net/http: TLS handshake timeout',
      null,
      true,
    ],
    ['nothing', '', 'kubectl: it ended with exit code 3 and gave no reason', null, false],
    ['control characters', 'error: a\u001b[2Jb', 'kubectl: a [2Jb', null, false],
  ];
  for (const [name, stderr, message, reason, temporary] of table)
    it(`are read: ${name}`, () => {
      expect(kubectlErrorOf(stderr, 3)).to.deep.include({ message, reason, temporary });
    });

  it('say what to do if the definitions are missing, or there is no cluster', () => {
    expect(kubectlErrorOf('error: the server doesn\'t have a resource type "accessibilityscans"', 1).message).to.include('not installed');
    expect(kubectlErrorOf('The connection to the server localhost:8080 was refused', 1)).to.include({ temporary: false });
    expect(kubectlErrorOf('The connection to the server localhost:8080 was refused', 1).message).to.include('--kubeconfig');
  });
});
