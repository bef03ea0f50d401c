/** Card, fees, account, rooms, contact: the service pages. */
import { text, type Page } from '../page.ts';
import { choice, field, form, group, list, notice, prose, section, table } from '../parts.ts';

const join: Page = {
  id: 'join',
  slug: text('library-card', 'ausweis'),
  title: text('Get a library card', 'Bibliotheksausweis beantragen'),
  summary: text(
    'It takes five minutes and is free for everybody under 18.',
    'Das dauert fünf Minuten und ist für alle unter 18 kostenlos.',
  ),
  section: 'visit',
  image: 'desk',
  body: (c) => `${section(
    c.t(text('Your application', 'Ihr Antrag')),
    form(
      c,
      `
${field(c, 'name', text('Full name', 'Vor- und Nachname'), { autocomplete: 'name', required: true })}
${field(c, 'birthday', text('Date of birth', 'Geburtsdatum'), { type: 'date', autocomplete: 'bday', required: true })}
${c.flaw('autocomplete-valid', 1, field(c, 'mail', text('E-mail', 'E-Mail'), { type: 'email', autocomplete: 'e-mail-address' }))}
${c.flaw('label', 2, `<div class="field pair"><p class="fake-label">${c.t(text('Street and number', 'Straße und Hausnummer'))}</p><input type="text" name="street"><p class="fake-label">${c.t(text('Postcode and town', 'Postleitzahl und Ort'))}</p><input type="text" name="town"></div>`)}
${group(c, 'kind', text('Which card?', 'Welcher Ausweis?'), [text('One year, 20 €', 'Ein Jahr, 20 €'), text('Three months, 8 €', 'Drei Monate, 8 €'), text('Under 18, free', 'Unter 18, kostenlos')])}
${group(c, 'news', text('Shall we write to you?', 'Dürfen wir Ihnen schreiben?'), [text('Before a loan is due', 'Bevor eine Leihfrist endet'), text('When a reservation has come', 'Wenn eine Vormerkung da ist')], 'checkbox')}
${c.flaw('aria-valid-attr', 1, `<p class="hint" aria-labeledby="terms">${c.t(text('By sending this form you agree to the rules of use.', 'Mit dem Absenden erkennen Sie die Benutzungsordnung an.'))}</p>`)}`,
      text('Send application', 'Antrag senden'),
    ),
  )}
${section(c.t(text('Please bring along', 'Bitte bringen Sie mit')), list([c.t(text('An identity card or passport', 'Personalausweis oder Reisepass')), c.t(text('For children: a signature of a parent', 'Für Kinder: die Unterschrift eines Elternteils'))], 'ticks'), 'tinted')}`,
};

const fees: Page = {
  id: 'fees',
  slug: text('fees', 'gebuehren'),
  title: text('Fees and loans', 'Gebühren und Leihfristen'),
  summary: text(
    'What it costs, how long you may keep it, and what happens when you forget.',
    'Was es kostet, wie lange Sie es behalten dürfen und was passiert, wenn Sie es vergessen.',
  ),
  section: 'visit',
  parent: 'join',
  body: (c) =>
    `${section(
      c.t(text('Loan periods', 'Leihfristen')),
      table(
        c.t(text('Loan periods by kind of medium', 'Leihfristen nach Medienart')),
        [
          c.t(text('Medium', 'Medium')),
          c.t(text('Weeks', 'Wochen')),
          c.t(text('Renewals', 'Verlängerungen')),
          c.t(text('Reserve', 'Vormerken')),
        ],
        [
          [c.t(text('Books', 'Bücher')), '4', '2', '1 €'],
          [c.t(text('Magazines', 'Zeitschriften')), '2', '1', '–'],
          [c.t(text('Films and games', 'Filme und Spiele')), '2', '1', '1 €'],
          [c.t(text('Things: drills, tents, telescopes', 'Dinge: Bohrmaschinen, Zelte, Fernrohre')), '1', '–', '2 €'],
        ],
      ),
    )}${section(c.t(text('Late returns', 'Verspätete Rückgabe')), c.flaw('definition-list', 1, `<dl class="facts"><p>${c.t(text('For each medium and week:', 'Je Medium und Woche:'))}</p><dt>${c.t(text('Adults', 'Erwachsene'))}</dt><dd>1.50 €</dd><dt>${c.t(text('Children', 'Kinder'))}</dt><dd>0.50 €</dd></dl>`), 'tinted')}`,
};

const account: Page = {
  id: 'account',
  slug: text('my-account', 'mein-konto'),
  title: text('My account', 'Mein Konto'),
  summary: text(
    'Loans, reservations and fees, kept in your browser for this demonstration.',
    'Ausleihen, Vormerkungen und Gebühren, für diese Vorführung in Ihrem Browser.',
  ),
  section: 'none',
  scripts: ['account.js'],
  body: (
    c,
  ) => `<div class="wrap block"><nav class="tabs" aria-label="${c.t(text('Account', 'Konto'))}"><a href="#/loans">${c.t(text('Loans', 'Ausleihen'))}</a><a href="#/reservations">${c.t(text('Reservations', 'Vormerkungen'))}</a><a href="#/settings">${c.t(text('Settings', 'Einstellungen'))}</a></nav>
${c.flaw('aria-toggle-field-name', 1, `<div id="account" class="panel" aria-live="polite"><noscript>${c.t(text('Your account needs scripts.', 'Ihr Konto braucht Skripte.'))}</noscript></div>`)}</div>`,
};

const rooms: Page = {
  id: 'rooms',
  slug: text('rooms', 'raeume'),
  title: text('Rooms and equipment', 'Räume und Geräte'),
  summary: text('Book a room for your group, or one of our machines.', 'Buchen Sie einen Raum für Ihre Gruppe oder eines unserer Geräte.'),
  section: 'visit',
  parent: 'visit',
  image: 'workshop',
  body: (c) => `${section(
    c.t(text('Rooms', 'Räume')),
    table(
      c.t(text('Rooms for groups', 'Räume für Gruppen')),
      [
        c.t(text('Room', 'Raum')),
        c.t(text('People', 'Personen')),
        c.t(text('Equipment', 'Ausstattung')),
        c.t(text('An hour', 'Je Stunde')),
      ],
      [
        [c.t(text('Lime tree', 'Linde')), '8', c.t(text('Screen, whiteboard', 'Bildschirm, Tafel')), c.t(text('free', 'kostenlos'))],
        [c.t(text('River', 'Fluss')), '24', c.t(text('Projector, induction loop', 'Beamer, Induktionsschleife')), '12 €'],
        [c.t(text('Granary', 'Speicher')), '60', c.t(text('Stage, piano', 'Bühne, Klavier')), '30 €'],
      ],
    ),
  )}
${section(c.t(text('How full is it now?', 'Wie voll ist es gerade?')), c.flaw('aria-progressbar-name', 1, `<div class="gauge" role="progressbar" aria-valuenow="62" aria-valuemin="0" aria-valuemax="100"><span style="width:62%"></span></div><p>${c.t(text('62 of 100 seats in the learning centre are taken.', '62 von 100 Plätzen im Lernzentrum sind belegt.'))}</p>`), 'tinted')}
${section(c.t(text('Ask for a room', 'Raum anfragen')), form(c, `${choice(c, 'room', text('Room', 'Raum'), [text('Lime tree', 'Linde'), text('River', 'Fluss'), text('Granary', 'Speicher')])}${field(c, 'day', text('Day', 'Tag'), { type: 'date' })}${field(c, 'purpose', text('What for?', 'Wofür?'), { rows: 3 })}${c.flaw('aria-valid-attr-value', 1, `<p><button class="button quiet" type="button" aria-pressed="maybe">${c.t(text('Remind me the day before', 'Am Vortag erinnern'))}</button></p>`)}`, text('Ask', 'Anfragen')))}
${section(c.t(text('Calendar', 'Kalender')), `<p><a href="${c.href('rooms')}calendar/">${c.t(text('See the booking calendar', 'Zum Belegungskalender'))}</a></p>`)}`,
};

const contact: Page = {
  id: 'contact',
  slug: text('contact', 'kontakt'),
  title: text('Contact', 'Kontakt'),
  summary: text(
    'Write, call, or ask at the desk: somebody answers within two working days.',
    'Schreiben, anrufen oder an der Theke fragen: Innerhalb von zwei Werktagen antwortet jemand.',
  ),
  section: 'about',
  image: 'desk',
  body: (
    c,
  ) => `${section(c.t(text('Write to us', 'Schreiben Sie uns')), `<form class="form" method="post" action="${c.href('thanks')}">${field(c, 'from', text('Your name', 'Ihr Name'), { autocomplete: 'name' })}${field(c, 'reply', text('E-mail', 'E-Mail'), { type: 'email', autocomplete: 'email', required: true, hint: text('Only for our answer.', 'Nur für unsere Antwort.') })}${choice(c, 'about', text('What is it about?', 'Worum geht es?'), [text('A loan', 'Eine Ausleihe'), text('An event', 'Eine Veranstaltung'), text('Something else', 'Etwas anderes')])}${field(c, 'message', text('Message', 'Nachricht'), { rows: 5, required: true })}<div class="actions">${c.flaw('input-button-name', 1, '<input class="button quiet" type="button" value="">')}${c.flaw('input-image-alt', 1, '<input class="send" type="image" src="/img/send.svg" width="148" height="46">')}</div></form>`)}
${section(c.t(text('Call us', 'Rufen Sie an')), prose(`<a href="tel:+493410000000">+49 341 000 00 00</a>, ${c.t(text('Tuesday to Friday from 9 to 17', 'Dienstag bis Freitag von 9 bis 17 Uhr'))}`), 'tinted')}`,
};

const faq: Page = {
  id: 'faq',
  slug: text('questions', 'fragen'),
  title: text('Questions and answers', 'Fragen und Antworten'),
  summary: text('What we are asked most often.', 'Was wir am häufigsten gefragt werden.'),
  section: 'about',
  parent: 'contact',
  body: (c) => {
    const answer = (question: string, reply: string): string => `<details><summary>${question}</summary><p>${reply}</p></details>`;
    return section(
      c.t(text('Loans', 'Ausleihe')),
      [
        answer(
          c.t(text('How many media may I borrow?', 'Wie viele Medien darf ich ausleihen?')),
          c.t(
            text(
              'Thirty at a time. First you need <a href="/en/borrow/">a card</a>.',
              'Dreißig auf einmal. Zuerst brauchen Sie <a href="/de/ausleihe/">einen Ausweis</a>.',
            ),
          ),
        ),
        answer(
          c.t(text('May I eat in the library?', 'Darf ich in der Bibliothek essen?')),
          c.t(
            text('In the café and on the terrace. An apple is fine everywhere.', 'Im Café und auf der Terrasse. Ein Apfel geht überall.'),
          ),
        ),
        answer(
          c.t(text('I lost a book. What now?', 'Ich habe ein Buch verloren. Was nun?')),
          c.t(
            text(
              'Buy it again, or pay what it costs. Second-hand is welcome.',
              'Kaufen Sie es neu oder ersetzen Sie den Preis. Gebraucht ist willkommen.',
            ),
          ),
        ),
        c.flaw(
          'summary-name',
          1,
          `<details><summary></summary><p>${c.t(text('Dogs wait outside, at the bowl of water.', 'Hunde warten draußen, am Wassernapf.'))}</p></details>`,
        ),
      ].join(''),
    );
  },
};

const thanks: Page = {
  id: 'thanks',
  slug: text('thank-you', 'danke'),
  title: text('Thank you', 'Vielen Dank'),
  summary: text(
    'This is a demonstration: nothing was sent and nothing was kept.',
    'Dies ist eine Vorführung: Es wurde nichts gesendet und nichts gespeichert.',
  ),
  section: 'none',
  body: (c) =>
    section(
      c.t(text('What next?', 'Wie weiter?')),
      notice(`<a href="${c.href('home')}">${c.t(text('Back to the start page', 'Zurück zur Startseite'))}</a>`),
    ),
};

export const SERVICE_PAGES: readonly Page[] = [join, fees, account, rooms, contact, faq, thanks];
