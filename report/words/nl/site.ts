/** The words of layouts, components and error pages. */
import type { Translated } from '../translated.ts';

export const site: Translated<'site', 'nl'> = {
  name: 'Nederlands',
  skip: 'Naar de hoofdinhoud',
  language: 'Taal',
  mainNavigation: 'Hoofdnavigatie',
  home: 'Startpagina van Curbcut',
  documentation: 'Documentatie',
  signIn: 'Inloggen',
  dashboard: 'Dashboard',
  footer: 'Curbcut test webpagina’s op toegankelijkheid met axe-core in een echte browser.',
  copy: 'Kopiëren',
  copied: 'Gekopieerd',
  copyFailed: 'Het kopiëren is mislukt. Selecteer de tekst en kopieer die zelf.',
  optional: 'niet verplicht',
  problem: { one: 'Er is {n} probleem', other: 'Er zijn {n} problemen' },
  previous: 'Vorige',
  next: 'Volgende',
  pages: 'Pagina’s',
  youAreHere: 'U bent hier',
  errors: {
    invalid: { title: 'Deze aanvraag kan niet worden verwerkt', text: 'Ga terug, controleer wat u hebt ingevuld en verstuur het opnieuw.' },
    forbidden: {
      title: 'U hebt hiervoor geen rechten',
      text: 'Uw account heeft hiervoor geen rechten. Vraag een eigenaar van uw organisatie om hulp.',
    },
    blocked: {
      title: 'Dit account is geblokkeerd',
      text: 'Uw organisatie is geblokkeerd en kan geen scans bekijken of starten. Neem contact op met de beheerder van deze dienst.',
    },
    missing: {
      title: 'Pagina niet gevonden',
      text: 'Controleer het adres. Als u een link hebt gevolgd, is de pagina verplaatst of bestaat deze niet meer.',
    },
    method: { title: 'Dat kan niet op deze pagina', text: 'Ga terug en gebruik de knoppen en links van de pagina.' },
    tooLarge: { title: 'De tekst is te lang', text: 'Ga terug, maak uw invoer korter en verstuur die opnieuw.' },
    expired: { title: 'Dit formulier is verlopen', text: 'Ga terug, laad de pagina opnieuw en verstuur het formulier nog een keer.' },
    crossSite: { title: 'Dit formulier kwam van een andere site', text: 'Open de pagina van deze dienst en verstuur het formulier daar.' },
    tooMany: { title: 'Te veel aanvragen', text: 'Wacht even en probeer het daarna opnieuw.' },
    internal: { title: 'Er is iets misgegaan', text: 'De fout ligt bij ons en is vastgelegd. Probeer het later opnieuw.' },
    unavailable: {
      title: 'De dienst is tijdelijk niet beschikbaar',
      text: 'Een deel van de dienst is uitgevallen. Probeer het zo dadelijk opnieuw.',
    },
    unconfirmed: {
      title: 'Het is niet zeker of dit is uitgevoerd',
      text: 'Een deel van de dienst gaf geen antwoord meer. Controleer of uw invoer is verwerkt voordat u die opnieuw verzendt.',
    },
    busy: { title: 'De dienst is bezet', text: 'Er worden te veel verzoeken van deze soort verwerkt. Probeer het zo dadelijk opnieuw.' },
  },
  requestId: 'Vermeld aanvraag {id} als u dit probleem meldt.',
  goHome: 'Naar de startpagina',
  retryIn: { one: 'Probeer het over {n} seconde opnieuw.', other: 'Probeer het over {n} seconden opnieuw.' },
};
