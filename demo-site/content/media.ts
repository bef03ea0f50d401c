/** Audio, video, the digital library, and the pages for children. */
import { text, type Page } from '../page.ts';
import { button, card, cards, list, notice, prose, section } from '../parts.ts';

const listen: Page = {
  id: 'listen',
  slug: text('listen-and-watch', 'hoeren-und-sehen'),
  title: text('Listen and watch', 'Hören und sehen'),
  summary: text(
    'A walk through the house, the sound of its bell, and its plan.',
    'Ein Gang durchs Haus, der Klang seiner Glocke und sein Plan.',
  ),
  section: 'media',
  image: 'audio',
  body: (
    c,
  ) => `${section(c.t(text('A walk through the house', 'Ein Gang durchs Haus')), `<video class="media" controls preload="metadata" width="640" height="360" poster="/img/market.svg" aria-label="${c.t(text('A walk through the house', 'Ein Gang durchs Haus'))}"><source src="/assets/tour.webm" type="video/webm"><track kind="captions" srclang="${c.lang}" label="${c.t(text('English', 'Deutsch'))}" src="/files/tour-${c.lang}.vtt" default></video>`)}
${section(c.t(text('The sound of our bell', 'Der Klang unserer Glocke')), `<audio controls preload="none" src="/files/bell.wav" aria-label="${c.t(text('The bell', 'Die Glocke'))}"></audio><h3>${c.t(text('In words', 'In Worten'))}</h3><p>${c.t(text('Three soft strokes, each a little lower than the one before.', 'Drei sanfte Schläge, jeder etwas tiefer als der vorige.'))}</p>`, 'tinted')}
${section(c.t(text('The building, layer by layer', 'Das Haus, Schicht für Schicht')), c.flaw('object-alt', 1, '<object class="drawing" data="/img/market.svg" type="image/svg+xml" width="640" height="400"></object>'))}`,
};

const digital: Page = {
  id: 'digital',
  slug: text('digital-library', 'digitale-bibliothek'),
  title: text('Digital library', 'Digitale Bibliothek'),
  summary: text(
    'E-books, newspapers and courses, with your card and from anywhere.',
    'E-Books, Zeitungen und Kurse, mit Ihrem Ausweis und von überall.',
  ),
  section: 'media',
  parent: 'listen',
  body: (c) => `${section(
    c.t(text('What you can use', 'Was Sie nutzen können')),
    cards([
      card({
        href: c.href('faq'),
        title: c.t(text('E-books', 'E-Books')),
        picture: 'shelves',
        body: c.t(text('12,000 titles, three weeks each.', '12.000 Titel, je drei Wochen.')),
      }),
      card({
        href: c.href('faq'),
        title: c.t(text('Newspapers', 'Zeitungen')),
        picture: 'desk',
        body: c.t(text('Seven thousand papers from all over the world.', 'Siebentausend Zeitungen aus aller Welt.')),
      }),
      card({
        href: c.href('faq'),
        title: c.t(text('Courses', 'Kurse')),
        picture: 'workshop',
        body: c.t(text('From spreadsheets to sourdough.', 'Von der Tabelle bis zum Sauerteig.')),
      }),
    ]),
  )}
${section(c.t(text('Which device?', 'Welches Gerät?')), c.flaw('aria-required-children', 1, `<div class="tabs" role="tablist" aria-label="${c.t(text('Devices', 'Geräte'))}"><a href="#reader">${c.t(text('Reader', 'Lesegerät'))}</a><a href="#phone">${c.t(text('Phone', 'Telefon'))}</a></div>`) + c.flaw('aria-roles', 1, `<div id="reader" role="tab-pane">${c.t(text('Most readers open our books at once.', 'Die meisten Lesegeräte öffnen unsere Bücher sofort.'))}</div>`) + `<p id="phone">${c.t(text('For phones there is an app.', 'Für Telefone gibt es eine App.'))}</p>`, 'tinted')}`,
};

const children: Page = {
  id: 'children',
  slug: text('children', 'kinder'),
  title: text('For children', 'Für Kinder'),
  summary: text('A cave of cushions, 9,000 books and a dragon that listens.', 'Eine Kissenhöhle, 9.000 Bücher und ein Drache, der zuhört.'),
  section: 'children',
  image: 'children',
  shell: (c, shell) => ({ viewport: (c.flaw('meta-viewport', 1, ''), `${shell.viewport}, maximum-scale=1, user-scalable=no`) }),
  body: (
    c,
  ) => `${section(c.t(text('Story time', 'Vorlesezeit')), c.flaw('marquee', 1, `<marquee class="banner">${c.t(text('New: story time on Saturdays at 11!', 'Neu: Vorlesen samstags um 11 Uhr!'))}</marquee>`) + prose(c.t(text('Every day at four somebody reads aloud. Under fives bring their grown-ups.', 'Jeden Tag um vier liest jemand vor. Unter Fünfjährige bringen ihre Großen mit.'))))}
${section(
  c.t(text('The dragon’s favourites', 'Lieblinge des Drachen')),
  cards(
    [
      card({
        href: c.href('book-alice'),
        title: 'Alice’s Adventures in Wonderland',
        picture: 'cover-5',
        tall: true,
        body: 'Lewis Carroll',
      }),
      card({ href: c.href('book-time'), title: 'The Time Machine', picture: 'cover-4', tall: true, body: 'H. G. Wells' }),
      card({ href: c.href('book-schimmelreiter'), title: 'Der Schimmelreiter', picture: 'cover-3', tall: true, body: 'Theodor Storm' }),
      card({ href: c.href('book-frankenstein'), title: 'Frankenstein', picture: 'cover-2', tall: true, body: 'Mary Shelley' }),
    ],
    'four',
  ) + c.flaw('aria-hidden-focus', 1, `<p aria-hidden="true"><a href="${c.href('catalogue')}">${c.t(text('More', 'Mehr'))}</a></p>`),
  'tinted',
)}
${section(c.t(text('For schools', 'Für Schulen')), notice(c.t(text('Classes are welcome in the mornings, before we open.', 'Klassen sind vormittags willkommen, bevor wir öffnen.'))) + `<p class="wide-link">${button(c.href('contact'), c.t(text('Ask for a date', 'Termin anfragen')))}</p>`)}`,
};

export const MEDIA_PAGES: readonly Page[] = [listen, digital, children];

/** The news, newest first. */
const news: Page = {
  id: 'news',
  slug: text('news', 'aktuelles'),
  title: text('News', 'Aktuelles'),
  summary: text('What has changed in the house.', 'Was sich im Haus verändert hat.'),
  section: 'about',
  parent: 'about',
  shell: (c) => ({ head: c.flaw('meta-refresh', 1, '<meta http-equiv="refresh" content="900">\n') }),
  body: (c) =>
    section(
      c.t(text('Latest', 'Neueste Meldungen')),
      cards(
        ARTICLES.map((article) =>
          card({ href: c.href(article.id), title: c.t(article.title), picture: article.image!, body: c.t(article.summary) }),
        ),
      ),
    ),
};

const terrace: Page = {
  id: 'news-terrace',
  slug: text('news/roof-terrace', 'aktuelles/dachterrasse'),
  title: text('The roof terrace is open again', 'Die Dachterrasse ist wieder offen'),
  summary: text('Forty new chairs, and a view to the harbour.', 'Vierzig neue Stühle und ein Blick bis zum Hafen.'),
  section: 'about',
  parent: 'news',
  image: 'garden',
  shell: (c) => ({
    htmlAttributes: (c.flaw('html-xml-lang-mismatch', 1, ''), `lang="${c.lang}" xml:lang="${c.lang === 'en' ? 'de' : 'en'}"`),
  }),
  body: (c) =>
    section(
      c.t(text('After two winters', 'Nach zwei Wintern')),
      prose(
        c.t(
          text(
            'The new floor is made of larch, and the lift now goes all the way up.',
            'Der neue Boden ist aus Lärche, und der Aufzug fährt jetzt bis ganz nach oben.',
          ),
        ),
        c.t(
          text(
            'Coffee comes from the café on the ground floor. Please bring the cups back down.',
            'Kaffee gibt es im Café im Erdgeschoss. Bitte bringen Sie die Tassen wieder mit hinunter.',
          ),
        ),
      ),
    ),
};

const things: Page = {
  id: 'news-things',
  slug: text('news/library-of-things', 'aktuelles/bibliothek-der-dinge'),
  title: text('A library of things', 'Eine Bibliothek der Dinge'),
  summary: text('Borrow a drill, a tent or a telescope.', 'Leihen Sie eine Bohrmaschine, ein Zelt oder ein Fernrohr.'),
  section: 'about',
  parent: 'news',
  image: 'workshop',
  body: (c) =>
    section(
      c.t(text('Sixty things', 'Sechzig Dinge')),
      c.flaw(
        'link-in-text-block',
        2,
        `<div class="prose colour-links"><p>${c.t(text(`The things stand on the ground floor of the Old Harbour. What each of them costs is in the <a href="${c.href('fees')}">table of fees</a>, and whoever wants to try one first comes to the <a href="${c.href('event-repair')}">repair café</a> on Saturday.`, `Die Dinge stehen im Erdgeschoss am Alten Hafen. Was jedes kostet, steht in der <a href="${c.href('fees')}">Gebührentabelle</a>, und wer eines erst ausprobieren möchte, kommt am Samstag ins <a href="${c.href('event-repair')}">Reparaturcafé</a> und fragt.`))}</p></div>`,
      ),
    ),
};

const route: Page = {
  id: 'news-route',
  slug: text('news/new-route', 'aktuelles/neue-route'),
  title: text('The book bus has a new route', 'Der Bücherbus fährt eine neue Route'),
  summary: text('Two more stops, and the mill pond is served again.', 'Zwei Haltestellen mehr, und der Mühlteich ist wieder dabei.'),
  section: 'about',
  parent: 'news',
  image: 'bus',
  body: (c) =>
    section(
      c.t(text('On the map', 'Auf der Karte')),
      `<p><a href="${c.href('branch-bus')}"><img ismap class="drawing" src="/img/plan.svg" alt="${c.t(text('Map of the stops', 'Karte der Haltestellen'))}" width="640" height="336"></a></p>` +
        list([
          c.t(text('New: garden suburb, Wednesdays', 'Neu: Gartenstadt, mittwochs')),
          c.t(text('New: station, Fridays', 'Neu: Bahnhof, freitags')),
        ]),
    ),
};

const ARTICLES: readonly Page[] = [terrace, things, route];

export const NEWS_PAGES: readonly Page[] = [news, ...ARTICLES];
