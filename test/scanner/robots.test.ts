/** robots.txt files that have no end, fail, or redirect. */
import { expect } from 'chai';
import { answer, failureOf, file, html, openSite, paths, redirect, scan, testedOf, type Route, type Site } from './site.ts';

describe('a robots.txt', () => {
  let site: Site;
  const open = async (robots: Route, more: Record<string, Route> = {}): Promise<void> => {
    site = await openSite({
      '/': html('<a href="/private">private</a><a href="/public">public</a>', { title: 'Start' }),
      '/private': html('', { title: 'Private' }),
      '/public': html('', { title: 'Public' }),
      '/robots.txt': robots,
      ...more,
    });
  };
  afterEach(() => site.close());

  const RULES = 'User-agent: *\nDisallow: /private\n';

  it('without an end is obeyed', async () => {
    await open((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).write(RULES);
      const line = `${'#'.repeat(65_535)}\n`;
      const more = (): void => {
        while (!response.destroyed && response.write(line));
      };
      response.on('drain', more);
      more();
    });
    expect(paths(testedOf((await scan(`${site.origin}/`)).pages))).to.deep.equal(['/', '/public']);
  });

  it('behind redirects is obeyed, up to five of them', async () => {
    const hops = Object.fromEntries([1, 2, 3, 4].map((hop) => [`/hop${hop}`, redirect(`/hop${hop + 1}`)]));
    await open(redirect('/hop1'), { ...hops, '/hop5': file('text/plain', RULES) });
    expect(paths(testedOf((await scan(`${site.origin}/`)).pages))).to.deep.equal(['/', '/public']);
    await site.close();
    await open(redirect('/robots.txt'));
    expect(paths(testedOf((await scan(`${site.origin}/`)).pages))).to.deep.equal(['/', '/private', '/public']);
  });

  for (const [name, robots, words] of [
    ['that keeps failing', answer(503), 'status 503'],
    ['that closes the connection', (request) => request.socket.destroy(), 'closed the connection'],
  ] as [string, Route, string][])
    it(`${name} ends the scan before a page is loaded, with advice`, async () => {
      await open(robots);
      const error = await failureOf(scan(`${site.origin}/`));
      expect(error).to.include({ reason: 'target_unreachable' });
      expect(error.message)
        .to.include(`${site.origin}/robots.txt could not be read in 3 tries`)
        .and.to.include(words)
        .and.to.include('respectRobots: false')
        .and.not.to.include('Allow the user agent');
      expect(site.requests.filter((path) => path !== '/robots.txt')).to.deep.equal([]);
    });

  it('of a site that is down ends the scan with the reason, without advice about the file', async () => {
    await open(answer(404));
    await site.close();
    const error = await failureOf(scan(`${site.origin}/`));
    expect(error).to.include({ reason: 'target_unreachable' });
    expect(error.message).to.include(`${site.origin} could not be reached`).and.to.include('ECONNREFUSED').and.not.to.include('robots');
  });
});
