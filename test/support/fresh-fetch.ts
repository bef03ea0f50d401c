import { Agent, fetch, type RequestInit as UndiciInit } from 'undici';

/** Without kept connections. */
const dispatcher = new Agent({ pipelining: 0 });

/**
 * Sends a request over a new connection. A kept connection may be closed by a replica that ends just when it is used again, and
 * Node.js's own `fetch` uses one even for a request with `connection: close`, so that such a failure says nothing about the service.
 */
export async function freshFetch(address: string, init: RequestInit = {}): Promise<Response> {
  const { status, headers, body } = await fetch(address, { ...(init as UndiciInit), dispatcher });
  return new Response(body as ReadableStream | null, { status, headers: [...headers] });
}
