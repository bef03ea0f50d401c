/** The demo site with a release that fixes one root cause on each page and adds another. */
import { createServer } from 'node:http';
import { startDemoSite } from '../../demo-site/server.ts';
import { freePort } from '../../local/product.ts';

export interface Versions {
  url: string;
  /** Gives the link of the banner a text, and the picture beside it none. */
  release(): void;
  close(): Promise<void>;
}

const BEFORE = '<p class="season"><a href="/en/visit/"></a></p>';
const AFTER = '<p class="season"><a href="/en/visit/">Summer programme</a> <img src="/img/season.svg" width="40" height="40"></p>';

/** @param host where scanners reach it */
export async function openVersions(host: string): Promise<Versions> {
  const demo = await startDemoSite({ host });
  let banner = BEFORE;
  const server = createServer((request, response) => {
    const origin = `http://${request.headers.host!}`;
    void fetch(demo.url + request.url!, { redirect: 'manual' }).then(
      async (answer) => {
        const type = answer.headers.get('content-type') ?? '';
        const location = answer.headers.get('location');
        const body = type.startsWith('text/html')
          ? (await answer.text()).replaceAll(demo.url, origin).replace(/<\/main>/, `${banner}</main>`)
          : /xml|text\/plain/.test(type)
            ? (await answer.text()).replaceAll(demo.url, origin)
            : Buffer.from(await answer.arrayBuffer());
        response.writeHead(answer.status, { 'content-type': type, ...(location !== null && { location }) }).end(body);
      },
      () => response.writeHead(502).end(),
    );
  });
  const port = await freePort(8081);
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return {
    url: `http://${host}:${port}/en/`,
    release: () => void (banner = AFTER),
    async close() {
      server.closeAllConnections();
      server.close();
      await demo.close();
    },
  };
}
