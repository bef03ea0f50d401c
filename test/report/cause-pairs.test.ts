import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { rootCauseFingerprint } from '../../report/causes/root-causes.ts';
import type { ReportNode } from '../../report/schema/page.ts';

type Pair = [what: string, rule: string, one: string, other: string];

/** One component in two builds, or twice on a page. */
const SAME: readonly Pair[] = [
  ['Vite: another style and line', 'button-name', '<button class="_menu_1c5uy_1"></button>', '<button class="_menu_9xk2p_7"></button>'],
  ['Vite: a hash without digits', 'button-name', '<button class="_menu_bcdyu_1"></button>', '<button class="_menu_kzqre_1"></button>'],
  [
    'emotion',
    'button-name',
    '<button class="MuiButtonBase-root css-1dbjc4n"></button>',
    '<button class="MuiButtonBase-root css-k3x9zq"></button>',
  ],
  ['styled-components', 'button-name', '<button class="sc-bdVaJa kYyvTd"></button>', '<button class="sc-bdVaJa fDbVxX"></button>'],
  [
    'styled-components with names',
    'button-name',
    '<button class="Nav-sc-1kq8x7w-0 fDbVxX"></button>',
    '<button class="Nav-sc-1kq8x7w-0 aBcDeF"></button>',
  ],
  ['Svelte', 'button-name', '<button class="menu svelte-1tky8bj"></button>', '<button class="menu svelte-9qk2z1"></button>'],
  [
    'JSS in production',
    'button-name',
    '<button class="MuiIconButton-root jss12"></button>',
    '<button class="MuiIconButton-root jss15"></button>',
  ],
  ['JSS in development', 'button-name', '<button class="makeStyles-menu-12"></button>', '<button class="makeStyles-menu-15"></button>'],
  [
    'WordPress: an entry of a menu',
    'link-name',
    '<a class="menu-link menu-item-512" href="/a"></a>',
    '<a class="menu-link menu-item-513" href="/b"></a>',
  ],
  [
    'WordPress: a picture',
    'image-alt',
    '<img class="wp-image-812 size-full" src="/wp-content/uploads/2024/01/team.jpg">',
    '<img class="wp-image-913 size-full" src="/wp-content/uploads/2024/02/office.jpg">',
  ],
  ['pictures of one template', 'image-alt', '<img class="card__img" src="/red-shoes.jpg">', '<img class="card__img" src="/blue-hat.jpg">'],
  ['pictures with hashes', 'image-alt', '<img class="avatar" src="/u/8f3a2b1c.jpg">', '<img class="avatar" src="/u/77aa0b1c.jpg">'],
  ['links of one colour', 'color-contrast', '<a href="/about">About</a>', '<a href="/imprint">Imprint</a>'],
  [
    'background pictures',
    'role-img-alt',
    '<div role="img" style="background-image:url(a.jpg)"></div>',
    '<div role="img" style="background-image:url(b.jpg)"></div>',
  ],
  [
    'fields of rows',
    'label',
    '<input type="text" id="qty-red-shoes" name="qty-red-shoes">',
    '<input type="text" id="qty-blue-hat" name="qty-blue-hat">',
  ],
  [
    'films of articles',
    'video-caption',
    '<video class="player"><source src="/intro.mp4"></video>',
    '<video class="player"><source src="/outro.mp4"></video>',
  ],
  [
    'embedded films',
    'frame-title',
    '<iframe class="yt" src="https://www.youtube.com/embed/dQw4w9WgXcQ"></iframe>',
    '<iframe class="yt" src="https://www.youtube.com/embed/abcdefghijk"></iframe>',
  ],
  [
    'what a link of one size contains',
    'target-size',
    '<a class="icon" href="/a"><svg><path d="M1 1"></path></svg></a>',
    '<a class="icon" href="/b">b</a>',
  ],
  [
    'WordPress: Elementor',
    'link-name',
    '<a class="elementor-element elementor-element-1a2b3c4 btn"></a>',
    '<a class="elementor-element elementor-element-77fe012 btn"></a>',
  ],
  [
    'Drupal: a field of a form that was loaded again',
    'label',
    '<input class="form-text" id="edit-mail--AbC1dEfGhIj" name="mail">',
    '<input class="form-text" id="edit-mail--Zk3vQpLmN0w" name="mail">',
  ],
  ['Drupal: a row of a view', 'link-name', '<a class="views-row-1 node-812"></a>', '<a class="views-row-2 node-7"></a>'],
  [
    'Rails: a nested field',
    'label',
    '<input id="order_items_attributes_0_qty" name="order[items_attributes][0][qty]">',
    '<input id="order_items_attributes_1699999999999_qty" name="order[items_attributes][1699999999999][qty]">',
  ],
  [
    'Rails: a digested file',
    'image-alt',
    '<img src="/assets/logo-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08.png">',
    '<img src="/assets/logo-2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae.png">',
  ],
  [
    'Shopify: a section',
    'label',
    '<input id="Quantity-template--16023__main" name="quantity">',
    '<input id="Quantity-template--17999__main" name="quantity">',
  ],
  [
    'Ember',
    'button-name',
    '<button id="ember123" class="btn ember-view"></button>',
    '<button id="ember98" class="btn ember-view"></button>',
  ],
  [
    'Turbopack',
    'button-name',
    '<button class="page-module__E0kJGG__menu"></button>',
    '<button class="page-module__hQrtzX__menu"></button>',
  ],
  ['IDs of React without digits', 'label', '<input id=":rb:" class="field">', '<input id=":r1a:" class="field">'],
  ['UUIDs', 'label', '<input id="3f2b8c1e-abcd-4f0e-9b7a-1c2d3e4f5a6b">', '<input id="99ab8c1e-0a4d-4f0e-9b7a-ffffffffffff">'],
  [
    'states, for a rule about ARIA',
    'aria-allowed-attr',
    '<p class="x" aria-expanded="true">a</p>',
    '<p class="x" aria-expanded="false">b</p>',
  ],
  [
    'anchors of headings',
    'link-name',
    '<a class="anchor" id="install" href="#install"></a>',
    '<a class="anchor" id="use" href="#use"></a>',
  ],
  [
    'bars of different values',
    'aria-progressbar-name',
    '<div class="progress-bar w-30" role="progressbar"></div>',
    '<div class="progress-bar w-60" role="progressbar"></div>',
  ],
];

/** Two faults: accepting one must not accept the other. */
const DIFFERENT: readonly Pair[] = [
  ['attributes that are not allowed', 'aria-allowed-attr', '<div aria-expanded="true">x</div>', '<div aria-selected="true">y</div>'],
  [
    'attributes with wrong values',
    'aria-valid-attr-value',
    '<button aria-checked="yes">x</button>',
    '<button aria-pressed="often">x</button>',
  ],
  [
    'which of two values is wrong',
    'aria-valid-attr-value',
    '<button aria-expanded="maybe" aria-pressed="true"></button>',
    '<button aria-expanded="true" aria-pressed="often"></button>',
  ],
  ['directives', 'label', '<input type="checkbox" x-model="a">', '<input type="checkbox" @click="b">'],
  ['children of lists', 'list', '<ul><div>a</div></ul>', '<ul><script></script><p>b</p></ul>'],
  ['names in any script', 'button-name', '<button class="كلاس">x</button>', '<button class="🙂">x</button>'],
  [
    'icons of controls',
    'button-name',
    '<button class="b"><i class="fa-cart"></i></button>',
    '<button class="b"><i class="fa-user"></i></button>',
  ],
  [
    'icons of a sprite',
    'button-name',
    '<button class="b"><svg><use href="/s.1a2b3c4d.svg#cart"></use></svg></button>',
    '<button class="b"><svg><use href="/s.1a2b3c4d.svg#user"></use></svg></button>',
  ],
  ['fields of a form', 'label', '<input class="form-control" id="first-name">', '<input class="form-control" id="last-name">'],
  [
    'fields of a Drupal form',
    'label',
    '<input class="form-text" id="edit-name" name="name">',
    '<input class="form-text" id="edit-mail" name="mail">',
  ],
  ['fields of a Rails form', 'label', '<input id="user_email" name="user[email]">', '<input id="user_password" name="user[password]">'],
  [
    'inline styles that keep users from spacing text',
    'avoid-inline-spacing',
    '<p style="line-height:1!important">x</p>',
    '<p style="letter-spacing:0!important">x</p>',
  ],
  ['parts of a CSS module', 'button-name', '<button class="Nav_menu__nLjiQ"></button>', '<button class="Nav_close__0-_aB"></button>'],
  ['blocks in camel case', 'image-alt', '<img class="NavBar_toggle">', '<img class="AppBar_toggle">'],
  ['elements of a block with underscores', 'image-alt', '<img class="main_nav__log-out">', '<img class="main_nav__sub-menu">'],
  ['modifiers of a block', 'image-alt', '<img class="form--sign_in">', '<img class="form--log_out">'],
  ['fields of a panel', 'label', '<input id="panel-phone">', '<input id="panel-fax">'],
  ['elements of a block', 'image-alt', '<img class="card__mainPhoto">', '<img class="card__sidePhoto">'],
  ['utility classes', 'image-alt', '<img class="w-4 h-4">', '<img class="w-64 h-64">'],
];

const fingerprintOf = (rule: string, html: string, more: Partial<ReportNode> = {}): string =>
  rootCauseFingerprint(rule, { html, landmark: 'main', ...more });

describe('root causes', () => {
  for (const [what, rule, one, other] of SAME)
    it(`are one: ${what}`, () => expect(fingerprintOf(rule, one)).to.equal(fingerprintOf(rule, other)));
  for (const [what, rule, one, other] of DIFFERENT)
    it(`are two: ${what}`, () => expect(fingerprintOf(rule, one)).not.to.equal(fingerprintOf(rule, other)));

  it('are told apart by the attributes that a rule objects to, in any language', () => {
    const html = '<div class="x" aria-controls="a" aria-labelledby="b"></div>';
    const causeOf = (text: string): string => fingerprintOf('aria-valid-attr-value', html, { failure_summary: text });
    expect(causeOf('Invalid ARIA attribute value: aria-controls="a"')).not.to.equal(
      causeOf('Invalid ARIA attribute value: aria-labelledby="b"'),
    );
    expect(causeOf('Invalid ARIA attribute value: aria-controls="a"')).to.equal(causeOf('Ungültiger Wert: aria-controls="z"'));
    const other = { failure_summary: 'Invalid ARIA attribute value: aria-controls="a"' };
    expect(fingerprintOf('aria-valid-attr-value', html.replace('class', 'aria-current="page" class'), other)).to.equal(
      causeOf(other.failure_summary),
    );
  });

  it('are told apart by the wrong children that a rule names, as their list may be cut off', () => {
    const causeOf = (...children: string[]): string =>
      fingerprintOf('list', '<ul class="menu">…</ul>', { related: children.map((html) => ({ selector: 'x', html })) });
    expect(causeOf('<div>…</div>')).not.to.equal(causeOf('<a href="/a">…</a>'));
    expect(causeOf('<div>…</div>', '<div>…</div>')).to.equal(causeOf('<div class="x">…</div>'));
  });
});

/** By tool: the HTML of the same parts in two builds. See `builds/build.mjs`. */
const BUILDS = JSON.parse(await readFile(new URL('builds/builds.json', import.meta.url), 'utf8')) as Record<
  string,
  [before: Record<string, string>, after: Record<string, string>]
>;
const RULE_OF: Readonly<Record<string, string>> = {
  menu: 'button-name',
  close: 'button-name',
  photo: 'image-alt',
  field: 'label',
  teaser: 'color-contrast',
};

describe('root causes in two builds', () => {
  for (const [tool, [before, after]] of Object.entries(BUILDS))
    it(`are the same with ${tool}`, () => {
      for (const [part, html] of Object.entries(before)) {
        expect(after[part], `${part} is generated`).to.be.a('string');
        expect(fingerprintOf(RULE_OF[part]!, after[part]!), part).to.equal(fingerprintOf(RULE_OF[part]!, html));
        for (const [other, content] of Object.entries(before))
          if (other !== part)
            expect(fingerprintOf(RULE_OF[part]!, content), `${part} and ${other}`).not.to.equal(fingerprintOf(RULE_OF[part]!, html));
      }
    });
});
