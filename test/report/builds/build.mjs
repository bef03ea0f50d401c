/**
 * Writes `builds.json`: the HTML that real tools make of the same few components in two builds, between which only styles, the
 * order of the components and the content of a picture changed. Run it to renew the file: `node test/report/builds/build.mjs`. It
 * installs the tools in a folder of its own, given by BUILDS_FOLDER or a new temporary one.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const TOOLS = [
  ...['vite@5', 'webpack@5', 'css-loader@6', 'mini-css-extract-plugin@2', 'lightningcss@1', 'svelte@4', 'svelte-5@npm:svelte@5'],
  ...['@emotion/react@11', '@emotion/styled@11', 'styled-components@6', 'styled-components-5@npm:styled-components@5', 'goober@2'],
  ...['jss@10', 'jss-preset-default@10', '@mui/material@5', '@mui/styles@5', '@griffel/react@1', '@chakra-ui/react@2'],
  ...['antd@5', 'framer-motion', 'react@18', 'react-dom@18', '@headlessui/react@1', 'react-select@5'],
  ...['@angular/core@17', '@angular/compiler@17', '@angular/platform-server@17', '@angular/platform-browser@17'],
  ...['@angular/common@17', '@angular/animations@17', '@angular/material@17', '@angular/cdk@17', '@angular/forms@17', 'rxjs', 'zone.js'],
];
const folder = process.env.BUILDS_FOLDER ?? mkdtempSync(join(tmpdir(), 'builds-'));
if (!existsSync(join(folder, 'node_modules'))) {
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', '--legacy-peer-deps', ...TOOLS], {
    cwd: folder,
    stdio: 'inherit',
  });
}
const require = createRequire(join(folder, 'x.js'));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const commonjs = (name) => require(name);
const { createElement: h } = commonjs('react');
const { renderToString } = commonjs('react-dom/server');

/** The components that each tool styles. Names are the developer's. */
const PARTS = ['menu', 'close', 'photo', 'field', 'teaser'];
const CONTENT = {
  menu: '<svg viewBox="0 0 24 24"><path d="M3 18h18"></path></svg>',
  close: '<svg viewBox="0 0 24 24"><path d="M6 6l12 12"></path></svg>',
};
const TAGS = { menu: 'button', close: 'button', photo: 'img', field: 'input', teaser: 'p' };
/** The declarations of a part. The second build has other ones, and more components before these. */
const styleOf = (part, build) => ({ padding: `${(build === 1 ? 4 : 11) + PARTS.indexOf(part)}px`, margin: build === 1 ? '0' : '1px' });
const cssOf = (part, build) =>
  Object.entries(styleOf(part, build))
    .map((pair) => pair.join(':'))
    .join(';');
const sheetOf = (build) =>
  `${build === 1 ? '' : '.banner{color:red}\n\n.extra{color:blue}\n'}${PARTS.map((part) => `.${part}{${cssOf(part, build)}}`).join('\n')}`;

const element = (part, attributes) => {
  const [tag, content] = [TAGS[part], CONTENT[part] ?? (part === 'teaser' ? 'Text' : '')];
  return `<${tag} ${attributes}>${tag === 'img' || tag === 'input' ? '' : `${content}</${tag}>`}`;
};
const withClasses = (classOf) => Object.fromEntries(PARTS.map((part) => [part, element(part, `class="${classOf(part)}"`)]));
const children = (part) =>
  CONTENT[part] === undefined
    ? part === 'teaser'
      ? 'Text'
      : undefined
    : h('svg', { viewBox: '0 0 24 24' }, h('path', { d: CONTENT[part].match(/d="([^"]*)/)[1] }));
/** Renders parts with React in the order of a page, of which the second build has more. Style elements are not kept. */
const reactParts = (componentOf, build, wrap = (node) => node) => {
  const before = build === 1 ? [] : ['extra', 'another'].map((name) => h('div', { key: name }, componentOf('teaser')));
  const html = renderToString(
    wrap(h('main', null, ...before, ...PARTS.map((part) => h('section', { key: part, 'data-part': part }, componentOf(part))))),
  );
  return Object.fromEntries(
    PARTS.map((part) => [
      part,
      html
        .match(new RegExp(`<section data-part="${part}">(.*?)</section>`, 's'))[1]
        .replace(/<style.*?<\/style>/gs, '')
        .replace(/<!--.*?-->/g, ''),
    ]),
  );
};
const source = (name, text) => {
  const path = join(folder, 'sources', name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  return path;
};

/** A file for the bundlers, whose content differs between builds. */
const photoOf = (build, at) => source(`${at}/photo.svg`, `<svg xmlns="http://www.w3.org/2000/svg" width="${build}9"/>`);

async function vite(build, at) {
  const { build: run } = await import(pathToFileURL(join(folder, 'node_modules/vite/dist/node/index.js')).href);
  source(`${at}/style.module.css`, sheetOf(build));
  photoOf(build, at);
  const entry = source(
    `${at}/entry.js`,
    "import style from './style.module.css'; import photo from './photo.svg'; export { style, photo };",
  );
  const outDir = join(folder, 'out', at);
  await run({
    root: join(folder, 'sources', at),
    logLevel: 'silent',
    build: { ssr: entry, outDir, assetsInlineLimit: 0, emptyOutDir: true },
  });
  const { style, photo } = await import(pathToFileURL(join(outDir, 'entry.js')).href);
  return Object.fromEntries(
    PARTS.map((part) => [part, element(part, `class="${style[part]}"${part === 'photo' ? ` src="${photo}"` : ''}`)]),
  );
}

/** @param localIdentName the pattern of class names; Next.js and Create React App have the first one */
const webpack = (localIdentName) => async (build, at) => {
  const { default: run } = await load('webpack');
  // A file that moves has other hashes.
  source(`${at}/${build}/Card.module.css`, sheetOf(build));
  const entry = source(`${at}/${build}/entry.js`, "import style from './Card.module.css'; export { style };");
  const path = join(folder, 'out', at);
  const use = [
    { loader: require.resolve('css-loader'), options: { modules: { localIdentName, exportOnlyLocals: true, namedExport: false } } },
  ];
  await new Promise((resolve, reject) => {
    const context = join(folder, 'sources', at);
    const output = { path, filename: 'entry.cjs', library: { type: 'commonjs2' } };
    run({ mode: 'production', context, entry, output, target: 'node', module: { rules: [{ test: /\.css$/, use }] } }, (error, stats) =>
      error || stats.hasErrors() ? reject(error ?? new Error(stats.toString())) : resolve(),
    );
  });
  const { style } = commonjs(join(path, 'entry.cjs'));
  return withClasses((part) => style[part]);
};

const lightningcss = async (build) => {
  const { transform } = await load('lightningcss');
  const { exports } = transform({ filename: `build-${build}/card.module.css`, code: Buffer.from(sheetOf(build)), cssModules: true });
  return withClasses((part) => exports[part].name);
};

const svelte = (name) => async (build, at) => {
  const { compile } = commonjs(`${name}/compiler`);
  const parts = Object.fromEntries(PARTS.map((part) => [part, element(part, `class="${part}"`)]));
  const text = `${PARTS.map((part) => parts[part]).join('\n')}\n<style>${sheetOf(build).replaceAll(/\.(banner|extra){[^}]*}/g, '')}</style>`;
  const { css } = compile(text, { filename: `${at}.svelte`, generate: name === 'svelte' ? 'ssr' : 'server' });
  const hash = /svelte-[\w-]+/.exec(css.code)[0];
  return withClasses((part) => `${part} ${hash}`);
};

async function emotion(build) {
  const { jsx } = commonjs('@emotion/react');
  return reactParts((part) => jsx(TAGS[part], { css: { ...styleOf(part, build) }, className: `shop-${part}` }, children(part)), build);
}
async function emotionLabels(build) {
  const { jsx } = commonjs('@emotion/react');
  return reactParts((part) => jsx(TAGS[part], { css: { ...styleOf(part, build), label: `Shop-${part}` } }, children(part)), build);
}
const styledComponents = (name) => async (build) => {
  const styled = commonjs(name).default ?? commonjs(name);
  // The IDs of components count them.
  if (build === 2)
    void [
      styled.i`
        color: red;
      `,
      styled.b`
        color: blue;
      `,
    ];
  const components = Object.fromEntries(PARTS.map((part) => [part, styled[TAGS[part]]([`${cssOf(part, build)};`])]));
  return reactParts((part) => h(components[part], { className: `shop-${part}` }, children(part)), build);
};
async function goober(build) {
  const { css } = commonjs('goober');
  return withClasses((part) => `shop-${part} ${css(styleOf(part, build))}`);
}
const jss = (minify) => async (build) => {
  const { create, createGenerateId } = commonjs('jss');
  const instance = create({ ...commonjs('jss-preset-default').default(), createGenerateId: () => createGenerateId({ minify }) });
  const rules = Object.fromEntries(PARTS.map((part) => [part, styleOf(part, build)]));
  if (build === 2) instance.createStyleSheet({ extra: { color: 'red' } }).attach();
  const { classes } = instance.createStyleSheet(build === 1 ? rules : { banner: { color: 'red' }, ...rules }).attach();
  return withClasses((part) => `shop-${part} ${classes[part]}`);
};
async function makeStyles(build) {
  const { makeStyles: make, createGenerateClassName, StylesProvider } = commonjs('@mui/styles');
  const rules = Object.fromEntries(PARTS.map((part) => [part, styleOf(part, build)]));
  const useStyles = make(build === 1 ? rules : { banner: { color: 'red' }, ...rules });
  const Part = ({ part }) => h(TAGS[part], { className: useStyles()[part] }, children(part));
  const generateClassName = createGenerateClassName();
  return reactParts(
    (part) => h(Part, { part }),
    build,
    (node) => h(StylesProvider, { generateClassName }, node),
  );
}
async function mui(build) {
  const { IconButton, TextField, Avatar, Typography, ThemeProvider, createTheme } = commonjs('@mui/material');
  const theme = createTheme({ spacing: build === 1 ? 8 : 9, shape: { borderRadius: build * 3 } });
  const parts = {
    menu: h(IconButton, { sx: { p: build } }, children('menu')),
    close: h(IconButton, { sx: { p: build } }, children('close')),
    photo: h(Avatar, { src: `/static/photo.${build === 1 ? '3f9ab2c1' : '77e01dd4'}.png`, sx: { m: build } }),
    field: h(TextField, { type: 'text', sx: { m: build } }),
    teaser: h(Typography, { sx: { m: build } }, 'Text'),
  };
  return reactParts(
    (part) => parts[part],
    build,
    (node) => h(ThemeProvider, { theme }, node),
  );
}
async function griffel(build) {
  const { makeStyles: make, createDOMRenderer, RendererProvider } = commonjs('@griffel/react');
  const useStyles = make(Object.fromEntries(PARTS.map((part) => [part, { paddingTop: styleOf(part, build).padding }])));
  const Part = ({ part }) => h(TAGS[part], { className: `shop-${part} ${useStyles()[part]}` }, children(part));
  return reactParts(
    (part) => h(Part, { part }),
    build,
    (node) => h(RendererProvider, { renderer: createDOMRenderer() }, node),
  );
}
async function chakra(build) {
  const { ChakraProvider, Input, Text, Image, chakra: factory } = commonjs('@chakra-ui/react');
  const parts = {
    menu: h(factory.button, { className: 'shop-menu', p: build }, children('menu')),
    close: h(factory.button, { className: 'shop-close', p: build }, children('close')),
    photo: h(Image, { src: '/photo.png', m: build }),
    field: h(Input, { m: build }),
    teaser: h(Text, { m: build }, 'Text'),
  };
  return reactParts(
    (part) => parts[part],
    build,
    (node) => h(ChakraProvider, { resetCSS: false }, node),
  );
}
async function antd(build) {
  const { Button, Input, Image, Typography, ConfigProvider } = commonjs('antd');
  const theme = { token: { borderRadius: build * 3, controlHeight: 30 + build } };
  const parts = {
    menu: h(Button, { icon: children('menu') }),
    close: h(Button, { type: 'text', icon: children('close') }),
    photo: h(Image, { src: '/photo.png', preview: false }),
    field: h(Input),
    teaser: h(Typography.Text, null, 'Text'),
  };
  return reactParts(
    (part) => parts[part],
    build,
    (node) => h(ConfigProvider, { theme }, node),
  );
}
async function react(build) {
  const { useId } = commonjs('react');
  const Part = ({ part }) => h(TAGS[part], { id: `${part}-${useId()}`, 'aria-describedby': useId() }, children(part));
  return reactParts((part) => h(Part, { part }), build);
}
async function widgets(build) {
  const { Menu, Switch } = commonjs('@headlessui/react');
  const Select = commonjs('react-select').default;
  const parts = {
    menu: h(Menu, null, h(Menu.Button, null, children('menu'))),
    close: h(Switch, { checked: false, onChange: () => {} }),
    photo: h(Menu, null, h(Menu.Button, { className: 'photo' }, h('img', { src: '/a.png', alt: '' }))),
    field: h(Select, { options: [], instanceId: build + 3 }),
    teaser: h('p', null, 'Text'),
  };
  return reactParts((part) => parts[part], build);
}
async function angular(build) {
  await load('zone.js/node');
  await load('@angular/compiler');
  const { Component } = await load('@angular/core');
  const { bootstrapApplication } = await load('@angular/platform-browser');
  const { renderApplication, provideServerRendering } = await load('@angular/platform-server');
  const { MatInputModule } = await load('@angular/material/input');
  const { MatFormFieldModule } = await load('@angular/material/form-field');
  const { MatButtonModule } = await load('@angular/material/button');
  const { MatCheckboxModule } = await load('@angular/material/checkbox');
  const { provideNoopAnimations } = await load('@angular/platform-browser/animations');
  const field = '<mat-form-field><input matInput type="text"></mat-form-field>';
  const markup = {
    menu: `<button mat-icon-button>${CONTENT.menu}</button>`,
    close: `<button mat-icon-button>${CONTENT.close}</button>`,
    photo: '<img class="photo" src="/photo.png">',
    field,
    teaser: '<mat-checkbox></mat-checkbox>',
  };
  const template = `${build === 1 ? '' : `${field}<mat-checkbox></mat-checkbox>`}${PARTS.map((part) => `<section id="${part}">${markup[part]}</section>`).join('')}`;
  class App {}
  const imports = [MatInputModule, MatFormFieldModule, MatButtonModule, MatCheckboxModule];
  Component({ selector: 'app-root', standalone: true, template, imports, styles: [`p{margin:${build}px}`] })(App);
  const html = await renderApplication(
    () => bootstrapApplication(App, { providers: [provideServerRendering(), provideNoopAnimations()] }),
    {
      document: '<app-root></app-root>',
    },
  );
  return Object.fromEntries(
    PARTS.map((part) => {
      const inner = html.match(new RegExp(`<section[^>]*id="${part}"[^>]*>(.*?)</section>`, 's'))[1];
      return [part, part === 'field' || part === 'teaser' ? inner.match(/<input[^>]*>/)[0] : inner];
    }),
  );
}

const BUILDERS = {
  Vite: vite,
  'css-loader, as Next.js': webpack('[name]_[local]__[hash:base64:5]'),
  'css-loader, local and hash': webpack('[local]--[hash:base64:6]'),
  'css-loader, hash alone': webpack('[hash:base64]'),
  'lightningcss (Parcel)': lightningcss,
  'Svelte 4': svelte('svelte'),
  'Svelte 5': svelte('svelte-5'),
  emotion: emotion,
  'emotion with labels': emotionLabels,
  'styled-components 5': styledComponents('styled-components-5'),
  'styled-components 6': styledComponents('styled-components'),
  goober: goober,
  JSS: jss(false),
  'JSS, minified': jss(true),
  'MUI makeStyles': makeStyles,
  'MUI 5': mui,
  Griffel: griffel,
  'Chakra UI': chakra,
  'Ant Design': antd,
  'React useId': react,
  'Headless UI, react-select': widgets,
  'Angular Material': angular,
};

const builds = {};
for (const [name, builder] of Object.entries(BUILDERS)) {
  try {
    const at = name.replace(/\W+/g, '-').toLowerCase();
    builds[name] = [await builder(1, `${at}-one`), await builder(2, `${at}-two`)];
  } catch (error) {
    process.exitCode = 1;
    console.error(`${name}: ${error.stack}`);
  }
}
writeFileSync(join(import.meta.dirname, 'builds.json'), `${JSON.stringify(builds, null, 2)}\n`);
