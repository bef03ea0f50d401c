/** The catalogue, which a script renders, and a page per book. */
import { escape, text, type Context, type Page, type Text } from '../page.ts';
import { button, list, section, table } from '../parts.ts';

export interface Book {
  id: string;
  slug: string;
  title: string;
  author: string;
  year: number;
  shelf: string;
  /** The language of the book. */
  language: 'en' | 'de';
  copies: number;
  about: Text;
  quote: string;
}

export const BOOKS: readonly Book[] = [
  {
    id: 'book-middlemarch',
    slug: 'middlemarch',
    title: 'Middlemarch',
    author: 'George Eliot',
    year: 1871,
    shelf: 'ROM Eli',
    language: 'en',
    copies: 4,
    about: text(
      'A country town, a good woman and a bad marriage: the novel that knows everything about hope and money.',
      'Eine Kleinstadt, eine gute Frau und eine schlechte Ehe: der Roman, der alles über Hoffnung und Geld weiß.',
    ),
    quote: 'The growing good of the world is partly dependent on unhistoric acts.',
  },
  {
    id: 'book-effi',
    slug: 'effi-briest',
    title: 'Effi Briest',
    author: 'Theodor Fontane',
    year: 1895,
    shelf: 'ROM Fon',
    language: 'de',
    copies: 6,
    about: text(
      'She is seventeen, he is twice her age, and the house is haunted. A quiet book about a cruel rule.',
      'Sie ist siebzehn, er doppelt so alt, und im Haus spukt es. Ein leises Buch über eine grausame Regel.',
    ),
    quote: 'Das ist ein weites Feld.',
  },
  {
    id: 'book-frankenstein',
    slug: 'frankenstein',
    title: 'Frankenstein',
    author: 'Mary Shelley',
    year: 1818,
    shelf: 'SFI She',
    language: 'en',
    copies: 3,
    about: text(
      'A maker runs away from what he made. Two hundred years old, and new every morning.',
      'Ein Schöpfer flieht vor seinem Geschöpf. Zweihundert Jahre alt und jeden Morgen neu.',
    ),
    quote: 'Beware; for I am fearless, and therefore powerful.',
  },
  {
    id: 'book-schimmelreiter',
    slug: 'der-schimmelreiter',
    title: 'Der Schimmelreiter',
    author: 'Theodor Storm',
    year: 1888,
    shelf: 'NOV Sto',
    language: 'de',
    copies: 2,
    about: text(
      'Dykes, storm floods and a white horse: a ghost story about an engineer.',
      'Deiche, Sturmfluten und ein weißes Pferd: eine Gespenstergeschichte über einen Ingenieur.',
    ),
    quote: 'Was ich zu berichten beabsichtige, ist mir vor reichlich einem halben Jahrhundert kundgeworden.',
  },
  {
    id: 'book-time',
    slug: 'the-time-machine',
    title: 'The Time Machine',
    author: 'H. G. Wells',
    year: 1895,
    shelf: 'SFI Wel',
    language: 'en',
    copies: 5,
    about: text(
      'Eight hundred thousand years in one evening, and back in time for supper.',
      'Achthunderttausend Jahre an einem Abend, und zum Essen wieder da.',
    ),
    quote: 'We should strive to welcome change and challenges.',
  },
  {
    id: 'book-alice',
    slug: 'alices-adventures-in-wonderland',
    title: 'Alice’s Adventures in Wonderland',
    author: 'Lewis Carroll',
    year: 1865,
    shelf: 'KIN Car',
    language: 'en',
    copies: 7,
    about: text('Follow the rabbit. Do not lose your head.', 'Folgen Sie dem Kaninchen. Verlieren Sie nicht den Kopf.'),
    quote: 'Curiouser and curiouser!',
  },
  {
    id: 'book-kafka',
    slug: 'die-verwandlung',
    title: 'Die Verwandlung',
    author: 'Franz Kafka',
    year: 1915,
    shelf: 'NOV Kaf',
    language: 'de',
    copies: 4,
    about: text(
      'A salesman wakes up as vermin and worries about his train.',
      'Ein Handlungsreisender erwacht als Ungeziefer und sorgt sich um seinen Zug.',
    ),
    quote: 'Als Gregor Samsa eines Morgens aus unruhigen Träumen erwachte …',
  },
  {
    id: 'book-walden',
    slug: 'walden',
    title: 'Walden',
    author: 'Henry David Thoreau',
    year: 1854,
    shelf: 'PHI Tho',
    language: 'en',
    copies: 2,
    about: text(
      'Two years in a hut, and what beans have to do with freedom.',
      'Zwei Jahre in einer Hütte, und was Bohnen mit Freiheit zu tun haben.',
    ),
    quote: 'I went to the woods because I wished to live deliberately.',
  },
];

const catalogue: Page = {
  id: 'catalogue',
  slug: text('catalogue', 'katalog'),
  title: text('Catalogue', 'Katalog'),
  summary: text('Search by title, author or mood.', 'Suchen Sie nach Titel, Autorin oder Stimmung.'),
  section: 'catalogue',
  image: 'shelves',
  scripts: ['catalogue.js'],
  body: (
    c,
  ) => `<div class="wrap block"><div class="toolbar"><form class="search" role="search"><label for="find">${c.t(text('Title or author', 'Titel oder Autor'))}</label><div><input id="find" type="search"></div></form>
${c.flaw('select-name', 1, `<div class="field"><span class="fake-label">${c.t(text('Order', 'Sortierung'))}</span><select id="order"><option value="title">${c.t(text('by title', 'nach Titel'))}</option><option value="year">${c.t(text('by year', 'nach Jahr'))}</option></select></div>`)}</div>
<h2 class="visually-hidden">${c.t(text('Results', 'Treffer'))}</h2><p id="count" role="status"></p>${c.flaw('image-alt', BOOKS.length, `<div id="results" class="cards four" data-books="/data/books-${c.lang}.json"></div>`)}
<noscript>${list(BOOKS.map((book) => `<a href="${c.href(book.id)}">${escape(book.title)}</a>`))}</noscript></div>
${section(c.t(text('All titles', 'Alle Titel')), list(BOOKS.map((book) => `<a href="${c.href(book.id)}">${escape(book.title)}</a>, ${book.author}`)), 'tinted')}`,
};

const shareTools = (c: Context): string =>
  c.flaw(
    'button-name',
    2,
    `<div class="share"><button type="button" class="icon"><svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path d="M4 12v8h16v-8M12 3v12M7 8l5-5 5 5" fill="none" stroke="currentColor" stroke-width="2"/></svg></button><button type="button" class="icon"><svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path d="M6 3h12v18l-6-5-6 5z" fill="none" stroke="currentColor" stroke-width="2"/></svg></button></div>`,
  );

function quotation(c: Context, book: Book): string {
  if (book.id === 'book-schimmelreiter') return c.flaw('valid-lang', 1, `<blockquote lang="german">${book.quote}</blockquote>`);
  return `<blockquote lang="${book.language}">${book.quote}</blockquote>`;
}

const page = (book: Book, place: number): Page => ({
  id: book.id,
  slug: text(`catalogue/${book.slug}`, `katalog/${book.slug}`),
  title: text(book.title, book.title),
  summary: book.about,
  section: 'catalogue',
  parent: 'catalogue',
  bare: true,
  scripts: ['availability.js', 'dialog.js'],
  body: (
    c,
  ) => `<div class="wrap block book"><img src="/img/cover-${place}.svg" alt="${c.t(text('Cover of', 'Umschlag von'))} ${escape(book.title)}" width="240" height="340">
<div><p class="crumb-line"><a href="${c.href('catalogue')}">${c.t(text('Catalogue', 'Katalog'))}</a></p><h1${book.language === c.lang ? '' : ` lang="${book.language}"`}>${escape(book.title)}</h1><p class="byline">${book.author}, ${book.year}</p><p class="lead">${c.t(book.about)}</p>
${c.flaw('color-contrast', 1, `<lib-availability copies="${book.copies}" label="${c.t(text('copies on the shelf', 'Exemplare im Regal'))}" note="${c.t(text('as of this morning', 'Stand heute früh'))}"></lib-availability>`)}
<p class="actions"><button class="button" type="button" data-dialog="reserve">${c.t(text('Reserve', 'Vormerken'))}</button> ${button(c.href('join'), c.t(text('No card yet?', 'Noch kein Ausweis?')), 'quiet')}</p>${shareTools(c)}</div></div>
${section(c.t(text('A sentence from it', 'Ein Satz daraus')), quotation(c, book), 'tinted')}
${section(
  c.t(text('Copies', 'Exemplare')),
  table(
    c.t(text('Where it stands', 'Wo es steht')),
    [c.t(text('Place', 'Ort')), c.t(text('Shelf', 'Regal')), c.t(text('State', 'Status'))],
    [
      [c.t(text('Market Square', 'Am Markt')), book.shelf, c.t(text('on the shelf', 'im Regal'))],
      [
        c.t(text('Old Harbour', 'Alter Hafen')),
        book.shelf,
        place % 2 === 0 ? c.t(text('on loan', 'entliehen')) : c.t(text('on the shelf', 'im Regal')),
      ],
    ],
  ),
)}
${section(c.t(text('Also worth reading', 'Auch lesenswert')), list([BOOKS[(place + 1) % BOOKS.length]!, BOOKS[(place + 3) % BOOKS.length]!].map((other) => `<a href="${c.href(other.id)}">${escape(other.title)}</a>, ${other.author}`)))}
<dialog id="reserve" aria-labelledby="reserve-title"><form method="dialog"><h2 id="reserve-title">${c.t(text('Reserve this book', 'Dieses Buch vormerken'))}</h2><p>${c.t(text('We keep it for you at the desk for one week.', 'Wir legen es eine Woche lang für Sie an der Theke bereit.'))}</p><div class="field"><label for="card">${c.t(text('Number of your card', 'Ausweisnummer'))}</label><input id="card" name="card" inputmode="numeric"></div><p class="actions"><button class="button">${c.t(text('Reserve', 'Vormerken'))}</button><button class="button quiet">${c.t(text('Cancel', 'Abbrechen'))}</button></p></form></dialog>`,
});

export const CATALOGUE_PAGES: readonly Page[] = [catalogue, ...BOOKS.map(page)];
