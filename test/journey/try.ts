/** What the image `try` prints, and whether it is true. */
import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';

export interface Printed {
  url: string;
  key: string;
  password: string;
  inbox: string;
  demo: string;
  scan: string;
  /** The page of the scan in the dashboard. */
  open: string;
}

/** Reads the addresses that the container printed. @throws Error with the output if one is missing */
export function printed(output: string): Printed {
  const read = (pattern: RegExp): string => {
    const found = pattern.exec(output)?.[1];
    if (found === undefined) throw new Error(`nothing matches ${String(pattern)} in:\n${output}`);
    return found;
  };
  return {
    url: read(/^API +(\S+)/m),
    key: read(/^ +key +(svc_live_\w+)$/m),
    password: read(/password (\S+)$/m),
    inbox: read(/^Inbox +(\S+)$/m),
    demo: read(/^Demo site +(\S+)/m),
    scan: read(/^Scan ([0-9a-f-]{36})$/m),
    open: read(/^Open +(\S+)$/m),
  };
}

interface Answer {
  status: number;
  location: string | undefined;
  body: Buffer;
}

/** Opens an address as a browser on this machine does: every name is loopback. */
function open(address: string, port: number, headers: Record<string, string> = {}): Promise<Answer> {
  const { host, pathname, search } = new URL(address);
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: `${pathname}${search}`, headers: { host, ...headers }, timeout: 30_000 }, (answer) => {
      void buffer(answer).then((body) => resolve({ status: answer.statusCode!, location: answer.headers.location, body }), reject);
    })
      .on('error', reject)
      .end();
  });
}

/** Checks every printed address. @param port the port of this machine that leads to the container's */
export async function checkTry({ url, key, inbox, demo, scan, open: page }: Printed, port: number): Promise<void> {
  const get = (address: string, headers?: Record<string, string>) => open(address, port, headers);
  const text = async (address: string): Promise<string> => (await get(address)).body.toString();

  const { body } = await get(`${url}/v1/ci/scans/${scan}`, { 'x-api-key': key });
  const result = JSON.parse(body.toString()) as { status: string; passed: boolean; pages_tested: number };
  expect(result).to.include({ status: 'done', passed: false });
  expect(result.pages_tested).to.be.greaterThan(0);

  const { body: links } = await get(`${url}/v1/scans/${scan}/report`, { 'x-api-key': key });
  const { url: pdf } = JSON.parse(links.toString()) as { url: string };
  expect(pdf.startsWith(`${url}/`), pdf).to.equal(true);
  const report = await get(pdf);
  expect([report.status, report.body.subarray(0, 5).toString()]).to.deep.equal([200, '%PDF-']);

  // The dashboard asks for a sign-in first.
  expect(page).to.equal(`${url}/dashboard/scans/${scan}`);
  expect((await get(page)).status).to.be.within(200, 303);
  expect(await text(`${url}/`)).to.include('<form');
  expect(await text(`${inbox}/`)).to.include('<h1>Inbox');
  expect((await get(demo)).location).to.equal('/en/');
  expect(await text(`${demo}en/`)).to.include('<h1');
}
