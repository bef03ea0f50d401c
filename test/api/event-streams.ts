/** A client of event streams for tests. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Replica } from './replica.ts';

interface Event {
  id: number;
  data: { event: string; status: string; pages_scanned?: number; [field: string]: unknown };
}
export interface Stream {
  response: IncomingMessage;
  events: Event[];
  comments: string[];
  ended: Promise<void>;
  hasEnded(): boolean;
  abort(): void;
}

/** Opens a stream, parses it like EventSource, and checks every event against its schema. */
export function follow(replica: Replica, key: string, scanId: string, headers: Record<string, string> = {}): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      `${replica.url}/v1/ci/scans/${scanId}/events`,
      { headers: { 'X-API-Key': key, ...headers } },
      (response) => {
        replica.contract.check('GET', `/v1/ci/scans/${scanId}/events`, {
          status: response.statusCode!,
          headers: new Headers(Object.entries(response.headers).map(([name, value]) => [name, String(value)])),
          text: '',
        });
        const events: Event[] = [];
        const comments: string[] = [];
        let text = '';
        let closed = false;
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
            const block = text.slice(0, end);
            text = text.slice(end + 2);
            if (block.startsWith(':')) {
              comments.push(block);
              continue;
            }
            const [, id, data] = /^id: (\d+)\ndata: (.+)$/.exec(block) ?? [];
            const event = { id: Number(id), data: JSON.parse(data!) as Event['data'] };
            replica.contract.checkEvent(event.data);
            events.push(event);
          }
        });
        const ended = new Promise<void>((done) => {
          response.on('end', () => done()).on('error', () => done());
          response.on('close', () => done());
        }).then(() => void (closed = true));
        resolve({ response, events, comments, ended, hasEnded: () => closed, abort: () => request.destroy() });
      },
    );
    request.on('error', reject).end();
  });
}
