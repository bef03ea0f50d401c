/**
 * The parts of the REST APIs of GitHub and GitLab that comments need, with the answers that their documentation shows: "REST API
 * endpoints for issue comments" (2022-11-28) and "Notes API" (v4).
 */
import { startService, type Answering, type ReceivedRequest, type Service } from '../service.ts';

export const TOKEN = 'ghs_16C7e42F292c6912E7710c838347Ae178B4a';

export interface StoredComment {
  id: number;
  body: string;
  author: number;
  /** GitHub: `Bot` for apps. */
  type: 'User' | 'Bot';
  system?: boolean;
}

export interface Forge extends Service {
  comments: StoredComment[];
  /** Answers that come first, instead of the usual ones; with `done`, the request takes effect although its answer is lost. */
  failures: { status: number; headers?: Record<string, string>; body?: unknown; done?: true; at?: string }[];
}

interface Kind {
  list: RegExp;
  one: RegExp;
  update: string;
  show(comment: StoredComment): unknown;
  account: { status: number; body: unknown };
  authorised(request: ReceivedRequest): boolean;
}

const OWN = 41898282;
const KINDS: Readonly<Record<'github' | 'gitlab', Kind>> = {
  github: {
    list: /^\/repos\/acme\/shop\/issues\/12\/comments(?:\?|$)/,
    one: /^\/repos\/acme\/shop\/issues\/comments\/(\d+)$/,
    update: 'PATCH',
    show: ({ id, body, author, type }) => ({
      id,
      node_id: 'MDEyOklzc3VlQ29tbWVudDE=',
      url: `https://api.github.com/repos/acme/shop/issues/comments/${id}`,
      body,
      user: { login: type === 'Bot' ? 'github-actions[bot]' : 'octocat', id: author, type, site_admin: false },
      author_association: 'COLLABORATOR',
    }),
    account: { status: 403, body: { message: 'Resource not accessible by integration', status: '403' } },
    authorised: ({ headers }) => headers.authorization === `Bearer ${TOKEN}` && headers['x-github-api-version'] === '2022-11-28',
  },
  gitlab: {
    list: /^\/api\/v4\/projects\/7\/merge_requests\/12\/notes(?:\?|$)/,
    one: /^\/api\/v4\/projects\/7\/merge_requests\/12\/notes\/(\d+)$/,
    update: 'PUT',
    show: ({ id, body, author, system = false }) => ({
      id,
      body,
      author: { id: author, username: 'project_7_bot', state: 'active' },
      system,
      noteable_type: 'MergeRequest',
      noteable_iid: 12,
      resolvable: false,
    }),
    account: { status: 200, body: { id: OWN, username: 'project_7_bot', state: 'active' } },
    authorised: ({ headers }) => headers['private-token'] === TOKEN,
  },
};

/** Starts a system without comments. Its own account is `OWN`. @param host the address that it listens on. Default: loopback */
export async function startForge(kind: keyof typeof KINDS, host?: string): Promise<Forge> {
  const { list, one, update, show, account, authorised } = KINDS[kind];
  const comments: StoredComment[] = [];
  const failures: Forge['failures'] = [];
  const usual = (request: ReceivedRequest): { status: number; body: unknown } => {
    const { method, path } = request;
    if (!authorised(request)) return { status: 401, body: { message: kind === 'github' ? 'Bad credentials' : '401 Unauthorized' } };
    if (/\/user$/.test(path)) return account;
    const { body } = (request.body ?? {}) as { body?: string };
    if (method === 'GET' && list.test(path)) {
      const query = new URL(path, 'http://x').searchParams;
      const [page, size] = [Number(query.get('page') ?? 1), Number(query.get('per_page') ?? 20)];
      return { status: 200, body: comments.slice((page - 1) * size, page * size).map(show) };
    }
    if (method === 'POST' && list.test(path)) {
      const comment: StoredComment = { id: 1000 + comments.length, body: body!, author: OWN, type: 'Bot' };
      comments.push(comment);
      return { status: 201, body: show(comment) };
    }
    const found = comments.find(({ id }) => String(id) === one.exec(path)?.[1]);
    if (method !== update || found === undefined) return { status: 404, body: { message: 'Not Found' } };
    found.body = body!;
    return { status: 200, body: show(found) };
  };
  const answer: Answering = (request) => {
    const at = failures.findIndex((failure) => failure.at === undefined || failure.at === request.method);
    if (at === -1) return usual(request);
    const [{ done, ...failure }] = failures.splice(at, 1) as [Forge['failures'][number]];
    if (done === true) usual(request);
    return failure;
  };
  return Object.assign(await startService(answer, host), { comments, failures });
}

/** A comment of somebody, or of a system's account. */
export const written = (id: number, body: string, more: Partial<StoredComment> = {}): StoredComment => ({
  id,
  body,
  author: 1,
  type: 'User',
  ...more,
});
export const own = (id: number, body: string): StoredComment => written(id, body, { author: OWN, type: 'Bot' });
