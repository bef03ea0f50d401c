import { expect } from 'chai';
import { MongoBulkWriteError, MongoNetworkError, MongoServerError, MongoServerSelectionError } from 'mongodb';
import { dependencyIsDown } from './availability.ts';
import { KubernetesError } from '../platform/kubernetes/kubernetes.ts';

const coded = (code: string): Error => Object.assign(new Error(code), { code });
const fromStore = (httpStatusCode: number): Error =>
  Object.assign(new Error('S3'), { name: 'S3ServiceException', $metadata: { httpStatusCode } });
const fromMongo = (code: number): Error => new MongoServerError({ message: 'refused', code });

describe('dependencyIsDown', () => {
  const down: [string, unknown][] = [
    ['a broken connection to MongoDB', new MongoNetworkError('closed')],
    ['a connection to MongoDB that broke during a bulk write', new MongoBulkWriteError(new MongoNetworkError('closed'), {} as never)],
    ['a failed server selection', new MongoServerSelectionError('none', {} as never)],
    ['a MongoDB that is not primary', fromMongo(10107)],
    ['a MongoDB that is shutting down', fromMongo(91)],
    ['a refused connection', coded('ECONNREFUSED')],
    ['a name that does not resolve', coded('EAI_AGAIN')],
    ['a silent HTTP server', coded('UND_ERR_HEADERS_TIMEOUT')],
    ['a time-out', new DOMException('late', 'TimeoutError')],
    ['a refused connection as the cause', new TypeError('fetch failed', { cause: coded('ECONNREFUSED') })],
    ['two refused connections', new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')])],
    ['an object store that responds with 503', fromStore(503)],
    ['an API server that responds with 500', new KubernetesError(500, 'InternalError', 'etcd')],
    ['an API server that responds with 429', new KubernetesError(429, 'TooManyRequests', 'wait', 1)],
  ];
  for (const [what, error] of down) it(`returns true for ${what}`, () => expect(dependencyIsDown(error)).to.equal(true));

  const itself = new Error('circle');
  itself.cause = itself;
  const ours: [string, unknown][] = [
    ['a plain bug', new TypeError('undefined is not a function')],
    ['a duplicate key', fromMongo(11000)],
    ['a malformed query', fromMongo(9)],
    ['wrong credentials of the object store', fromStore(403)],
    ['a missing object', fromStore(404)],
    ['a refusal by Kubernetes', new KubernetesError(403, 'Forbidden', 'no')],
    ['an invalid object', new KubernetesError(422, 'Invalid', 'no')],
    ['a request that the caller aborted', new DOMException('gone', 'AbortError')],
    ['an error that is its own cause', itself],
    ['undefined', undefined],
    ['a string', 'ECONNREFUSED'],
  ];
  for (const [what, error] of ours) it(`returns false for ${what}`, () => expect(dependencyIsDown(error)).to.equal(false));
});
