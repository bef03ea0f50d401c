/** Polish texts of layouts, components and error pages. */
import type { WebTextsOf } from './texts.ts';

export const pl: WebTextsOf<'pl'> = {
  skip: 'Przejdź do głównej treści',
  language: 'Język',
  mainNavigation: 'Nawigacja główna',
  home: 'Strona główna Curbcut',
  apiReference: 'Dokumentacja API',
  signIn: 'Zaloguj się',
  dashboard: 'Panel',
  footer: 'Curbcut bada dostępność stron internetowych za pomocą axe-core w prawdziwej przeglądarce.',
  copy: 'Kopiuj',
  copied: 'Skopiowano',
  copyFailed: 'Nie udało się skopiować. Proszę zaznaczyć tekst i skopiować go ręcznie.',
  optional: 'opcjonalnie',
  problem: {
    one: 'Wykryto {n} problem',
    few: 'Wykryto {n} problemy',
    many: 'Wykryto {n} problemów',
    other: 'Wykryto {n} problemu',
  },
  previous: 'Poprzednia',
  next: 'Następna',
  pages: 'Strony',
  youAreHere: 'Tu Państwo są',
  severities: { critical: 'Krytyczne', serious: 'Poważne', moderate: 'Umiarkowane', minor: 'Drobne' },
  errors: {
    invalid: {
      title: 'Nie można przetworzyć tego żądania',
      text: 'Proszę wrócić, sprawdzić wprowadzone dane i wysłać je ponownie.',
    },
    forbidden: {
      title: 'Brak uprawnień',
      text: 'To konto nie ma potrzebnych uprawnień. Proszę zwrócić się do właściciela organizacji.',
    },
    blocked: {
      title: 'To konto jest zablokowane',
      text: 'Organizacja jest zablokowana: nie można przeglądać ani uruchamiać badań. Proszę zwrócić się do operatora tej usługi.',
    },
    missing: {
      title: 'Nie znaleziono strony',
      text: 'Proszę sprawdzić adres. Jeśli prowadził tu odnośnik, strona została przeniesiona albo już nie istnieje.',
    },
    method: {
      title: 'Ta strona nie obsługuje tej czynności',
      text: 'Proszę wrócić i skorzystać z przycisków i odnośników na stronie.',
    },
    tooLarge: { title: 'Tekst jest za długi', text: 'Proszę wrócić, skrócić wprowadzone dane i wysłać je ponownie.' },
    expired: {
      title: 'Formularz wygasł',
      text: 'Proszę wrócić, odświeżyć stronę i wysłać formularz ponownie.',
    },
    crossSite: { title: 'Ten formularz pochodzi z innej witryny', text: 'Proszę otworzyć stronę tej usługi i wysłać jej formularz.' },
    tooMany: { title: 'Zbyt wiele żądań', text: 'Proszę chwilę odczekać i spróbować ponownie.' },
    internal: {
      title: 'Wystąpił błąd',
      text: 'Błąd leży po naszej stronie i został zapisany. Proszę spróbować później.',
    },
    unavailable: {
      title: 'Usługa jest chwilowo niedostępna',
      text: 'Część usługi nie działa. Proszę spróbować za chwilę.',
    },
    unconfirmed: {
      title: 'Nie wiadomo, czy to zostało wykonane',
      text: 'Część usługi przestała odpowiadać. Przed ponownym wysłaniem proszę sprawdzić, czy zmiana została wprowadzona.',
    },
    busy: { title: 'Usługa jest zajęta', text: 'Trwa obsługa zbyt wielu żądań tego rodzaju. Proszę spróbować za chwilę.' },
  },
  requestId: 'Zgłaszając ten problem, proszę podać numer żądania {id}.',
  goHome: 'Przejdź do strony głównej',
  goBack: 'Wróć',
  retryIn: {
    one: 'Proszę spróbować ponownie za {n} sekundę.',
    few: 'Proszę spróbować ponownie za {n} sekundy.',
    many: 'Proszę spróbować ponownie za {n} sekund.',
    other: 'Proszę spróbować ponownie za {n} sekundy.',
  },
};
