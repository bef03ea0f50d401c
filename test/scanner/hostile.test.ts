/** Pages that hang, crash, redirect or disturb the tests use up only their own time budget. */
import { readFileSync, readdirSync } from 'node:fs';
import { expect } from 'chai';
import { FAULT, file, found, html, openSite, redirect, scan, script, untested, type Route, type Site } from './site.ts';

/** Kills the processes of the tabs, or the main processes, of the browsers that this process started. */
function killBrowser(what: 'renderer' | 'browser'): void {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      parents.set(Number(name), Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))?.[1]));
    } catch {
      continue; // the process has ended
    }
  }
  const ours = (pid: number): boolean => pid === process.pid || (parents.has(pid) && ours(parents.get(pid) ?? 0));
  const sign = what === 'renderer' ? '--type=renderer' : '--remote-debugging-pipe';
  const found = [...parents.keys()].filter((pid) => pid !== process.pid && ours(pid) && commandOf(pid).includes(sign));
  // The executable of the browser may be a script that starts it.
  for (const pid of found) process.kill(pid, 'SIGKILL');
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

describe('hostile pages', () => {
  let site: Site;
  const open = async (bodies: Record<string, Route>): Promise<void> => {
    site = await openSite({
      '/': html(
        Object.keys(bodies)
          .filter((path) => !path.startsWith('/_'))
          .map((path) => `<p><a href="${path}">${path}</a></p>`)
          .join(''),
      ),
      ...bodies,
    });
  };
  afterEach(() => site.close());

  it('are tested despite an own axe, replaced built-ins, CSP, dialogs, popups, printing and closing', async () => {
    const page = (name: string, head: string, body = ''): string => html(FAULT + body, { title: name, head });
    await open({
      '/axe': page('axe', script('window.axe = { run() { throw new Error("not yours") }, _running: true }')),
      '/built-ins': page(
        'built-ins',
        script(
          'for (const name of ["Set", "Map", "Promise", "WeakMap", "JSON", "Array", "Object"]) window[name] = undefined; Element.prototype.querySelectorAll = () => { throw 1 };',
        ),
      ),
      '/csp': file('text/html', page('csp', '<meta name="viewport" content="width=device-width">'), {
        'content-security-policy': "default-src 'none'",
      }),
      '/dialogs': page('dialogs', '', script('alert(1); confirm(2); prompt(3); onbeforeunload = () => "stay"; setTimeout(() => alert(4))')),
      '/popups': page('popups', '', script('open("/_popup"); document.querySelector("img").click(); open("about:blank")')),
      '/print': page('print', '', script('print()')),
      '/close': page('close', '', script('window.close()')),
      '/permissions': page(
        'permissions',
        '',
        script(
          'navigator.geolocation.getCurrentPosition(() => 0); Notification.requestPermission(); navigator.mediaDevices?.getUserMedia({ audio: true }).catch(() => 0)',
        ),
      ),
      '/download': page(
        'download',
        '',
        script(
          'const a = document.createElement("a"); a.href = "/_file"; a.download = "x.zip"; a.textContent = "get it"; document.body.append(a); a.click(); location = "/_file"',
        ),
      ),
      '/_file': file('application/zip', 'PK', { 'content-disposition': 'attachment' }),
      '/_popup': html('popup'),
      '/worker': page(
        'worker',
        '',
        script('navigator.serviceWorker?.register("/_sw.js").catch(() => 0); new Worker(URL.createObjectURL(new Blob(["for(;;);"])))'),
      ),
      '/_sw.js': file('text/javascript', ''),
    });
    const { pages } = await scan(`${site.origin}/`, {}, { workers: 2 });
    const results = Object.fromEntries(
      pages.slice(1).map((page) => [new URL(page.url).pathname, page.tested ? found(page).join() : `${page.reason} ${page.message}`]),
    );
    expect(results).to.deep.equal(
      Object.fromEntries(
        ['/axe', '/built-ins', '/csp', '/dialogs', '/popups', '/print', '/close', '/permissions', '/download', '/worker'].map((path) => [
          path,
          'image-alt #fault',
        ]),
      ),
    );
    expect([site.hits('/_sw.js'), site.hits('/_popup')]).to.deep.equal([0, 0]);
  });

  it('cannot navigate during the test: refreshes, scripted reloads and endless redirects', async () => {
    await open({
      '/refresh': html(FAULT, { title: 'refresh', head: '<meta http-equiv="refresh" content="1;url=/refresh">' }),
      '/refresh-header': file('text/html', html(FAULT, { title: 'refresh header' }), { refresh: '1' }),
      '/moves-late': html(
        FAULT +
          script(
            'setInterval(() => { location.href = "/_late" }, 40); setTimeout(() => { for (let end = Date.now() + 100; Date.now() < end;); }, 10)',
          ),
        { title: 'late' },
      ),
      '/_late': html('<img src="/missing.png" id="late">', { title: 'late arrival' }),
      '/moved-by-meta': html('', { head: '<meta http-equiv="refresh" content="0;url=/_target">' }),
      '/moved-by-script': html('', { head: script('location.replace("/_target?2")') }),
      '/_target': html(FAULT, { title: 'target' }),
      '/ping': redirect('/_pong'),
      '/_pong': redirect('/ping'),
      '/reloads': html(script('location.reload()'), { title: 'reloads' }),
    });
    const { pages } = await scan(`${site.origin}/`, {}, { pageBudgetMs: 6000 });
    const page = (path: string) => pages.find(({ url }) => new URL(url).pathname === path);
    expect(found(page('/refresh')).join()).to.include('#fault');
    expect(found(page('/refresh-header'))).to.deep.equal(['image-alt #fault']);
    expect(found(page('/moves-late'))).to.satisfy(
      (lines: string[]) => lines.join() === 'image-alt #fault' || lines.join() === 'image-alt #late',
    );
    expect(page('/moved-by-meta')?.final_url).to.equal(`${site.origin}/_target`);
    expect(found(page('/moved-by-meta'))).to.deep.equal(['image-alt #fault']);
    expect(page('/moved-by-script')?.final_url).to.equal(`${site.origin}/_target?2`);
    expect(untested(pages, '/ping').reason).to.equal('navigation_failed');
    expect(untested(pages, '/reloads').reason).to.be.oneOf(['navigation_failed', 'timeout']);
  });

  it('use up only their own budget if they hang at any stage, or crash', async () => {
    await open({
      '/loops': html(script('for (;;);')),
      '/loops-later': html(script('addEventListener("load", () => setTimeout(() => { for (;;); }, 5))')),
      '/loops-while-tested': html(
        `${FAULT.repeat(2000)}${script('addEventListener("load", () => setInterval(() => { for (let end = Date.now() + 2900; Date.now() < end;); }, 0))')}`,
      ),
      '/grows': html(script('const kept = []; for (;;) kept.push(new Array(1e5).fill().map(() => ({ n: Math.random() })));')),
      '/last': html(FAULT, { title: 'last' }),
    });
    const { pages } = await scan(`${site.origin}/`, {}, { workers: 2, pageBudgetMs: 6000 });
    for (const path of ['/loops', '/loops-later']) expect(untested(pages, path).reason, path).to.equal('timeout');
    expect(untested(pages, '/grows').reason).to.be.oneOf(['crashed', 'timeout']);
    expect(found(pages.find(({ url }) => url.endsWith('/last')))).to.deep.equal(['image-alt #fault']);
    for (const page of pages) expect(page.duration_ms, page.url).to.be.lessThan(60_000);
  });

  it('do not fail the scan if they crash their tab', async () => {
    await open({
      '/crashes': html('<img alt="" src="/_crash">', { title: 'crashes' }),
      '/_crash': () => killBrowser('renderer'),
      '/last': html(FAULT, { title: 'last' }),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(untested(pages, '/crashes')).to.include({ reason: 'crashed', message: 'The page crashed its tab.' });
    expect(found(pages.at(-1))).to.deep.equal(['image-alt #fault']);
  });

  it('do not fail the scan if they crash the browser', async () => {
    let ended = 0;
    await open({
      // The browser crashes during this page: the page gets a second visit in the rest of its time.
      '/innocent': (_request, response) => {
        ended += 1;
        if (ended === 1) killBrowser('browser');
        else response.writeHead(200, { 'content-type': 'text/html' }).end(html(FAULT, { title: 'innocent' }));
      },
      '/last': html(FAULT, { title: 'last' }),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(pages.slice(1).map(found)).to.deep.equal([['image-alt #fault'], ['image-alt #fault']]);
    expect(ended).to.equal(2);
  });
});
