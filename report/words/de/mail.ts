/** The words of mails, without those of the report in them. */
import type { Translated } from '../translated.ts';

export const mail: Translated<'mail', 'de'> = {
  automatic: 'Diese E-Mail wurde automatisch von Curbcut auf {host} gesendet. Antworten werden nicht gelesen.',
  linkFallback: 'Falls die Schaltfläche nicht funktioniert, öffnen Sie diese Adresse:',
  statusPage: 'Statusseite öffnen',
  validUntil: 'Der Link funktioniert einmal, bis zum {date}.',
  result: {
    testedAt: 'Geprüft am',
    done: {
      subject: { one: 'Barrierefreiheit von {site}: {n} Verstoß', other: 'Barrierefreiheit von {site}: {n} Verstöße' },
      subjectNone: 'Barrierefreiheit von {site}: keine Verstöße gefunden',
      heading: 'Ihr Ergebnis zur Barrierefreiheit',
      summary: {
        one: 'Der automatische Test fand {n} Verstoß auf dieser Seite.',
        other: 'Der automatische Test fand {n} Verstöße auf dieser Seite.',
      },
      summaryNone:
        'Der automatische Test fand keine Verstöße auf dieser Seite. Automatische Tests decken nur einen Teil der Anforderungen ab; testen Sie bitte auch mit der Tastatur und einem Screenreader.',
      more: { one: 'Die Ergebnisseite zeigt {n} weitere Ursache.', other: 'Die Ergebnisseite zeigt {n} weitere Ursachen.' },
      review: {
        one: 'Bei {n} Element konnten die Tests nicht entscheiden. Die Ergebnisseite sagt, was zu prüfen ist.',
        other: 'Bei {n} Elementen konnten die Tests nicht entscheiden. Die Ergebnisseite sagt, was zu prüfen ist.',
      },
      incomplete: 'Teile der Seite konnten nicht geprüft werden. Die Ergebnisseite sagt, was fehlen kann.',
      button: 'Vollständiges Ergebnis öffnen',
    },
    failed: {
      subject: 'Die Prüfung der Barrierefreiheit von {site} ist fehlgeschlagen',
      heading: 'Die Prüfung ist fehlgeschlagen',
      todo: 'Was Sie tun können',
      steps: [
        'Öffnen Sie die Adresse in einem privaten Browserfenster. Sie muss ohne Anmeldung laden.',
        'Prüfen Sie, ob eine Firewall oder ein Bot-Schutz automatisierte Browser blockiert.',
        'Fordern Sie danach eine neue Prüfung an.',
      ],
    },
    canceled: {
      subject: 'Die Prüfung der Barrierefreiheit von {site} wurde abgebrochen',
      heading: 'Die Prüfung wurde abgebrochen',
      intro:
        'Die Prüfung dieser Seite wurde vor ihrem Ende abgebrochen. Es gibt daher kein Ergebnis. Sie können jederzeit eine neue Prüfung anfordern.',
    },
    reason: 'Sie erhalten diese E-Mail, weil jemand auf {host} eine Prüfung angefordert und diese Adresse angegeben hat.',
    unsubscribe: 'Prüfergebnisse abbestellen',
  },
  invitation: {
    subject: 'Einladung zu {organisation} bei Curbcut',
    heading: 'Einladung zu {organisation}',
    intro: '{invitedBy} lädt Sie zum Dashboard für Barrierefreiheit von {organisation} bei Curbcut ein.',
    button: 'Einladung annehmen',
    ignore: 'Falls Sie diese Einladung nicht erwartet haben, ignorieren Sie diese E-Mail.',
  },
  accountNotice: {
    sign_in: {
      subject: 'Neue Anmeldung bei Ihrem Curbcut-Konto',
      heading: 'Anmeldung aus einem neuen Netz',
      intro: 'Jemand hat sich bei Ihrem Konto auf {host} aus einem Netz angemeldet, das Sie bisher nicht benutzt haben.',
    },
    password: {
      subject: 'Ihr Curbcut-Passwort wurde geändert',
      heading: 'Ihr Passwort wurde geändert',
      intro: 'Das Passwort Ihres Kontos auf {host} wurde geändert.',
    },
    factors: {
      subject: 'Die zweiten Faktoren Ihres Curbcut-Kontos wurden geändert',
      heading: 'Ihre zweiten Faktoren wurden geändert',
      intro: 'Ein zweiter Faktor oder die Wiederherstellungscodes Ihres Kontos auf {host} wurden geändert.',
    },
    at: 'Zeit',
    network: 'Netz',
    browser: 'Browser',
    ignore: 'Wenn Sie es waren, müssen Sie nichts tun.',
    byAdministrator: 'Die Administration des Dienstes hat das geändert. Wenn Sie darum gebeten haben, müssen Sie nichts tun.',
    todo: 'Wenn Sie es nicht waren',
    steps: [
      'Öffnen Sie Ihr Konto und melden Sie sich überall ab.',
      'Legen Sie ein neues Passwort fest, das Sie nirgends sonst benutzen.',
      'Informieren Sie einen Inhaber Ihrer Organisation. Das Audit-Protokoll zeigt, was getan wurde.',
    ],
    button: 'Konto öffnen',
  },
  passwordReset: {
    subject: 'Neues Passwort für Curbcut festlegen',
    heading: 'Neues Passwort festlegen',
    intro: 'Jemand hat einen Link angefordert, um ein neues Passwort für Ihr Konto auf {host} festzulegen.',
    button: 'Neues Passwort festlegen',
    ignore: 'Falls Sie das nicht waren, ignorieren Sie diese E-Mail. Ihr Passwort bleibt unverändert.',
  },
  webhookStopped: {
    subject: 'Ein Webhook von {organisation} ist abgeschaltet',
    heading: 'Ein Webhook ist abgeschaltet',
    intro: '{host} sendet nicht mehr an den Webhook {webhook} von {organisation}.',
    gone: 'Der Endpunkt {endpoint} hat geantwortet, dass es ihn nicht mehr gibt (410).',
    failing: 'Seit dem {date} ist jeder Versuch einer Zustellung an {endpoint} gescheitert.',
    lost: 'Was geschieht, bis Sie ihn wieder einschalten, wird nicht zugestellt.',
    button: 'Webhook öffnen',
  },
};
