/** Start page, branches, opening hours and access. */
import { text, type Context, type Page } from '../page.ts';
import { button, card, cards, list, notice, prose, section, table } from '../parts.ts';

const home: Page = {
  id: 'home',
  slug: text('', ''),
  title: text('A town that reads', 'Eine Stadt, die liest'),
  summary: text(
    'Books, music, quiet corners and loud debates: the town library of Lindenau is open to everybody.',
    'Bücher, Musik, ruhige Ecken und laute Debatten: Die Stadtbibliothek Lindenau steht allen offen.',
  ),
  section: 'none',
  bare: true,
  body: (
    c,
  ) => `<div class="hero"><img src="/img/town.svg" alt="" width="1200" height="520"><div class="wrap hero-text"><h1>${c.t(home.title)}</h1><p class="lead">${c.t(home.summary)}</p>
<form class="search" role="search" action="${c.href('catalogue')}"><label for="q">${c.t(text('Search 84,000 books, films and games', 'In 84.000 Büchern, Filmen und Spielen suchen'))}</label><div><input id="q" name="q" type="search"><button class="button" type="submit">${c.t(text('Search', 'Suchen'))}</button></div></form></div></div>
${section(
  c.t(text('This week', 'Diese Woche')),
  cards([
    card({
      href: c.href('event-poetry'),
      title: c.t(text('Poems under the lime tree', 'Gedichte unter der Linde')),
      picture: 'reading',
      meta: c.t(text('Thursday, 19:00', 'Donnerstag, 19 Uhr')),
      body: c.t(
        text('Five voices, one microphone, and cake from the reading club.', 'Fünf Stimmen, ein Mikrofon und Kuchen vom Lesekreis.'),
      ),
    }),
    card({
      href: c.href('event-repair'),
      title: c.t(text('Repair café', 'Reparaturcafé')),
      picture: 'workshop',
      meta: c.t(text('Saturday, 10:00', 'Samstag, 10 Uhr')),
      body: c.t(
        text(
          'Bring the toaster. We bring the screwdrivers and the patience.',
          'Bringen Sie den Toaster mit. Wir haben Schraubendreher und Geduld.',
        ),
      ),
    }),
    card({
      href: c.href('event-night'),
      title: c.t(text('Long night of the library', 'Lange Nacht der Bibliothek')),
      picture: 'night',
      meta: c.t(text('Saturday, 18:00 to 24:00', 'Samstag, 18 bis 24 Uhr')),
      body: c.t(
        text(
          'Torchlight tours, a string trio and stories until midnight.',
          'Führungen mit Taschenlampe, ein Streichtrio und Geschichten bis Mitternacht.',
        ),
      ),
    }),
  ]),
)}
${section(
  c.t(text('New on our shelves', 'Neu im Regal')),
  cards(
    [
      card({ href: c.href('book-middlemarch'), title: 'Middlemarch', picture: 'cover-0', tall: true, body: 'George Eliot' }),
      card({ href: c.href('book-effi'), title: 'Effi Briest', picture: 'cover-1', tall: true, body: 'Theodor Fontane' }),
      card({ href: c.href('book-time'), title: 'The Time Machine', picture: 'cover-4', tall: true, body: 'H. G. Wells' }),
      card({ href: c.href('book-kafka'), title: 'Die Verwandlung', picture: 'cover-6', tall: true, body: 'Franz Kafka' }),
    ],
    'four',
  ),
  'tinted',
)}
${section(
  c.t(text('Three places, one card', 'Drei Orte, ein Ausweis')),
  cards([
    card({
      href: c.href('branch-market'),
      title: c.t(text('Market Square', 'Am Markt')),
      picture: 'market',
      body: c.t(text('The main house: five floors and a roof terrace.', 'Das Haupthaus: fünf Etagen und eine Dachterrasse.')),
    }),
    card({
      href: c.href('branch-harbour'),
      title: c.t(text('Old Harbour', 'Alter Hafen')),
      picture: 'harbour',
      body: c.t(text('Comics, music and a workshop in the former granary.', 'Comics, Musik und eine Werkstatt im alten Speicher.')),
    }),
    card({
      href: c.href('branch-bus'),
      title: c.t(text('The book bus', 'Der Bücherbus')),
      picture: 'bus',
      body: c.t(text('Fourteen stops, 4,000 books, one horn.', 'Vierzehn Haltestellen, 4.000 Bücher, eine Hupe.')),
    }),
  ]) + `<p class="wide-link">${button(c.href('join'), c.t(text('Get your library card', 'Ausweis beantragen')))}</p>`,
)}
${section(c.t(text('With the help of', 'Mit Unterstützung von')), c.flaw('image-alt', 2, '<p class="partners"><img src="/img/cover-5.svg" width="60" height="85"><img src="/img/cover-7.svg" width="60" height="85"></p>') + c.flaw('color-contrast', 1, `<p class="faint">${c.t(text('Friends of the Library and the savings bank of Lindenau', 'Förderverein und Sparkasse Lindenau'))}</p>`))}`,
};

const visit: Page = {
  id: 'visit',
  slug: text('visit', 'besuch'),
  title: text('Visit us', 'Besuchen Sie uns'),
  summary: text(
    'Two houses and a bus: find the one that is open, near and has what you look for.',
    'Zwei Häuser und ein Bus: So finden Sie den Ort, der offen und nah ist und hat, was Sie suchen.',
  ),
  section: 'visit',
  image: 'market',
  body: (c) =>
    `${section(
      c.t(text('Our places', 'Unsere Orte')),
      cards([
        card({
          href: c.href('branch-market'),
          title: c.t(text('Market Square', 'Am Markt')),
          picture: 'market',
          body: c.t(
            text('Tram 7 and 15, stop Lindenauer Markt. Level entrance.', 'Straßenbahn 7 und 15, Lindenauer Markt. Ebenerdiger Eingang.'),
          ),
        }),
        card({
          href: c.href('branch-harbour'),
          title: c.t(text('Old Harbour', 'Alter Hafen')),
          picture: 'harbour',
          body: c.t(text('Bus 60, stop Harbour. Lift from the quay.', 'Bus 60, Haltestelle Hafen. Aufzug vom Kai.')),
        }),
        card({
          href: c.href('branch-bus'),
          title: c.t(text('The book bus', 'Der Bücherbus')),
          picture: 'bus',
          body: c.t(text('Every two weeks in your street.', 'Alle zwei Wochen in Ihrer Straße.')),
        }),
      ]),
    )}${section(
      c.t(text('Good to know', 'Gut zu wissen')),
      list(
        [
          `<a href="${c.href('hours')}">${c.t(text('Opening hours', 'Öffnungszeiten'))}</a>`,
          `<a href="${c.href('access')}">${c.t(text('Barrier-free ways in', 'Barrierefreie Zugänge'))}</a>`,
          `<a href="${c.href('rooms')}">${c.t(text('Rooms and equipment', 'Räume und Geräte'))}</a>`,
          `<a href="${c.href('join')}">${c.t(text('How to get a library card', 'So kommen Sie zum Ausweis'))}</a>`,
        ],
        'tiles',
      ),
      'tinted',
    )}`,
};

const facts = (c: Context, address: string, reach: string, special: string): string =>
  `<dl class="facts"><div><dt>${c.t(text('Address', 'Adresse'))}</dt><dd>${address}</dd></div><div><dt>${c.t(text('Getting here', 'Anfahrt'))}</dt><dd>${reach}</dd></div><div><dt>${c.t(text('Special', 'Besonderes'))}</dt><dd>${special}</dd></div></dl>`;

const market: Page = {
  id: 'branch-market',
  slug: text('visit/market-square', 'besuch/am-markt'),
  title: text('Market Square', 'Am Markt'),
  summary: text(
    'The main house of 1908, with five floors, a reading room under glass and a roof terrace.',
    'Das Haupthaus von 1908 mit fünf Etagen, einem Lesesaal unter Glas und einer Dachterrasse.',
  ),
  section: 'visit',
  parent: 'visit',
  image: 'market',
  body: (
    c,
  ) => `${section(c.t(text('At a glance', 'Auf einen Blick')), facts(c, 'Am Markt 4, 04177 Lindenau', c.t(text('Tram 7 and 15, stop Lindenauer Markt', 'Straßenbahn 7 und 15, Haltestelle Lindenauer Markt')), c.t(text('Roof terrace, open from April to October', 'Dachterrasse, offen von April bis Oktober'))))}
${section(c.t(text('Where it is', 'Lage')), `<iframe class="map" src="${c.frame('map-market')}" title="${c.t(text('Map of the market square', 'Karte des Marktplatzes'))}" loading="eager"></iframe>`)}
${section(
  c.t(text('What is on which floor', 'Was ist auf welcher Etage')),
  table(
    c.t(text('Floors of the main house', 'Etagen des Haupthauses')),
    [c.t(text('Floor', 'Etage')), c.t(text('Collection', 'Bestand')), c.t(text('Seats', 'Plätze'))],
    [
      ['4', c.t(text('Roof terrace, newspapers', 'Dachterrasse, Zeitungen')), '40'],
      ['3', c.t(text('Science, law, learning centre', 'Wissenschaft, Recht, Lernzentrum')), '96'],
      ['2', c.t(text('Art, music, films', 'Kunst, Musik, Filme')), '38'],
      ['1', c.t(text('Novels, languages', 'Romane, Sprachen')), '52'],
      ['0', c.t(text('Children, café, returns', 'Kinder, Café, Rückgabe')), '64'],
    ],
  ),
  'tinted',
)}`,
};

const harbour: Page = {
  id: 'branch-harbour',
  slug: text('visit/old-harbour', 'besuch/alter-hafen'),
  title: text('Old Harbour', 'Alter Hafen'),
  summary: text(
    'Comics, records and a workshop with 3D printers, in a granary at the water.',
    'Comics, Schallplatten und eine Werkstatt mit 3D-Druckern, in einem Speicher am Wasser.',
  ),
  section: 'visit',
  parent: 'visit',
  image: 'harbour',
  body: (
    c,
  ) => `${section(c.t(text('At a glance', 'Auf einen Blick')), facts(c, 'Speicherstraße 11, 04177 Lindenau', c.t(text('Bus 60, stop Harbour', 'Bus 60, Haltestelle Hafen')), c.t(text('Sewing machines, 3D printers, a recording booth', 'Nähmaschinen, 3D-Drucker, eine Tonkabine'))))}
${section(c.t(text('Where it is', 'Lage')), c.flaw('frame-title', 1, `<iframe class="map" src="${c.frame('map-harbour')}"></iframe>`))}
${section(c.t(text('From our guest book', 'Aus dem Gästebuch')), `<blockquote>${c.t(text('“I came for a comic and left with a stool that I built myself.”', '„Ich kam wegen eines Comics und ging mit einem selbst gebauten Hocker.“'))}</blockquote>`, 'tinted')}`,
};

const stops = (c: Context): string =>
  c.flaw(
    'td-headers-attr',
    1,
    `<div class="table-frame"><table><caption>${c.t(text('Stops in even weeks', 'Haltestellen in geraden Wochen'))}</caption><thead><tr><th id="stop" scope="col">${c.t(text('Stop', 'Haltestelle'))}</th><th id="day" scope="col">${c.t(text('Day', 'Tag'))}</th><th id="time" scope="col">${c.t(text('Time', 'Zeit'))}</th></tr></thead><tbody>
<tr><th id="s1" scope="row">${c.t(text('School lane', 'Schulgasse'))}</th><td headers="s1 day">${c.t(text('Tuesday', 'Dienstag'))}</td><td headers="s1 time">14:00–15:00</td></tr>
<tr><th id="s2" scope="row">${c.t(text('Mill pond', 'Mühlteich'))}</th><td headers="s2 day">${c.t(text('Tuesday', 'Dienstag'))}</td><td headers="s2 time">15:30–16:30</td></tr>
<tr><th id="s3" scope="row">${c.t(text('Garden suburb', 'Gartenstadt'))}</th><td headers="s3 weekday">${c.t(text('Wednesday', 'Mittwoch'))}</td><td headers="s3 time">16:00–17:30</td></tr>
</tbody></table></div>`,
  );

const bus: Page = {
  id: 'branch-bus',
  slug: text('visit/book-bus', 'besuch/buecherbus'),
  title: text('The book bus', 'Der Bücherbus'),
  summary: text(
    'Fourteen stops, four thousand books and a driver who has read most of them.',
    'Vierzehn Haltestellen, viertausend Bücher und ein Fahrer, der die meisten gelesen hat.',
  ),
  section: 'visit',
  parent: 'visit',
  image: 'bus',
  body: (c) =>
    `${section(c.t(text('When and where', 'Wann und wo')), stops(c))}${section(c.t(text('On board', 'An Bord')), prose(c.t(text('The bus has a lift for wheelchairs, a corner for picture books, and returns for all three places.', 'Der Bus hat einen Lift für Rollstühle, eine Bilderbuchecke und nimmt Rückgaben für alle drei Orte an.')), c.t(text('In snow and ice it stays at home: call the service number from 8 o’clock.', 'Bei Schnee und Eis bleibt er zu Hause: Rufen Sie ab 8 Uhr die Servicenummer an.'))), 'tinted')}`,
};

const hours: Page = {
  id: 'hours',
  slug: text('visit/opening-hours', 'besuch/oeffnungszeiten'),
  title: text('Opening hours', 'Öffnungszeiten'),
  summary: text('When which house is open, also on public holidays.', 'Wann welches Haus geöffnet ist, auch an Feiertagen.'),
  section: 'visit',
  parent: 'visit',
  body: (c) => {
    const closed = `<span class="faint">${c.t(text('closed', 'geschlossen'))}</span>`;
    const days: [string, string, string][] = [
      [c.t(text('Monday', 'Montag')), closed, closed],
      [c.t(text('Tuesday', 'Dienstag')), '10–19', '12–18'],
      [c.t(text('Wednesday', 'Mittwoch')), '10–19', closed],
      [c.t(text('Thursday', 'Donnerstag')), '10–19', '12–18'],
      [c.t(text('Friday', 'Freitag')), '10–19', '12–18'],
      [c.t(text('Saturday', 'Samstag')), '10–14', '10–14'],
    ];
    return `${section(c.t(text('The regular week', 'Die gewöhnliche Woche')), c.flaw('color-contrast', 3, table(c.t(text('Opening hours of both houses', 'Öffnungszeiten beider Häuser')), [c.t(text('Day', 'Tag')), c.t(text('Market Square', 'Am Markt')), c.t(text('Old Harbour', 'Alter Hafen'))], days)))}
${section(c.t(text('Holidays', 'Feiertage')), notice(c.t(text('Both houses are closed from 24 December to 1 January. Returns are taken day and night at the market square.', 'Beide Häuser sind vom 24. Dezember bis 1. Januar geschlossen. Rückgaben nimmt der Automat am Markt Tag und Nacht.'))))}`;
  },
};

const access: Page = {
  id: 'access',
  slug: text('visit/barrier-free', 'besuch/barrierefrei'),
  title: text('Barrier-free ways in', 'Barrierefreie Zugänge'),
  summary: text(
    'Lifts, guide strips, induction loops and people who help.',
    'Aufzüge, Leitstreifen, Induktionsschleifen und Menschen, die helfen.',
  ),
  section: 'visit',
  parent: 'visit',
  body: (c) =>
    `${section(
      c.t(text('Market Square', 'Am Markt')),
      list(
        [
          c.t(
            text(
              'Level entrance from Lindenstraße, doors open by themselves',
              'Ebenerdiger Eingang von der Lindenstraße, Türen öffnen selbsttätig',
            ),
          ),
          c.t(text('Lift to every floor, with speech and raised signs', 'Aufzug auf jede Etage, mit Ansage und Tastschrift')),
          c.t(text('Induction loops at the desk and in the hall', 'Induktionsschleifen an der Theke und im Saal')),
          c.t(
            text(
              'A quiet hour every Tuesday from 10 to 11: no announcements, dimmed light',
              'Stille Stunde dienstags von 10 bis 11 Uhr: keine Durchsagen, gedämpftes Licht',
            ),
          ),
        ],
        'ticks',
      ),
    )}${section(
      c.t(text('Old Harbour', 'Alter Hafen')),
      list(
        [
          c.t(text('Lift from the quay; ring the bell if it is locked', 'Aufzug vom Kai; bitte klingeln, wenn er verschlossen ist')),
          c.t(text('Toilet with a changing bench on the ground floor', 'Toilette mit Pflegeliege im Erdgeschoss')),
        ],
        'ticks',
      ),
      'tinted',
    )}${section(c.t(text('At home', 'Zu Hause')), prose(c.t(text('Volunteers bring books to people who cannot leave the house. Call us, or use the <a href="' + c.href('contact') + '">contact form</a>.', 'Ehrenamtliche bringen Bücher zu Menschen, die das Haus nicht verlassen können. Rufen Sie an oder nutzen Sie das <a href="' + c.href('contact') + '">Kontaktformular</a>.'))))}`,
};

export const VISIT_PAGES: readonly Page[] = [home, visit, market, harbour, bus, hours, access];
