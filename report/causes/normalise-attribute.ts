/** Normalises attributes for fingerprints: keeps what the author wrote, removes what a server, a build or a visit generates. */

/** Replaces text, also in attributes. Rules depend on whether there is text, not on its words. */
export const TEXT = '…';
/** Replaces generated parts: counters, hashes, times. */
const GENERATED = '*';

/** Attributes that are removed: tokens of a visit, copies of other attributes, and those of scripts (`data-*`, `on*`). */
const DROPPED =
  /^(data-.*|on.*|nonce|integrity|crossorigin|srcset|sizes|value|ping|v-.*|ng-.*|_ng.*|x-.*|@.*|:.*|jsaction|jsname|jsmodel)$/;
/** Attributes that hold state. They are removed, so that the link to the current page equals the links beside it. */
const STATES = new Set([
  'aria-current',
  'aria-expanded',
  'aria-selected',
  'aria-pressed',
  'aria-checked',
  'aria-busy',
  'checked',
  'selected',
  'open',
]);
const STATE_CLASS =
  /^(active|current|selected|open|opened|closed|visited|hover|focus|focus-visible|first|last|odd|even|(is|has|js|ng)-.*|.*--(active|current|selected|open))$/;
/** Attributes that hold text for users. */
const TEXTS = new Set([
  'alt',
  'title',
  'aria-label',
  'aria-description',
  'aria-roledescription',
  'placeholder',
  'content',
  'summary',
  'label',
]);
const LINKS = new Set(['href', 'src', 'action', 'formaction', 'poster', 'data', 'cite', 'xlink:href']);
/** Whether a word was generated: hexadecimal of six digits or more, or letters in both cases mixed with digits. */
const looksGenerated = (word: string): boolean =>
  /^(?=.*\d)[0-9a-f]{6,}$/i.test(word) || (word.length >= 5 && /\d/.test(word) && /[a-z]/.test(word) && /[A-Z]/.test(word));

/** Replaces generated words and counters in a name. */
const named = (value: string): string =>
  value
    .split(/([^0-9A-Za-z]+)/)
    .map((word) => (looksGenerated(word) ? GENERATED : word.replace(/\d[0-9A-Za-z]*$/, GENERATED)))
    .join('');

/** Whether a name has a generated part, so that another visit may see another name. */
export const isGenerated = (name: string): boolean => named(name) !== name;

const classNames = (value: string): string =>
  [
    ...new Set(
      value
        .split(/\s+/)
        .filter((name) => name !== '' && !STATE_CLASS.test(name))
        // A build's suffix (`Card_title__x7Yp2`) changes with every release. The numbers of utility classes (`p-4`) stay.
        .map((name) =>
          name
            .split(/([_-]+)/)
            .map((word) => (looksGenerated(word) ? GENERATED : word))
            .join(''),
        ),
    ),
  ]
    .sort()
    .join(' ');

/** Returns the file name of a link. Its folder differs between pages at different depths, and its query between visits. */
const linked = (value: string): string => {
  if (/^data:/i.test(value)) return 'data:';
  const path = value.replace(/[?#][\s\S]*$/, '');
  const last = path
    .split('/')
    .map((segment) => segment.trim())
    .findLast((segment) => segment !== '' && segment !== '.' && segment !== '..');
  // Numbered files (`cover-7.svg`) come from the same template.
  return named(last ?? '');
};

/** Replaces lengths and angles, which are often computed, and keeps colours, which determine contrast. */
const styled = (value: string): string =>
  value
    .toLowerCase()
    .split(';')
    .map((declaration) =>
      declaration
        .replace(/\s*:\s*/, ':')
        .trim()
        .replace(/url\([^)]*\)/g, `url(${GENERATED})`)
        .replace(/(#[0-9a-f]{3,8}\b|(?:rgb|hsl)a?\([^)]*\))|-?(?:\d*\.)?\d+/g, (_, colour: string | undefined) => colour ?? GENERATED),
    )
    .filter((declaration) => declaration !== '')
    .sort()
    .join(';');

/** Returns the normalised attribute, or null if it is removed. @param name in lower case */
export function normaliseAttribute(name: string, raw: string): string | null {
  if (DROPPED.test(name) || STATES.has(name)) return null;
  const value = raw.replace(/\s+/g, ' ').replaceAll('"', "'").trim();
  if (name === 'class') {
    const classes = classNames(value);
    return classes === '' ? null : `class="${classes}"`;
  }
  if (name === 'style') return `style="${styled(value)}"`;
  if (TEXTS.has(name)) return `${name}="${value === '' ? '' : TEXT}"`;
  if (LINKS.has(name)) return `${name}="${linked(value)}"`;
  if (name === 'd' || name === 'points' || name === 'viewbox' || name === 'transform') return `${name}="${value}"`;
  return `${name}="${named(value)}"`;
}
