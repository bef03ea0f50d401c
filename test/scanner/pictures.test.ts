/** Pictures of elements: one for each root cause, outlined, small, and without secrets. */
import { spawn } from 'node:child_process';
import { expect } from 'chai';
import { chromium, type Browser, type Page } from 'playwright-core';
import { jpegSize, picturesMismatch, placePictures } from '../../report/results/pictures.ts';
import { rootCausesOf } from '../../report/causes/root-causes.ts';
import { PICTURE_MAX_BYTES } from '../../report/schema/report.ts';
import type { RootCause } from '../../report/schema/root-cause.ts';
import { findChromium } from '../../scanner-image/page/browser/chromium.ts';
import type { KeptPicture, PictureLimits } from '../../scanner-image/page/visit/pictures.ts';
import type { ScanOutput } from '../../scanner-image/scan.ts';
import { nightly } from '../support/nightly.ts';
import { html, machine, openSite, scan, testedOf, type Route, type Site } from './site.ts';

/** Red, unless it is hidden or covered. */
const SHOWN = '<span style="background:#f00;color:#f00;font-size:60px">token-1234</span>';

describe('pictures', () => {
  let site: Site;
  let browser: Browser;
  let blank: Page;
  before(async () => {
    browser = await chromium.launch({ executablePath: findChromium(machine), chromiumSandbox: false });
    blank = await browser.newPage();
  });
  after(() => browser.close());
  afterEach(() => site.close());

  async function picture(routes: Record<string, Route>, limits: Partial<PictureLimits> = {}, workers = 1): Promise<ScanOutput> {
    site = await openSite(routes);
    return scan(`${site.origin}/`, { pictures: true }, { workers, pageBudgetMs: 20_000 }, { pictureLimits: limits });
  }
  const groupsOf = ({ pages }: ScanOutput, rule: string): RootCause[] =>
    rootCausesOf(pages, 'violations').filter((group) => group.rule === rule);
  const picturesOf = (result: ScanOutput, rule: string): (KeptPicture | undefined)[] =>
    groupsOf(result, rule).map(({ fingerprint }) => result.pictures.get(fingerprint));

  /** The number of pixels of a colour, which may differ a little in each channel. */
  const pixels = ({ bytes }: KeptPicture, [red, green, blue]: [number, number, number]): Promise<number> =>
    blank.evaluate<number>(`(async () => {
      const data = Uint8Array.from(atob('${Buffer.from(bytes).toString('base64')}'), (char) => char.charCodeAt(0));
      const image = await createImageBitmap(new Blob([data], { type: 'image/jpeg' }));
      const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
      context.drawImage(image, 0, 0);
      const all = context.getImageData(0, 0, image.width, image.height).data;
      let count = 0;
      for (let at = 0; at < all.length; at += 4)
        if (${JSON.stringify([red, green, blue])}.every((value, channel) => Math.abs(all[at + channel] - value) < 24)) count += 1;
      return count;
    })()`);
  const OUTLINE: [number, number, number] = [0xd6, 0x00, 0x6c];
  const button = '<button style="width:100px;height:30px"></button>';

  it('show each root cause once, in frames and shadow roots too, with an outline', async () => {
    const shadow = `<div id="host"></div><script>document.getElementById('host').attachShadow({ mode: 'open' }).innerHTML = '<input style="height:30px">'</script>`;
    const result = await picture({
      '/': html(
        `<div style="height:2000px"></div><img src="/x.png" width="90" height="60">${shadow}<iframe title="f" src="/frame"></iframe><a href="/b">b</a>`,
      ),
      '/b': html(`<img src="/x.png" width="90" height="60"><select style="height:30px"></select>`),
      '/frame': html(`<div style="height:900px"></div>${button}`),
    });
    const first = testedOf(result.pages)[0]!.url;
    const second = testedOf(result.pages)[1]!.url;
    for (const [rule, url] of [
      ['image-alt', first],
      ['label', first],
      ['button-name', first],
      ['select-name', second],
    ] as const) {
      const [taken, ...others] = picturesOf(result, rule);
      expect(others, rule).to.deep.equal([]);
      expect(taken?.pageUrl, rule).to.equal(url);
      expect(taken!.bytes.byteLength).to.be.within(500, PICTURE_MAX_BYTES);
      expect(jpegSize(taken!.bytes)).to.deep.equal({ width: taken!.width, height: taken!.height });
      expect(await pixels(taken!, OUTLINE), rule).to.be.greaterThan(100);
    }
    const report = { pages: result.pages, groups: rootCausesOf(result.pages, 'violations'), review_groups: [] };
    const { places, pagePlaces, object } = placePictures(report, result, 1e6);
    expect(places).to.have.length(4);
    expect(pagePlaces.map(({ page_url }) => page_url)).to.deep.equal([first, second]);
    const whole = { ...report, pictures: places, page_pictures: pagePlaces };
    expect(picturesMismatch(whole, object)).to.equal(null);
    expect(picturesMismatch({ ...whole, page_pictures: [...pagePlaces, pagePlaces[0]!] }, object)).to.match(/second one/);
  });

  it('never show password fields, secrets in other fields, or frames of other sites', async () => {
    const red = 'background:#ff0000;border:0;width:120px;height:40px';
    const result = await picture({
      '/': (request, response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end(
          html(`<form role="img"><button style="width:60px;height:40px"></button>
            <input type="password" style="${red}"><input autocomplete="one-time-code" aria-label="code" style="${red}">
            <iframe title="pay" src="http://${request.headers.host!.replace('127.0.0.1', 'localhost')}/red" width="120" height="40"></iframe></form>`),
        ),
      '/red': html('<style>html{background:#ff0000}</style>'),
    });
    const [taken] = picturesOf(result, 'button-name');
    expect(await pixels(taken!, OUTLINE)).to.be.greaterThan(100);
    expect(await pixels(taken!, [0xff, 0, 0])).to.equal(0);
    expect(await pixels(taken!, [0x76, 0x76, 0x76])).to.be.greaterThan(10_000);
    expect(groupsOf(result, 'label'), 'the password field has no label').to.have.length(1);
    expect(picturesOf(result, 'label')).to.deep.equal([undefined]);
    const [form] = picturesOf(result, 'role-img-alt');
    expect(await pixels(form!, [0xff, 0, 0])).to.equal(0);
  });

  it('of whole pages are as wide as the page, and never show secrets, however far down', async () => {
    const red = 'position:absolute;left:100px;width:400px;height:200px;border:0;background:#ff0000;color:#ff0000;';
    const blue = 'position:absolute;left:100px;width:400px;height:200px;background:#0000ff;';
    site = await openSite({
      '/': (request, response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end(
          html(`<img src="/x.png" width="90" height="60"><input type="password" aria-label="a" style="${red}top:300px">
            <input aria-label="b" value="token-1234" style="${red}top:1500px"><div style="${red}top:2500px;background:none"><span style="background:#ff0000">token-1234</span></div>
            <iframe title="pay" src="http://${request.headers.host!.replace('127.0.0.1', 'localhost')}/red" style="${red}top:3000px"></iframe>
            <div style="${blue}top:3500px"></div><div style="${blue}top:4600px"></div><div style="position:absolute;top:5000px;height:20px">end</div>`),
        ),
      '/red': html('<style>html{background:#ff0000}</style>'),
    });
    const signIn = { headers: [], cookies: [], steps: [], marker: null, origins: [], secrets: ['token-1234'] };
    const result = await scan(`${site.origin}/`, { pictures: true }, { pageBudgetMs: 20_000 }, { signIn });
    const [whole] = result.pagePictures.values();
    expect([...result.pagePictures.keys()]).to.deep.equal([testedOf(result.pages)[0]!.url]);
    expect(whole).to.include({ width: 320, height: 1000 });
    expect(whole!.bytes.byteLength).to.be.at.most(PICTURE_MAX_BYTES);
    expect(await pixels(whole!, [0xff, 0, 0])).to.equal(0);
    expect(await pixels(whole!, [0, 0, 0xff]), 'only the first box is above the end').to.be.within(4000, 5500);
    expect(await pixels(whole!, [0x76, 0x76, 0x76])).to.be.greaterThan(13_000);
  });

  /** The sign-in of a scan whose pages show one of its values. */
  const SIGNED_IN = { headers: [], cookies: [], steps: [], marker: null, origins: [], secrets: ['token-1234'] };
  const LARGE = 'font-size:60px;line-height:60px;color:#f00;-webkit-text-stroke:14px #f00;fill:#f00;stroke:#f00;stroke-width:14px';
  /** Where a page paints the value of a sign-in. */
  const PAINTED: Record<string, string> = {
    'in a text': SHOWN,
    'in a text that elements divide': SHOWN.replace('en-', '<b>en-</b>'),
    'in a text without a box': `<span style="display:contents;${LARGE}">token-1234</span>`,
    'in the summary of a closed disclosure, without a box': `<details><summary style="display:contents;${LARGE}">token-1234</summary></details>`,
    'in a slot without a box': `<span id="host" style="display:contents;${LARGE}">token-1234</span>
      <script>document.getElementById('host').attachShadow({ mode: 'open' }).innerHTML = '<slot style="visibility:visible"></slot>'</script>`,
    'in an option of a closed list': `<select aria-label="a" style="${LARGE}"><option value="1">token-1234</option></select>`,
    'in the label of an option': `<select aria-label="a" style="${LARGE}"><option value="1" label="token-1234"></option></select>`,
    'in a customizable list': `<select aria-label="a" style="appearance:base-select;${LARGE}"><option value="1">token-1234</option></select>`,
    'in a placeholder': `<style>::placeholder { color: #f00 }</style><input aria-label="a" placeholder="token-1234" style="width:600px;${LARGE}">`,
    'in a generated text': `<style>#u::before { content: "a " attr(data-u) }</style><span id="u" data-u="token-1234" style="${LARGE}"></span>`,
    'in a generated text that a variable has': `<style>#u::after { content: var(--u) }</style><span style="--u:'token-1234'"><b id="u" style="display:contents;${LARGE}"></b></span>`,
    'in the marker of a list': `<style>#u::marker { content: attr(data-u) }</style><ul style="margin-left:400px"><li id="u" data-u="token-1234" style="${LARGE}"></li></ul>`,
    'in place of a picture': `<img src="/none.png" alt="token-1234" style="${LARGE}">`,
    'in a drawing': `<svg width="600" height="60"><text y="50"><tspan style="${LARGE}">token-1234</tspan></text></svg>`,
    'in a copy of a drawing': `<svg width="600" height="60"><symbol id="s"><text y="50" style="${LARGE}">token-1234</text></symbol><use href="#s"/></svg>`,
  };
  const PUBLIC = '<b style="display:inline-block;width:60px;height:60px;background:#00f"></b>';
  it('never show a value of a sign-in, wherever a page paints it', async () => {
    const places = Object.keys(PAINTED);
    /** The pictures of a page for each place: of the button beside it, and of the whole page. */
    const taken = async (shown: (content: string) => string): Promise<[string, KeptPicture | undefined][]> => {
      const pages = places.map((place, at) => [
        `/${at}`,
        html(`<div style="height:800px"></div><button class="${place.replaceAll(' ', '-')}" style="width:60px;height:40px"></button> ${PUBLIC}
          <div id="m">${shown(PAINTED[place]!)}</div><div style="height:2000px"></div>
          <script>onresize = () => (m.style.cssText = 'position:absolute;top:1500px')</script>`),
      ]);
      const links = places.map((place, at) => `<a href="/${at}">${place}</a>`).join(' ');
      site = await openSite({ '/': html(links), ...Object.fromEntries(pages) });
      const more = { signIn: SIGNED_IN };
      // A state resizes the page before its picture, too.
      const result = await scan(`${site.origin}/`, { pictures: true, states: [] }, { pageBudgetMs: 20_000 }, more);
      await site.close();
      const elements = [...result.pictures.values()];
      return places.flatMap((place, at) => {
        const url = `${site.origin}/${at}`;
        return [
          [place, elements.find(({ pageUrl }) => pageUrl === url)],
          [`${place}, of the whole page`, result.pagePictures.get(url)],
        ];
      });
    };
    for (const [place, one] of await taken((content) => content)) {
      expect(one, place).not.to.equal(undefined);
      expect(await pixels(one!, [0, 0, 0xff]), `other content beside a value ${place}`).to.be.greaterThan(50);
      expect(await pixels(one!, [0xff, 0, 0]), place).to.equal(0);
    }
    // That these pictures would show the value.
    if (!nightly(false, true)) return;
    const harmless = await taken((content) => content.replaceAll(/token-1234|tok<b>en-<\/b>1234/g, 'public-123'));
    for (const [place, one] of harmless) expect(await pixels(one!, [0xff, 0, 0]), `another value ${place}`).to.be.greaterThan(5);
  });

  it('of whole pages never show a secret that moves, loses its box or is written again', async () => {
    const moved = 'position:absolute;top:1500px';
    const again = `<p id="m">${SHOWN}</p>`;
    /** What the pages show, and how many pictures there are of each. */
    const shown: Record<string, [content: string, pictures: number]> = {
      '/moves': [`<p id="m">${SHOWN}</p><script>onresize = () => (m.style.cssText = '${moved}')</script>`, 1],
      '/loses-its-box': [
        `<p><span id="m" style="${LARGE}">token-1234</span></p>
         <script>onresize = () => { m.style.display = 'contents'; m.parentNode.style.cssText = '${moved}'; }</script>`,
        1,
      ],
      '/is-written-again': [`${again}<script>onresize = () => (m.innerHTML = m.innerHTML)</script>`, 0],
      '/is-not': [again, 1],
      '/moves-always': [
        `<style>@keyframes m { to { margin-left: 600px } }</style><p style="animation:m 0.3s infinite alternate">${SHOWN}</p>`,
        1,
      ],
    };
    const page = (content: string): string =>
      html(`<img src="/x.png" width="90" height="60"><div style="height:800px"></div>${content}<div style="height:2000px"></div>`);
    const pages = Object.entries(shown).map(([path, [content]]) => [path, page(content)]);
    const links = Object.keys(shown).map((path) => `<a href="${path}">${path}</a>`);
    site = await openSite({ '/': html(links.join(' ')), ...Object.fromEntries(pages) });
    const more = { signIn: SIGNED_IN };
    const { pagePictures } = await scan(`${site.origin}/`, { pictures: true, states: [] }, { pageBudgetMs: 20_000 }, more);
    for (const [path, [, pictures]] of Object.entries(shown)) {
      const whole = pagePictures.get(site.origin + path);
      expect(whole === undefined ? 0 : 1, path).to.equal(pictures);
      if (whole !== undefined) expect(await pixels(whole, [0xff, 0, 0]), path).to.equal(0);
    }
  });

  it('of whole pages are only taken of pages with findings, that still are as they were tested', async () => {
    const grows = `<script>new MutationObserver((all) => {
      if (all.some(({ addedNodes }) => [...addedNodes].some((node) => node.popover === 'manual'))) document.body.style.height = '9000px';
    }).observe(document.documentElement, { childList: true })</script>`;
    const result = await picture({
      '/': html('<a href="/fails">a</a> <a href="/grows">b</a>'),
      '/fails': html('<img src="/x.png" width="90" height="60">'),
      '/grows': html(`<div style="height:3000px"></div>${button}<div style="height:300px"></div>${grows}`),
    });
    expect([...result.pagePictures.keys()].map((url) => new URL(url).pathname)).to.deep.equal(['/fails']);
    expect(testedOf(result.pages)).to.have.length(3);
  });

  it('are small, also of a noisy page', async () => {
    const noise = `<canvas role="img" id="noise" width="1200" height="700"></canvas><script>
      const context = document.getElementById('noise').getContext('2d');
      const image = context.createImageData(1200, 700);
      for (let at = 0, seed = 1; at < image.data.length; at++) { seed = (seed * 1103515245 + 12345) % 2147483648; image.data[at] = at % 4 === 3 ? 255 : (seed >> 8) & 255; }
      context.putImageData(image, 0, 0);</script>`;
    const [taken] = picturesOf(await picture({ '/': html(noise) }), 'role-img-alt');
    expect(taken?.bytes.byteLength ?? 0).to.be.at.most(PICTURE_MAX_BYTES);
    if (taken !== undefined) expect(taken.width).to.be.lessThan(900);
  });

  it('are only taken of what can be seen, and of the element that was tested', async () => {
    const result = await picture({
      '/': html(`<button style="position:absolute;left:-5000px;width:50px;height:20px"></button><a href="/b" style="opacity:0"><svg width="9" height="9"></svg></a>
        <img src="/x.png" width="90" height="60"><select style="height:30px"></select><script>
          const select = document.querySelector('select');
          setInterval(() => (select.dataset.time = performance.now()), 1);
        </script>`),
    });
    for (const rule of ['button-name', 'link-name', 'select-name']) {
      expect(groupsOf(result, rule), rule).to.have.length(1);
      expect(picturesOf(result, rule), rule).to.deep.equal([undefined]);
    }
    expect(picturesOf(result, 'image-alt')[0]).not.to.equal(undefined);
  });

  it('do not fail a page that hangs while its picture is taken, nor the next one', async () => {
    const hang = `new MutationObserver((all) => {
      while (all.some(({ addedNodes }) => [...addedNodes].some((node) => node.popover === 'manual')));
    }).observe(document.documentElement, { childList: true })`;
    const result = await picture({
      '/': html(`<div style="height:3000px"></div>${button}<a href="/b">b</a><script>${hang}</script>`),
      '/b': html('<img src="/x.png" width="90" height="60">'),
    });
    expect(result.pages.map((page) => page.tested)).to.deep.equal([true, true]);
    expect(picturesOf(result, 'button-name')).to.deep.equal([undefined]);
    expect(picturesOf(result, 'image-alt')[0]).not.to.equal(undefined);
  });

  it('are the worst ones of the scan, the same with any number of workers and on a machine that is busy', async () => {
    const faults = ['<input style="height:30px">', button, '<img src="/x.png" width="90" height="60">', '<p style="color:#ccc">p</p>'];
    const bodies = [0, 8, 3, 2, 6, 10, 15, 9].map((bits) => faults.filter((_, at) => bits & (1 << at)).join(' '));
    const links = bodies.map((_, at) => `<a href="/${at}">${at}</a>`).join(' ');
    site = await openSite({ '/': html(links), ...Object.fromEntries(bodies.map((body, at) => [`/${at}`, html(body)])) });
    const pathOf = (url: string): string => new URL(url).pathname;
    const taken = async (workers: number): Promise<unknown> => {
      const limits = { causes: 3, pages: 3 };
      const result = await scan(`${site.origin}/`, { pictures: true }, { workers, pageBudgetMs: 60_000 }, { pictureLimits: limits });
      const causes = rootCausesOf(result.pages, 'violations');
      return {
        causes: causes.flatMap(({ rule, fingerprint }) => {
          const picture = result.pictures.get(fingerprint);
          return picture === undefined ? [] : [`${rule} ${pathOf(picture.pageUrl)}`];
        }),
        pages: [...result.pagePictures.keys()].map(pathOf).sort(),
        left: result.picturesLeft,
      };
    };
    const worst = { causes: ['button-name /2', 'label /2', 'image-alt /4'], pages: ['/2', '/4', '/6'], left: 0 };
    for (const workers of [1, 2, 4]) expect(await taken(workers), `${workers} workers`).to.deep.equal(worst);
    for (const loops of nightly([], [12])) {
      const busy = Array.from({ length: loops }, () => spawn(process.execPath, ['-e', 'for (;;);']));
      try {
        expect(await taken(4), `${loops} busy loops`).to.deep.equal(worst);
      } finally {
        for (const loop of busy) loop.kill();
      }
    }
  });

  it('are counted when there is no time for them', async () => {
    const result = await picture({ '/': html(`${button}<img src="/x.png" width="90" height="60">`) }, { maxMs: 0 });
    expect([result.pictures.size, result.pagePictures.size, result.picturesLeft]).to.deep.equal([0, 0, 3]);
  });

  it('are not taken without the option', async () => {
    site = await openSite({ '/': html(button) });
    expect((await scan(`${site.origin}/`, { pictures: false })).pictures.size).to.equal(0);
  });
});
