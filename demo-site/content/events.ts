/** The programme: a list, and a page per event. */
import { text, type Context, type Page, type Text } from '../page.ts';
import { button, card, cards, prose, section } from '../parts.ts';

interface LibraryEvent {
  id: string;
  slug: Text;
  title: Text;
  when: Text;
  /** The start, machine-readable. */
  begins: string;
  where: Text;
  picture: string;
  about: Text;
  more: Text;
  /** A fault that only this event's page has. */
  extra?: (c: Context) => string;
}

const EVENTS: readonly LibraryEvent[] = [
  {
    id: 'event-poetry',
    slug: text('poems-under-the-lime-tree', 'gedichte-unter-der-linde'),
    title: text('Poems under the lime tree', 'Gedichte unter der Linde'),
    when: text('Thursday, 12 June, 19:00', 'Donnerstag, 12. Juni, 19 Uhr'),
    begins: '2031-06-12T19:00',
    where: text('Courtyard, Market Square', 'Innenhof, Am Markt'),
    picture: 'reading',
    about: text('Five voices, one microphone, and cake from the reading club.', 'Fünf Stimmen, ein Mikrofon und Kuchen vom Lesekreis.'),
    more: text(
      'Bring a poem in any language. Whoever reads gets the first slice.',
      'Bringen Sie ein Gedicht mit, in irgendeiner Sprache. Wer liest, bekommt das erste Stück.',
    ),
  },
  {
    id: 'event-repair',
    slug: text('repair-cafe', 'reparaturcafe'),
    title: text('Repair café', 'Reparaturcafé'),
    when: text('Saturday, 14 June, 10:00', 'Samstag, 14. Juni, 10 Uhr'),
    begins: '2031-06-14T10:00',
    where: text('Workshop, Old Harbour', 'Werkstatt, Alter Hafen'),
    picture: 'workshop',
    about: text(
      'Bring the toaster. We bring the screwdrivers and the patience.',
      'Bringen Sie den Toaster mit. Wir haben Schraubendreher und Geduld.',
    ),
    more: text('Last year 214 of 301 things left the table alive.', 'Im letzten Jahr verließen 214 von 301 Dingen lebend den Tisch.'),
    extra: (c) =>
      section(
        c.t(text('Mended in 2030', 'Repariert 2030')),
        c.flaw(
          'svg-img-alt',
          1,
          '<svg role="img" viewBox="0 0 300 120" width="300" height="120"><rect x="10" y="40" width="60" height="80" fill="#143d33"/><rect x="100" y="20" width="60" height="100" fill="#a63d1d"/><rect x="190" y="60" width="60" height="60" fill="#f2c14e"/></svg>',
        ),
        'tinted',
      ),
  },
  {
    id: 'event-night',
    slug: text('long-night', 'lange-nacht'),
    title: text('Long night of the library', 'Lange Nacht der Bibliothek'),
    when: text('Saturday, 21 June, 18:00 to 24:00', 'Samstag, 21. Juni, 18 bis 24 Uhr'),
    begins: '2031-06-21T18:00',
    where: text('All floors, Market Square', 'Alle Etagen, Am Markt'),
    picture: 'night',
    about: text(
      'Torchlight tours, a string trio and stories until midnight.',
      'Führungen mit Taschenlampe, ein Streichtrio und Geschichten bis Mitternacht.',
    ),
    more: text('Children bring a sleeping bag and a grown-up.', 'Kinder bringen einen Schlafsack und eine erwachsene Person mit.'),
    extra: (c) =>
      section(
        c.t(text('Stars of the night', 'Sterne der Nacht')),
        c.flaw('role-img-alt', 1, '<div class="stars" role="img">★★★★☆</div>'),
        'tinted',
      ),
  },
  {
    id: 'event-concert',
    slug: text('cello-among-shelves', 'cello-zwischen-regalen'),
    title: text('Cello among shelves', 'Cello zwischen Regalen'),
    when: text('Sunday, 29 June, 17:00', 'Sonntag, 29. Juni, 17 Uhr'),
    begins: '2031-06-29T17:00',
    where: text('Reading room, Market Square', 'Lesesaal, Am Markt'),
    picture: 'concert',
    about: text('Three suites by Bach, played where it is usually quiet.', 'Drei Suiten von Bach, dort gespielt, wo es sonst still ist.'),
    more: text('There are 96 chairs and no reserved seats.', 'Es gibt 96 Stühle und keine reservierten Plätze.'),
    extra: (c) =>
      section(
        c.t(text('Listen in', 'Hineinhören')),
        c.flaw(
          'aria-required-attr',
          1,
          `<div class="gauge" role="slider" tabindex="0" aria-label="${c.t(text('Volume', 'Lautstärke'))}"><span style="width:40%"></span></div>`,
        ),
        'tinted',
      ),
  },
  {
    id: 'event-seeds',
    slug: text('seed-swap', 'saatgutboerse'),
    title: text('Seed swap', 'Saatgutbörse'),
    when: text('Saturday, 5 July, 11:00', 'Samstag, 5. Juli, 11 Uhr'),
    begins: '2031-07-05T11:00',
    where: text('Roof terrace, Market Square', 'Dachterrasse, Am Markt'),
    picture: 'garden',
    about: text(
      'Give a handful of beans, take a handful of surprise.',
      'Geben Sie eine Handvoll Bohnen, nehmen Sie eine Handvoll Überraschung.',
    ),
    more: text(
      'The seed library lends all year: borrow in spring, return in autumn.',
      'Die Saatgutbibliothek verleiht das ganze Jahr: im Frühling leihen, im Herbst zurückgeben.',
    ),
  },
];

/** The link to the calendar file: the same icon without a name on every event page. */
const calendarLink = (c: Context): string =>
  c.flaw(
    'link-name',
    1,
    '<a class="icon" href="/files/calendar.ics"><svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path d="M4 6h16v15H4zM4 10h16M8 3v5M16 3v5" fill="none" stroke="currentColor" stroke-width="2"/></svg></a>',
  );

const events: Page = {
  id: 'events',
  slug: text('events', 'termine'),
  title: text('Events', 'Termine'),
  summary: text('Readings, repairs and concerts, most of them free.', 'Lesungen, Reparaturen und Konzerte, die meisten kostenlos.'),
  section: 'events',
  image: 'concert',
  body: (
    c,
  ) => `${section(c.t(text('June and July', 'Juni und Juli')), cards(EVENTS.map((event) => card({ href: c.href(event.id), title: c.t(event.title), picture: event.picture, meta: c.t(event.when), body: c.t(event.about) }))))}
${section(c.t(text('Every week', 'Jede Woche')), c.flaw('list', 1, `<ul class="plain"><div class="group">${c.t(text('Tuesdays', 'Dienstags'))}</div><li>${c.t(text('Language café, 16:00', 'Sprachcafé, 16 Uhr'))}</li><li>${c.t(text('Chess for all ages, 17:00', 'Schach für jedes Alter, 17 Uhr'))}</li></ul>`), 'tinted')}
${section(c.t(text('On paper', 'Auf Papier')), prose(`<a href="/files/programme.pdf">${c.t(text('The programme of this summer (PDF)', 'Das Sommerprogramm (PDF)'))}</a>`, `<a href="${c.href('events')}summer-fete-2019/">${c.t(text('Pictures of the summer fête', 'Bilder vom Sommerfest'))}</a>`))}`,
};

const page = (event: LibraryEvent): Page => ({
  id: event.id,
  slug: text(`events/${event.slug.en}`, `termine/${event.slug.de}`),
  title: event.title,
  summary: event.about,
  section: 'events',
  parent: 'events',
  image: event.picture,
  body: (
    c,
  ) => `${section(c.t(text('When and where', 'Wann und wo')), `<dl class="facts"><div><dt>${c.t(text('When', 'Wann'))}</dt><dd><time datetime="${event.begins}">${c.t(event.when)}</time></dd></div><div><dt>${c.t(text('Where', 'Wo'))}</dt><dd>${c.t(event.where)}</dd></div><div><dt>${c.t(text('Entry', 'Eintritt'))}</dt><dd>${c.t(text('free', 'frei'))}</dd></div></dl><p class="actions">${button(c.href('contact'), c.t(text('Keep a seat for me', 'Platz reservieren')))} ${calendarLink(c)}</p>`)}
${section(c.t(text('About the evening', 'Zum Abend')), prose(c.t(event.about), c.t(event.more)))}${event.extra?.(c) ?? ''}`,
});

export const EVENT_PAGES: readonly Page[] = [events, ...EVENTS.map(page)];
