/**
 * What a tool generated in a name: hashes of a build, counters, IDs of items. The one definition for root causes, known issues and the
 * comparison of two scans. Pure.
 */

/** Replaces a generated part. */
const GENERATED = '*';

/** Camel case of words: `navBar`, `GitHub`, `goToTop`, also with an acronym: `QRCode`, `baseURL`. */
const CAMEL_CASE = /^(?:[a-z]{2,}|[a-z](?=[A-Z][a-z]{2})|[A-Z]{2,5}(?=[A-Za-z]))?[a-z]*(?:[A-Z][a-z]+)*(?:[A-Z]{2,5})?$/;

/** Whether a word was generated: by its digits, or by its letters. Words with a number at the end, such as `level2`, were not. */
function looksGenerated(word: string): boolean {
  if (/^(?=.*\d)[0-9a-f]{6,}$/i.test(word)) return true;
  if (word.length < 5) return false;
  if (/\d/.test(word)) return /[a-z].*[A-Z]|[A-Z].*[a-z]|\d[a-z]+\d|[a-z]\d+[a-z]/.test(word);
  return word.length < 12 && /[a-z].*[A-Z]|[A-Z]{2}.*[a-z]/.test(word) && !CAMEL_CASE.test(word);
}

/** UUIDs, and what `useId` of React generates. */
const IDS = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|:[rR][\da-zA-Z]*:|«[rR][\da-zA-Z]+»|_[rR]_[\da-zA-Z]+_/g;

/** Adjacent generated parts are one: `0-2-12`. */
const joined = (name: string): string => name.replace(/\*(?:[-_.:]+\*)+/g, GENERATED);

/** Words by which templates name a field of each item, and kinds of fields. What follows the first is the item (`qty-red-shoes`). */
const OF_ITEM =
  /^(qty|quantity|item|product|sku|variant|option|choice|answer|compare|wishlist|rating|vote|slide|tab|panel|accordion|collapse)([-_:]).+$/;
const KIND =
  /[-_:](name|title|price|description|search|type|id|email|url|date|quantity|category|image|file|phone|fax|size|colou?r|address|street|city|password|message|comment)$/;

/** Replaces what is generated in an ID, in references to IDs, and in the name of a field. */
export function steadyName(value: string): string {
  const words = value.replace(IDS, GENERATED).split(/([^0-9A-Za-z]+)/);
  const name = joined(words.map((word) => (looksGenerated(word) ? GENERATED : word.replace(/\d[0-9A-Za-z]*$/, GENERATED))).join(''));
  return KIND.test(name) ? name : name.replace(OF_ITEM, `$1$2${GENERATED}`);
}

/** Whether a name has a generated part, so that another visit may see another name. */
export const isGenerated = (name: string): boolean => steadyName(name) !== name;

/** Classes of state. They are removed, so that the link to the current page equals the links beside it. */
const STATE_CLASS =
  /^(opened|closed|visited|hover|focus(-visible)?|first|last|odd|even|(is|has|js|ng)-.*|(.*--)?(active|current|selected|open))$/;

/** The longest name in which tools are recognised, in characters. A hostile page may have longer ones, which would take long. */
const CLASS_MAX = 120;

/** What tools write into classes, whatever its characters are. The part before it is the developer's. */
const CLASS_PATTERNS: readonly [RegExp, string][] = [
  // emotion and what is built on it, styled-jsx, Svelte, Astro, goober; a label may follow.
  [/^(css|tss|jsx|svelte|astro|emotion)-[A-Za-z\d]{4,}(?=$|-)/, '$1-*'],
  [/^css-dev-only-do-not-override-[a-z\d]+$/, GENERATED],
  [/^go\d{6,}$|^___[a-z\d]+(?:_\d{7})?$/, GENERATED],
  // styled-components.
  [/(^|-)sc-[A-Za-z\d]{4,8}(?:-\d+)?$/, '$1sc-*'],
  // CSS modules: of Vite, of css-loader, of Turbopack and Parcel, and a digest alone.
  [/^_(.+)_[a-z\d]{1,5}_\d+$/, '_$1_*'],
  [/^([A-Za-z][\w-]*_[\w-]+)__(?=[\w+-]{5,8}$)(?:[a-z]{0,4}[A-Z\d+][\w+-]{0,4}|\w*\d\w*)$/, '$1__*'],
  [/--(?=[\w+-]{5,8}$)(?=.*(?:_.*[A-Z\d]|[A-Z\d].*_|[A-Z].*[A-Z]|\d[A-Za-z]|[A-Za-z]\d)).*$/, '--*'],
  [/(module__)[\w-]{5,8}(?=__)/, '$1*'],
  [/^(?=.[a-z\d]*[A-Z])(?=[A-Z\d]*[a-z])(?=[A-Za-z]*\d|(?!(?:[A-Z]?[a-z]{2,})(?:[A-Z][a-z]{2,})*_))[A-Za-z\d]{6}_(?=[A-Za-z])/, '*_'],
  [/^(?=_?[\w-]{18,24}$)(?=.*\d.*[A-Za-z].*\d)(?=.*[a-z])(?=(?:.*[A-Z]){3})(?!.*(?:[a-z]{5}|__)).*$/, GENERATED],
  // JSS and Ember.
  [/^(jss|ember)\d+$/, '$1*'],
];

/** The first words of utility classes (Tailwind, Bootstrap), whose numbers are no counters. A width may be the value of a bar. */
const SPACES = /^(?:[mp][trblxyse]?|h|z|g[xy]?|min|max|size|gap|space|inset|top|right|bottom|left|start|end|offset|rounded|border|indent)$/;
const STYLES =
  /^(?:col|cols|row|rows|grid|order|flex|text|bg|font|fs|fw|lh|leading|opacity|shadow|duration|delay|scale|rotate|xs|sm|md|lg|xl)$/;
function isUtility(name: string): boolean {
  const first = /^(?:[\w-]+:)*!?-?([a-z]+)-/.exec(name)?.[1] ?? '';
  return SPACES.test(first) || STYLES.test(first);
}

function steadyClass(name: string): string {
  if (name.length <= CLASS_MAX)
    for (const [pattern, steady] of CLASS_PATTERNS) if (pattern.test(name)) return name.replace(pattern, steady);
  // Arbitrary values of Tailwind, such as `w-[120px]`.
  if (name.includes('[')) return name.replace(/\[.*\]/, `[${GENERATED}]`);
  const counter = isUtility(name) ? /^$/ : /(?<=.)\d{3,}$|^\d+$/;
  const words = name.split(/([_-]+)/).map((word) => (looksGenerated(word) ? GENERATED : word.replace(counter, GENERATED)));
  return joined(words.join(''));
}

/** Replaces what is generated in the value of a `class`, removes states, and sorts the rest. */
export function steadyClasses(value: string): string {
  const names = value.split(/\s+/).filter((name) => name !== '');
  const isAtomic = names.some((name) => name.startsWith('___'));
  // Without a sign of their own: the class after the component of styled-components, and atomic classes of Griffel.
  const isHash = (name: string, at: number): boolean =>
    (/(?:^|-)sc-[A-Za-z\d]{4,8}(?:-\d+)?$/.test(names[at - 1] ?? '') && /^[A-Za-z-]{5,8}$/.test(name)) ||
    (isAtomic && /^[a-z][a-z\d]{5,8}$/.test(name));
  const steady = names
    .map((name, at) => (isHash(name, at) ? GENERATED : name))
    .filter((name) => !STATE_CLASS.test(name))
    .map(steadyClass);
  return [...new Set(steady)].sort().join(' ');
}

/** The names that a developer gave, without those of utilities: what is left of `Card_title__x7Yp2` is `Card_title`. */
export const ownClasses = (value: string): string[] =>
  value
    .split(/\s+/)
    .filter((name) => name !== '' && !isUtility(name) && !STATE_CLASS.test(name))
    .map((name) => steadyClass(name).replace(/^(?:css|tss|jsx|svelte|astro|emotion|jss|sc)-?\*-?|(?<![-_])[-_]*\*[-_]*$|^[_*]+/g, ''))
    .filter((name) => name !== '' && !/[*[\]]/.test(name));

/** The last part of the name of a file, which may be a hash, and its query. */
const FILE_HASH = /[-._][\w-]{8,64}(?=\.[a-z\d]{2,5}(?:[?#]|$))|\?.*$/gi;

/** Replaces what a build may change in the names of files. */
export const steadyFile = (address: string): string => address.replace(FILE_HASH, '');
