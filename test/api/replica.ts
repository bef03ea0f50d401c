/** Starts a replica of the real app on a free port. It checks responses against the OpenAPI document and can inject store failures. */
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { buildApp } from '../../api/app.ts';
import type { ApiStores, AppOptions } from '../../api/dependencies.ts';
import { createMetrics, type Metrics } from '../../api/metrics.ts';
import type { Resolver } from '../../core/scan/targets.ts';
import type { Logger } from '../../platform/logger.ts';
import type { MessageBus } from '../../stores/nats.ts';
import { contractOf, recordErrors, type Contract, type OpenApiDocument } from './contract.ts';
import { NAMESPACE } from './stack.ts';

/** Host names that the tests' resolver resolves. */
const ADDRESSES: Readonly<Record<string, string[]>> = {
  'example.com': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'inside.example.com': ['10.1.2.3'],
  'mixed.example.com': ['93.184.215.14', '192.168.0.7'],
};

export const KNOWN_NAMES: Resolver = {
  resolve: (hostname) => {
    const addresses = ADDRESSES[hostname];
    return Promise.resolve(addresses ? { ok: true, addresses: [...addresses] } : { ok: false, reason: 'not_found' });
  },
};

/** Replacements of store methods by `store.method`. They receive the real method as their first parameter. */
export type Faults = Map<string, (real: (...parameters: unknown[]) => Promise<unknown>, ...parameters: unknown[]) => Promise<unknown>>;

function interceptable<T extends object>(name: string, store: T, faults: Faults, calls: string[]): T {
  return new Proxy(store, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property);
      if (typeof member !== 'function') return member;
      return (...parameters: unknown[]) => {
        const call = `${name}.${String(property)}`;
        calls.push(call);
        const real = (...actual: unknown[]) => Reflect.apply(member, target, actual) as Promise<unknown>;
        const fault = faults.get(call);
        return fault ? fault(real, ...parameters) : real(...parameters);
      };
    },
  });
}

/** An outage in the form that drivers report it. */
export function outage(): Error {
  return Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:27017 (secret-host)'), { code: 'ECONNREFUSED' });
}
export const down = (): Promise<never> => Promise.reject(outage());

/** The text of an error without the ID of its request, which two equal answers do not share. */
export const unnamed = (text: string): string => text.replace(/,"request_id":"[^"]+"/, '');

export interface Response {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body if it is JSON. */
  body: any; // eslint-disable-line @typescript-eslint/no-explicit-any
}
export interface Request {
  key?: string | null;
  body?: unknown;
  /** A body that is sent unchanged. */
  raw?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface Replica {
  app: FastifyInstance;
  url: string;
  metrics: Metrics;
  contract: Contract;
  document: OpenApiDocument;
  log: { level: string; fields: Record<string, unknown>; message: string }[];
  faults: Faults;
  /** Store calls in order, as `store.method`. */
  calls: string[];
  bus: MessageBus;
  /** The metrics of this replica, as its process exports them. */
  scrape(): Promise<string>;
  request(method: string, path: string, request?: Request): Promise<Response>;
  /** Sends text over a TCP connection and returns everything received until it closes. */
  raw(text: string): Promise<string>;
  close(): Promise<void>;
}

export type ReplicaOptions = Partial<AppOptions> & {
  messages?: boolean;
  /** Default: a free one. */
  port?: number;
  now?: () => Date;
  /** Default: resolves only a few names. */
  resolver?: Resolver;
  /** Connections of anonymous requests. Default: they share the others. */
  anonymousConnections?: number;
};

const OPTIONS: AppOptions = {
  publicBaseUrl: 'https://curbcut.example',
  namespace: NAMESPACE,
  targets: { allow: [], deny: ['198.18.0.0/15'] },
  maxPagesLimit: 500,
  maxLiveScans: 2000,
  maxLiveScansPerOrganisation: 500,
  // Tests change the state between two requests.
  queueCacheMs: 0,
  maxEventStreams: 1000,
  version: '0.0.0-test',
};

export async function startReplica(real: ApiStores, bus: MessageBus, settings: ReplicaOptions, anonymous?: ApiStores): Promise<Replica> {
  const faults: Faults = new Map();
  const calls: string[] = [];
  const log: Replica['log'] = [];
  const logger = recorder(log);
  const metrics = createMetrics();
  const intercepted = (all: ApiStores) =>
    Object.fromEntries(
      Object.entries(all).map(([name, store]) => [name, interceptable(name, store as object, faults, calls)]),
    ) as unknown as ApiStores;
  const app = await buildApp(
    {
      stores: intercepted(real),
      ...(anonymous !== undefined && { anonymousStores: intercepted(anonymous) }),
      bus,
      resolver: settings.resolver ?? KNOWN_NAMES,
      now: settings.now ?? (() => new Date()),
      logger,
      metrics,
    },
    { ...OPTIONS, ...settings },
  );
  await app.listen({ host: '127.0.0.1', port: settings.port ?? 0 });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const document = app.swagger() as unknown as OpenApiDocument;
  const contract = contractOf(document);

  return {
    app,
    url,
    metrics,
    contract,
    document,
    log,
    faults,
    calls,
    bus,
    scrape: () => metrics.registry.metrics(),
    async request(method, path, { key, body, raw, headers = {}, signal } = {}) {
      const response = await fetch(url + path, {
        method,
        signal,
        redirect: 'manual',
        headers: {
          ...(key != null && { 'X-API-Key': key }),
          ...((body !== undefined || raw !== undefined) && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        body: raw ?? (body === undefined ? undefined : JSON.stringify(body)),
      });
      const text = await response.text();
      const answer = { status: response.status, headers: response.headers, text };
      contract.check(method, path, answer);
      const json = /json/.test(response.headers.get('content-type') ?? '') && text !== '';
      return { ...answer, body: json ? JSON.parse(text) : undefined };
    },
    raw: (text) =>
      new Promise((resolve, reject) => {
        let answer = '';
        const socket = connect(port, '127.0.0.1', () => socket.write(text));
        socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
        socket.on('error', reject).on('close', () => {
          const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
          if (body.startsWith('{')) recordErrors(JSON.parse(body));
          resolve(answer);
        });
      }),
    async close() {
      await app.close();
      await bus.close();
    },
  };
}

function recorder(log: Replica['log'], shared: object = {}): Logger {
  const at = (level: string) => (fields: object, message: string) => void log.push({ level, fields: { ...shared, ...fields }, message });
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => recorder(log, { ...shared, ...fields }),
  };
}
