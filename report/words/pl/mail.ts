/** The words of mails, without those of the report in them. */
import type { Translated } from '../translated.ts';

export const mail: Translated<'mail', 'pl'> = {
  automatic: 'Ta wiadomość została wysłana automatycznie przez Curbcut pod adresem {host}. Odpowiedzi nie są czytane.',
  linkFallback: 'Jeśli przycisk nie działa, proszę otworzyć ten adres:',
  statusPage: 'Otwórz stronę stanu',
  validUntil: 'Link działa jeden raz, do {date}.',
  result: {
    testedAt: 'Data testu',
    done: {
      subject: {
        one: 'Dostępność {site}: {n} naruszenie',
        few: 'Dostępność {site}: {n} naruszenia',
        many: 'Dostępność {site}: {n} naruszeń',
        other: 'Dostępność {site}: {n} naruszenia',
      },
      subjectNone: 'Dostępność {site}: nie znaleziono naruszeń',
      heading: 'Wynik testu dostępności',
      summary: {
        one: 'Test automatyczny wykrył {n} naruszenie na tej stronie.',
        few: 'Test automatyczny wykrył {n} naruszenia na tej stronie.',
        many: 'Test automatyczny wykrył {n} naruszeń na tej stronie.',
        other: 'Test automatyczny wykrył {n} naruszenia na tej stronie.',
      },
      summaryNone:
        'Test automatyczny nie wykrył naruszeń na tej stronie. Testy automatyczne obejmują tylko część wymagań; zalecamy także sprawdzenie strony za pomocą klawiatury i czytnika ekranu.',
      more: {
        one: 'Strona wyniku pokazuje jeszcze {n} przyczynę.',
        few: 'Strona wyniku pokazuje jeszcze {n} przyczyny.',
        many: 'Strona wyniku pokazuje jeszcze {n} przyczyn.',
        other: 'Strona wyniku pokazuje jeszcze {n} przyczyny.',
      },
      review: {
        one: 'W sprawie {n} elementu testy nie mogły rozstrzygnąć. Strona wyniku podaje, co sprawdzić.',
        few: 'W sprawie {n} elementów testy nie mogły rozstrzygnąć. Strona wyniku podaje, co sprawdzić.',
        many: 'W sprawie {n} elementów testy nie mogły rozstrzygnąć. Strona wyniku podaje, co sprawdzić.',
        other: 'W sprawie {n} elementu testy nie mogły rozstrzygnąć. Strona wyniku podaje, co sprawdzić.',
      },
      incomplete: 'Niektórych części strony nie udało się sprawdzić. Na stronie wyniku podano, czego może brakować.',
      button: 'Otwórz pełny wynik',
    },
    failed: {
      subject: 'Test dostępności {site} nie powiódł się',
      heading: 'Test nie powiódł się',
      todo: 'Co można zrobić',
      steps: [
        'Proszę otworzyć adres w prywatnym oknie przeglądarki. Strona musi się wczytać bez logowania.',
        'Proszę sprawdzić, czy zapora sieciowa lub ochrona przed botami nie blokuje zautomatyzowanych przeglądarek.',
        'Następnie proszę zamówić nowy test.',
      ],
    },
    canceled: {
      subject: 'Test dostępności {site} został anulowany',
      heading: 'Test został anulowany',
      intro: 'Test tej strony został anulowany przed zakończeniem, dlatego nie ma wyniku. Nowy test można zamówić w dowolnej chwili.',
    },
    reason: 'Otrzymują Państwo tę wiadomość, ponieważ ktoś zamówił test pod adresem {host} i podał ten adres e-mail.',
    unsubscribe: 'Rezygnacja z otrzymywania wyników testów',
  },
  invitation: {
    subject: 'Zaproszenie do organizacji {organisation} w Curbcut',
    heading: 'Zaproszenie do organizacji {organisation}',
    intro: '{invitedBy} zaprasza do panelu dostępności organizacji {organisation} w Curbcut.',
    button: 'Przyjmij zaproszenie',
    ignore: 'Jeśli nie spodziewali się Państwo tego zaproszenia, proszę zignorować tę wiadomość.',
  },
  accountNotice: {
    sign_in: {
      subject: 'Nowe logowanie na konto Curbcut',
      heading: 'Logowanie z nowej sieci',
      intro: 'Ktoś zalogował się na Państwa konto w serwisie {host} z sieci, która nie była dotąd używana.',
    },
    password: {
      subject: 'Hasło do konta Curbcut zostało zmienione',
      heading: 'Hasło zostało zmienione',
      intro: 'Hasło do Państwa konta w serwisie {host} zostało zmienione.',
    },
    factors: {
      subject: 'Drugie składniki konta Curbcut zostały zmienione',
      heading: 'Drugie składniki zostały zmienione',
      intro: 'Drugi składnik lub kody odzyskiwania Państwa konta w serwisie {host} zostały zmienione.',
    },
    at: 'Czas',
    network: 'Sieć',
    browser: 'Przeglądarka',
    ignore: 'Jeśli to Państwo, nie trzeba nic robić.',
    byAdministrator: 'Zmiany dokonała administracja serwisu. Jeśli stało się to na Państwa prośbę, nie trzeba nic robić.',
    todo: 'Jeśli to nie Państwo',
    steps: [
      'Proszę otworzyć konto i wylogować się wszędzie.',
      'Proszę ustawić nowe hasło, którego nie używają Państwo nigdzie indziej.',
      'Proszę zawiadomić właściciela organizacji. Dziennik audytu pokazuje, co zrobiono.',
    ],
    button: 'Otwórz konto',
  },
  passwordReset: {
    subject: 'Ustawienie nowego hasła do Curbcut',
    heading: 'Ustawienie nowego hasła',
    intro: 'Ktoś poprosił o link do ustawienia nowego hasła do Państwa konta pod adresem {host}.',
    button: 'Ustaw nowe hasło',
    ignore: 'Jeśli to nie Państwo, proszę zignorować tę wiadomość. Hasło pozostaje bez zmian.',
  },
  webhookStopped: {
    subject: 'Webhook organizacji {organisation} jest wyłączony',
    heading: 'Webhook jest wyłączony',
    intro: 'Serwis {host} nie wysyła już nic do webhooka {webhook} organizacji {organisation}.',
    gone: 'Punkt końcowy {endpoint} odpowiedział, że już nie istnieje (410).',
    failing: 'Każda próba doręczenia do {endpoint} od {date} zakończyła się niepowodzeniem.',
    lost: 'To, co wydarzy się do ponownego włączenia, nie zostanie doręczone.',
    button: 'Otwórz webhook',
  },
};
