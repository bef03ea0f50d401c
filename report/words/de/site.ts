/** The words of layouts, components and error pages. */
import type { Translated } from '../translated.ts';

export const site: Translated<'site', 'de'> = {
  name: 'Deutsch',
  skip: 'Zum Hauptinhalt springen',
  language: 'Sprache',
  mainNavigation: 'Hauptnavigation',
  home: 'Startseite von Curbcut',
  documentation: 'Dokumentation',
  signIn: 'Anmelden',
  dashboard: 'Dashboard',
  footer: 'Curbcut prüft Webseiten mit axe-core in einem echten Browser auf Barrierefreiheit.',
  copy: 'Kopieren',
  copied: 'Kopiert',
  copyFailed: 'Das Kopieren ist nicht gelungen. Bitte markieren Sie den Text und kopieren Sie ihn selbst.',
  optional: 'freiwillig',
  problem: { one: 'Es gibt {n} Problem', other: 'Es gibt {n} Probleme' },
  previous: 'Zurück',
  next: 'Weiter',
  pages: 'Seiten',
  youAreHere: 'Sie sind hier',
  errors: {
    invalid: {
      title: 'Diese Anfrage kann nicht verarbeitet werden',
      text: 'Bitte gehen Sie zurück, prüfen Sie Ihre Angaben und senden Sie sie noch einmal.',
    },
    forbidden: {
      title: 'Dazu fehlt Ihnen die Berechtigung',
      text: 'Ihr Konto hat dafür keine Berechtigung. Bitte wenden Sie sich an die Inhaberin oder den Inhaber Ihrer Organisation.',
    },
    blocked: {
      title: 'Dieses Konto ist gesperrt',
      text: 'Ihre Organisation ist gesperrt und kann keine Prüfungen sehen oder starten. Bitte wenden Sie sich an den Betreiber dieses Dienstes.',
    },
    missing: {
      title: 'Seite nicht gefunden',
      text: 'Bitte prüfen Sie die Adresse. Wenn Sie einem Link gefolgt sind, wurde die Seite verschoben oder gelöscht.',
    },
    method: {
      title: 'Das ist auf dieser Seite nicht möglich',
      text: 'Bitte gehen Sie zurück und verwenden Sie die Schaltflächen und Links der Seite.',
    },
    tooLarge: { title: 'Der Text ist zu lang', text: 'Bitte gehen Sie zurück, kürzen Sie Ihre Angaben und senden Sie sie noch einmal.' },
    expired: {
      title: 'Dieses Formular ist abgelaufen',
      text: 'Bitte gehen Sie zurück, laden Sie die Seite neu und senden Sie das Formular noch einmal.',
    },
    crossSite: {
      title: 'Dieses Formular kam von einer anderen Website',
      text: 'Bitte öffnen Sie die Seite dieses Dienstes und senden Sie deren Formular.',
    },
    tooMany: { title: 'Zu viele Anfragen', text: 'Bitte warten Sie etwas und versuchen Sie es dann erneut.' },
    internal: {
      title: 'Es ist ein Fehler aufgetreten',
      text: 'Der Fehler liegt bei uns und wurde aufgezeichnet. Bitte versuchen Sie es später erneut.',
    },
    unavailable: {
      title: 'Der Dienst ist vorübergehend nicht verfügbar',
      text: 'Ein Teil des Dienstes ist ausgefallen. Bitte versuchen Sie es gleich noch einmal.',
    },
    unconfirmed: {
      title: 'Es ist unklar, ob dies ausgeführt wurde',
      text: 'Ein Teil des Dienstes hat nicht mehr geantwortet. Prüfen Sie, ob Ihre Eingabe wirksam wurde, bevor Sie sie noch einmal senden.',
    },
    busy: {
      title: 'Der Dienst ist ausgelastet',
      text: 'Zu viele Anfragen dieser Art werden gerade bearbeitet. Bitte versuchen Sie es gleich noch einmal.',
    },
  },
  requestId: 'Wenn Sie das Problem melden, nennen Sie bitte die Anfrage {id}.',
  goHome: 'Zur Startseite',
  retryIn: { one: 'Versuchen Sie es in {n} Sekunde erneut.', other: 'Versuchen Sie es in {n} Sekunden erneut.' },
};
