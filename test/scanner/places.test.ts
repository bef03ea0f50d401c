/** Where the elements of findings are on their page: in documents, frames and shadow roots. */
import { expect } from 'chai';
import { Compile } from 'typebox/compile';
import { rootCausesOf } from '../../report/causes/root-causes.ts';
import { type Box, POSITION_MAX, TestedPage } from '../../report/schema/page.ts';
import { openSite, scan, testedOf, type Route, type Site } from './site.ts';

const isTested = Compile(TestedPage);
const document = (body: string): string =>
  `<!doctype html><html lang="en"><head><title>Places</title><style>* { margin: 0; border: 0; padding: 0 }</style></head><body><h1 style="font-size: 10px; height: 20px">Places</h1>${body}</body></html>`;
const at = (style: string): string => `position: absolute; ${style}`;
const image = (id: string, style: string): string => `<img id="${id}" src="/x.png" style="${at(style)}">`;

describe('the places of elements', () => {
  let site: Site;
  afterEach(() => site.close());

  async function test(body: string, routes: Record<string, Route> = {}): Promise<TestedPage> {
    site = await openSite({
      '/': (request, response) => {
        const other = `http://${request.headers.host!.replace('127.0.0.1', 'localhost')}`;
        response.writeHead(200, { 'content-type': 'text/html' }).end(document(body.replaceAll('OTHER', other)));
      },
      ...routes,
    });
    const [page] = testedOf((await scan(`${site.origin}/`, { maxPages: 1 })).pages);
    if (page === undefined) throw new Error('not tested');
    expect([...isTested.Errors(page)]).to.deep.equal([]);
    return page;
  }

  /** The boxes of a page's elements by the end of their path. */
  const boxes = ({ violations }: TestedPage): Record<string, Box | null | undefined> =>
    Object.fromEntries(violations.flatMap(({ nodes }) => nodes.map(({ selector, box }) => [selector, box])));

  it('are in CSS pixels from the top left of the document, however far down', async () => {
    const page = await test(
      image('first', 'left: 40px; top: 100px; width: 80px; height: 60px') +
        image('last', 'left: 1000px; top: 5000px; width: 300px; height: 1000px') +
        image('outside', 'left: -300px; top: 30px; width: 50px; height: 20px'),
    );
    expect(page.size).to.deep.equal({ width: 1300, height: 6000 });
    expect(boxes(page)).to.deep.equal({
      '#first': { x: 40, y: 100, width: 80, height: 60 },
      '#last': { x: 1000, y: 5000, width: 300, height: 1000 },
      '#outside': { x: -300, y: 30, width: 50, height: 20 },
    });
  });

  it('contain the content of inline elements, and are null for elements without a box', async () => {
    const { violations } = await test(
      `<a id="link" href="/y" style="font-size: 10px"><img src="/x.png" alt="" style="width: 90px; height: 70px"></a><meta id="viewport" name="viewport" content="user-scalable=no">`,
    );
    const found = Object.fromEntries(violations.flatMap(({ nodes }) => nodes.map(({ selector, box }) => [selector, box])));
    expect(found['#link']).to.include({ x: 0, y: 20, width: 90 });
    expect(found['#link']!.height).to.be.at.least(70);
    expect(Object.entries(found).find(([selector]) => /viewport/.test(selector))?.[1]).to.equal(null);
  });

  it('are those of the page for elements in frames of any site and in shadow roots, cut by the frames', async () => {
    const frame = (path: string, style: string): string => `<iframe title="${path}" src="${path}" style="${at(style)}"></iframe>`;
    const inner = document(
      image('near', 'left: 10px; top: 30px; width: 50px; height: 20px') +
        image('cut', 'left: 10px; top: 180px; width: 50px; height: 90px') +
        image('below', 'left: 10px; top: 900px; width: 50px; height: 20px'),
    );
    const shadow = `<div id="host" style="${at('left: 5px; top: 700px; width: 100px; height: 100px')}"></div><script>document.getElementById('host').attachShadow({ mode: 'open' }).innerHTML = '<input id="field" style="position: absolute; left: 7px; top: 9px; width: 60px; height: 20px; border: 0; padding: 0; margin: 0">'</script>`;
    const routes = { '/inner': inner, '/outer': document(frame('/inner', 'left: 20px; top: 40px; width: 300px; height: 200px')) };
    const size = 'width: 400px; height: 500px';
    expect(
      boxes(await test(frame('OTHER/outer', `left: 100px; top: 60px; border: 3px solid; padding: 2px; ${size}`) + shadow, routes)),
    ).to.deep.equal({
      '#near': { x: 135, y: 135, width: 50, height: 20 },
      '#cut': { x: 135, y: 285, width: 50, height: 20 },
      '#below': null,
      '#field': { x: 12, y: 709, width: 60, height: 20 },
    });
  });

  it('are limited for any page, and change neither fingerprints nor root causes', async () => {
    const page = await test(
      image('far', 'left: 10px; top: 0; width: 30px; height: 30px; transform: translateX(-1e9px)') +
        image('same', 'left: 10px; top: 400px; width: 30px; height: 30px'),
    );
    expect(boxes(page)['#far']!.x).to.equal(-POSITION_MAX);
    const without = JSON.parse(JSON.stringify(page), (name, value: unknown) => (name === 'box' ? undefined : value)) as TestedPage;
    expect(rootCausesOf([without], 'violations').map(({ fingerprint, elements }) => [fingerprint, elements])).to.deep.equal(
      rootCausesOf([page], 'violations').map(({ fingerprint, elements }) => [fingerprint, elements]),
    );
  });
});
