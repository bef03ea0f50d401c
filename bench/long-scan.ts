/** Measures the memory of a long scan: whether it grows with the number of pages. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { curbcut, type Run } from './scanners.ts';

export interface LongScan {
  run: Run;
  /** The peak of each fifth of the run, in bytes. */
  fifths: number[];
}

/** A page with a menu, a table and a form, some of which have faults. No two pages are equal. */
function pageOf(number: number, pages: number): string {
  const links = Array.from(
    { length: 10 },
    (_, at) => `<li><a href="/page/${(number * 10 + at + 1) % pages}">Page ${(number * 10 + at + 1) % pages}</a></li>`,
  );
  const rows = Array.from(
    { length: 30 },
    (_, at) => `<tr><th scope="row">Row ${at}</th><td>${(number * 7919 + at * 104729) % 100_003}</td></tr>`,
  );
  const faults = Array.from({ length: number % 8 }, (_, at) => `<img src="/picture-${number}-${at}.png"><input name="field-${at}">`);
  return `<!doctype html><html lang="en"><head><title>Page ${number}</title></head><body><nav aria-label="Main"><ul>${links.join('')}</ul></nav><main><h1>Page ${number}</h1><table>${rows.join('')}</table><form>${faults.join('')}</form></main></body></html>`;
}

/** Scans a generated site with two workers. */
export async function measureLongScan(pages: number): Promise<LongScan> {
  const server = createServer((request, response) => {
    const number = request.url === '/' ? 0 : Number(/^\/page\/(\d+)$/.exec(request.url!)?.[1] ?? NaN);
    if (Number.isNaN(number)) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/html' }).end(pageOf(number, pages));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const site = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const run = await curbcut(2).run(
      site,
      Array.from({ length: pages }, () => ''),
      true,
    );
    const { samples } = run.measured;
    const size = Math.ceil(samples.length / 5);
    return { run, fifths: Array.from({ length: 5 }, (_, at) => Math.max(0, ...samples.slice(at * size, (at + 1) * size))) };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
