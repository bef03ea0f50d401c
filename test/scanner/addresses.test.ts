/** Which addresses are the same page, and that every address that a scan meets is in its report. */
import { expect } from 'chai';
import { file, found, html, openSite, paths, scan, testedOf, type Route, type Site } from './site.ts';

const anchors = (...to: string[]): string => to.map((href) => `<p><a href="${href}">to ${href}</a></p>`).join('');

describe('addresses of a scan', () => {
  let site: Site;
  const open = async (routes: Record<string, Route>): Promise<Site> => (site = await openSite(routes));
  afterEach(() => site.close());

  describe('with hash routes', () => {
    /** An application that displays a route when it is loaded, and never again. */
    const application = html(
      `${anchors('#/home', '#/settings', '#!news', '#top', '#!')}<div id="view"></div><script>
        const route = location.hash.replace(/^#!?\\/?/, '') || 'start';
        document.title = route;
        document.getElementById('view').innerHTML = '<p>This is ' + route + '</p>' + (route === 'start' ? '' : '<img src="data:," id="' + route + '">');
      </script>`,
    );

    it('are pages of their own, each loaded anew', async () => {
      await open({ '/': application });
      const { pages } = await scan(`${site.origin}/`);
      expect(paths(pages)).to.deep.equal(['/', '/#/home', '/#/settings', '/#!news']);
      expect(testedOf(pages).map(({ title }) => title)).to.deep.equal(['start', 'home', 'settings', 'news']);
      expect(pages.map(({ final_url }) => final_url)).to.deep.equal(pages.map(({ url }) => url));
      expect(pages.slice(1).map(found)).to.deep.equal([['image-alt #home'], ['image-alt #settings'], ['image-alt #news']]);
      expect(site.hits('/')).to.equal(4);
    });

    it('test the route of the start address', async () => {
      await open({ '/': application });
      const { pages } = await scan(`${site.origin}/#/settings`, { maxPages: 1 });
      expect(paths(pages)).to.deep.equal(['/#/settings']);
      expect(found(pages[0])).to.deep.equal(['image-alt #settings']);
    });

    it('do not make pages of other fragments, also after a redirect', async () => {
      await open({
        '/': html(anchors('/a#one', '/a#two', '/moved')),
        '/a': html('a'),
        '/moved': (_request, response) => response.writeHead(302, { location: '/b#part' }).end(),
        '/b': html('b'),
      });
      const { pages } = await scan(`${site.origin}/#top`);
      expect(paths(pages)).to.deep.equal(['/', '/a', '/moved']);
      expect(pages[2]!.final_url).to.equal(`${site.origin}/b`);
    });
  });

  it('include pages whose names end like a file', async () => {
    await open({
      '/': html(anchors('/wiki/Node.js', '/tags/vue.js', '/README.md', '/wiki/File:Plan.png', '/plan.png', '/style.css', '/all.zip')),
      '/wiki/Node.js': html('Node'),
      '/tags/vue.js': html('Vue'),
      '/README.md': html('Read me'),
      '/wiki/File:Plan.png': html('A plan'),
      '/plan.png': file('image/png', ''),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(testedOf(pages).map(({ url }) => new URL(url).pathname)).to.have.members([
      '/',
      '/wiki/Node.js',
      '/tags/vue.js',
      '/README.md',
      '/wiki/File:Plan.png',
    ]);
    for (const path of ['/plan.png', '/style.css', '/all.zip']) expect(site.hits(path), path).to.equal(0);
  });
});
