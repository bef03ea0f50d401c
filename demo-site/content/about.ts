/** About the library and its staff, and the legal pages. */
import { text, type Page } from '../page.ts';
import { button, card, cards, field, form, group, list, notice, prose, section, table } from '../parts.ts';

const about: Page = {
  id: 'about',
  slug: text('about', 'ueber-uns'),
  title: text('About us', 'Über uns'),
  summary: text(
    'Eighteen people, eighty-four thousand media, one house for everybody.',
    'Achtzehn Menschen, vierundachtzigtausend Medien, ein Haus für alle.',
  ),
  section: 'about',
  image: 'team',
  body: (c) =>
    `${section(
      c.t(text('In numbers', 'In Zahlen')),
      table(
        c.t(text('The library in 2030', 'Die Bibliothek 2030')),
        [c.t(text('What', 'Was')), c.t(text('How many', 'Wie viele'))],
        [
          [c.t(text('Visits', 'Besuche')), c.t(text('312,000', '312.000'))],
          [c.t(text('Loans', 'Ausleihen')), c.t(text('498,000', '498.000'))],
          [c.t(text('Events', 'Veranstaltungen')), '640'],
        ],
      ),
    )}${section(
      c.t(text('Get to know us', 'Lernen Sie uns kennen')),
      cards([
        card({
          href: c.href('team'),
          title: c.t(text('The team', 'Das Team')),
          picture: 'team',
          body: c.t(text('Who answers when you ask.', 'Wer antwortet, wenn Sie fragen.')),
        }),
        card({
          href: c.href('history'),
          title: c.t(text('History', 'Geschichte')),
          picture: 'old',
          body: c.t(text('From a reading room with six chairs.', 'Von einer Lesehalle mit sechs Stühlen.')),
        }),
        card({
          href: c.href('news'),
          title: c.t(text('News', 'Aktuelles')),
          picture: 'garden',
          body: c.t(text('What is new in the house.', 'Was es Neues gibt.')),
        }),
        card({
          href: c.href('volunteer'),
          title: c.t(text('Lend a hand', 'Mitmachen')),
          picture: 'reading',
          body: c.t(text('Read aloud, carry books, mend things.', 'Vorlesen, Bücher tragen, reparieren.')),
        }),
      ]),
      'tinted',
    )}`,
};

const PEOPLE = [
  ['Marta Wieland', text('Head of the library', 'Leiterin')],
  ['Jonas Okafor', text('Children and schools', 'Kinder und Schulen')],
  ['Lin Yilmaz', text('Music and films', 'Musik und Filme')],
  ['Ruth Petersen', text('Driver of the book bus', 'Fahrerin des Bücherbusses')],
] as const;

const team: Page = {
  id: 'team',
  slug: text('about/team', 'ueber-uns/team'),
  title: text('The team', 'Das Team'),
  summary: text('Four of the eighteen, and what to ask them.', 'Vier von achtzehn, und was Sie sie fragen können.'),
  section: 'about',
  parent: 'about',
  body: (
    c,
  ) => `${section(c.t(text('People', 'Menschen')), c.flaw('aria-deprecated-role', 1, `<div role="directory"><ul class="people">${PEOPLE.map(([name, duty], i) => `<li><img src="/img/portrait-${i}.svg" alt="" width="120" height="120"><b>${name}</b><span>${c.t(duty)}</span></li>`).join('')}</ul></div>`))}
${section(c.t(text('We are looking for', 'Wir suchen')), c.flaw('listitem', 2, `<div class="loose"><li>${c.t(text('An apprentice from September', 'Auszubildende ab September'))}</li><li>${c.t(text('Help at weekends', 'Aushilfen am Wochenende'))}</li></div>`), 'tinted')}`,
};

const history: Page = {
  id: 'history',
  slug: text('about/history', 'ueber-uns/geschichte'),
  title: text('History', 'Geschichte'),
  summary: text(
    'From a reading room with six chairs to a house with five floors.',
    'Von der Lesehalle mit sechs Stühlen zum Haus mit fünf Etagen.',
  ),
  section: 'about',
  parent: 'about',
  image: 'old',
  body: (c) =>
    section(
      c.t(text('Dates', 'Daten')),
      c.flaw(
        'aria-deprecated-role',
        1,
        `<div class="timeline" role="directory">${[
          [
            '1894',
            text(
              'Six chairs and a stove: the reading room opens above the bakery.',
              'Sechs Stühle und ein Ofen: Die Lesehalle öffnet über der Bäckerei.',
            ),
          ],
          ['1908', text('The house at the market square is built.', 'Das Haus am Markt wird gebaut.')],
          ['1953', text('The first book bus, a converted milk van.', 'Der erste Bücherbus, ein umgebauter Milchwagen.')],
          ['1998', text('The granary at the harbour becomes a branch.', 'Der Speicher am Hafen wird Zweigstelle.')],
          ['2024', text('The reading room gets its glass roof back.', 'Der Lesesaal bekommt sein Glasdach zurück.')],
        ]
          .map(([year, what]) => `<p><b>${year as string}</b> ${c.t(what as ReturnType<typeof text>)}</p>`)
          .join('')}</div>`,
      ) + `<p><a href="${c.href('archive')}">${c.t(text('Into the archive', 'Ins Archiv'))}</a></p>`,
    ),
};

const archive: Page = {
  id: 'archive',
  slug: text('about/archive', 'ueber-uns/archiv'),
  title: text('Archive', 'Archiv'),
  summary: text(
    'The catalogue of 1908, fetched from an old machine: please be patient.',
    'Der Katalog von 1908, aus einer alten Maschine geholt: Bitte haben Sie Geduld.',
  ),
  section: 'about',
  parent: 'history',
  image: 'old',
  body: (c) =>
    section(
      c.t(text('From the first register', 'Aus dem ersten Verzeichnis')),
      table(
        c.t(text('Most borrowed in 1908', 'Am meisten geliehen 1908')),
        [c.t(text('Title', 'Titel')), c.t(text('Loans', 'Ausleihen'))],
        [
          ['<span lang="de">Der Schimmelreiter</span>', '212'],
          ['<span lang="de">Effi Briest</span>', '187'],
          [c.t(text('Railway timetable', 'Fahrplan der Eisenbahn')), '171'],
        ],
      ),
    ),
};

const volunteer: Page = {
  id: 'volunteer',
  slug: text('about/volunteer', 'ueber-uns/mitmachen'),
  title: text('Lend a hand', 'Mitmachen'),
  summary: text('An hour a month is enough.', 'Eine Stunde im Monat genügt.'),
  section: 'about',
  parent: 'about',
  image: 'reading',
  body: (c) =>
    section(
      c.t(text('What would you like?', 'Was möchten Sie?')),
      form(
        c,
        `${field(c, 'helper', text('Your name', 'Ihr Name'), { autocomplete: 'name' })}${group(c, 'task', text('I would like to', 'Ich möchte'), [text('read aloud', 'vorlesen'), text('bring books to people', 'Bücher nach Hause bringen'), text('mend things', 'Dinge reparieren')], 'checkbox')}<div class="field"><span class="fake-label">${c.t(text('Why?', 'Warum?'))}</span>${c.flaw('aria-input-field-name', 1, '<div class="editor" role="textbox" contenteditable="true" tabindex="0"></div>')}</div>`,
        text('I am in', 'Ich bin dabei'),
      ),
    ),
};

const privacy: Page = {
  id: 'privacy',
  slug: text('privacy', 'datenschutz'),
  title: text('Privacy', 'Datenschutz'),
  summary: text(
    'We keep what we need to lend you books, and forget it when they are back.',
    'Wir speichern, was wir zum Ausleihen brauchen, und vergessen es nach der Rückgabe.',
  ),
  section: 'none',
  shell: (c) => ({
    htmlAttributes: c.lang === 'en' ? (c.flaw('html-has-lang', 1, ''), '') : (c.flaw('html-lang-valid', 1, ''), 'lang="deutsch"'),
  }),
  body: (c) =>
    `${section(c.t(text('What we keep', 'Was wir speichern')), list([c.t(text('Name, address, date of birth', 'Name, Anschrift, Geburtsdatum')), c.t(text('What you have on loan now', 'Was Sie gerade geliehen haben')), c.t(text('Open fees', 'Offene Gebühren'))]))}${section(c.t(text('What we do not keep', 'Was wir nicht speichern')), prose(c.t(text('Who read what. As soon as a book is back, the link between you and it is deleted.', 'Wer was gelesen hat. Sobald ein Buch zurück ist, wird die Verbindung zu Ihnen gelöscht.'))), 'tinted')}`,
};

const imprint: Page = {
  id: 'imprint',
  slug: text('legal-notice', 'impressum'),
  title: text('Legal notice', 'Impressum'),
  summary: text('Who is responsible for this site.', 'Wer für diese Website verantwortlich ist.'),
  section: 'none',
  shell: (c) => ({ title: c.flaw('document-title', 1, '') }),
  body: (c) =>
    section(
      c.t(text('Responsible', 'Verantwortlich')),
      prose(
        c.t(
          text(
            'The town of Lindenau, represented by its mayor, Am Markt 1, 04177 Lindenau.',
            'Stadt Lindenau, vertreten durch die Bürgermeisterin, Am Markt 1, 04177 Lindenau.',
          ),
        ),
      ),
    ),
};

const statement: Page = {
  id: 'statement',
  slug: text('accessibility', 'barrierefreiheit'),
  title: text('Accessibility of this site', 'Barrierefreiheit dieser Website'),
  summary: text('We want to meet WCAG 2.1 AA, and we do not yet.', 'Wir wollen die WCAG 2.1 AA erfüllen, und noch tun wir es nicht.'),
  section: 'none',
  body: (
    c,
  ) => `${section(c.t(text('Known faults', 'Bekannte Mängel')), c.flaw('avoid-inline-spacing', 1, `<p style="letter-spacing: 0.02em !important">${c.t(text('Some pictures have no text alternative, some fields no label, and some texts are too pale. They are there on purpose, to be found.', 'Einigen Bildern fehlt die Textalternative, einigen Feldern die Beschriftung, und mancher Text ist zu blass. Das ist Absicht: Sie sollen gefunden werden.'))}</p>`))}
${section(c.t(text('Tell us', 'Sagen Sie es uns')), notice(c.t(text('You found a barrier? Write to us, and we answer within two weeks.', 'Sie haben eine Barriere gefunden? Schreiben Sie uns, wir antworten innerhalb von zwei Wochen.'))) + `<p class="wide-link">${button(c.href('contact'), c.t(text('Report a barrier', 'Barriere melden')))}</p>`, 'tinted')}`,
};

export const ABOUT_PAGES: readonly Page[] = [about, team, history, archive, volunteer, privacy, imprint, statement];
