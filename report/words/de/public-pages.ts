/** The words of the public pages, without those of the report in them. */
import type { Translated } from '../translated.ts';

export const publicPages: Translated<'publicPages', 'de'> = {
  home: {
    title: 'Finden Sie die Barrieren auf Ihrer Seite',
    lead: 'Curbcut öffnet Ihre Seite in einem echten Browser, prüft sie nach WCAG und erklärt, wie Sie die gefundenen Barrieren beheben.',
    description:
      'Prüfen Sie eine Webseite kostenlos auf Barrierefreiheit: welche Barrieren es gibt, warum sie stören und wie man sie behebt.',
    formTitle: 'Eine Seite kostenlos prüfen',
    url: 'Adresse der Seite',
    urlHint: 'Zum Beispiel https://example.com/. Die Seite muss öffentlich sein.',
    email: 'Ihre E-Mail-Adresse',
    emailHint: 'Wir senden Ihnen das Ergebnis dorthin, sonst nichts.',
    botCheck: 'Prüfung, dass Sie kein Programm sind',
    botCheckNeedsScripts: 'Diese Prüfung benötigt JavaScript. Bitte erlauben Sie JavaScript für diese Seite und laden Sie sie neu.',
    submit: 'Diese Seite prüfen',
    disabled: {
      title: 'Kostenlose Prüfungen sind hier abgeschaltet',
      text: 'Diese Installation prüft nur Seiten für ihre eigenen Organisationen. Wenn Sie ein Konto haben, melden Sie sich im Dashboard an; Programme verwenden die API mit einem Schlüssel.',
    },
    getTitle: 'Das erhalten Sie',
    get: [
      'Eine Punktzahl und die Zahl der Verstöße, nach Schweregrad',
      'Jede Ursache mit ihrem Element, warum sie wichtig ist und wie Sie sie beheben',
      'Das Ergebnis auf einer eigenen Seite und per E-Mail',
    ],
    getIn: 'Das Ergebnis auf einer eigenen Seite und per E-Mail, in {time}',
    honest: {
      title: 'Was eine solche Prüfung aussagt',
      text: 'Automatische Tests finden nur einen Teil der Barrieren einer Seite. Den Rest müssen Menschen beurteilen, am besten Menschen mit Behinderungen. Ein gutes Ergebnis ist ein guter Anfang, kein Nachweis.',
    },
    usesTitle: 'Mehr als eine einzelne Seite',
    ci: {
      title: 'In Ihrer Pipeline',
      text: 'Eine Anfrage prüft eine ganze Website und lässt den Build nach Ihren Schwellenwerten gelingen oder scheitern.',
    },
    kubernetes: {
      title: 'In Ihrem Cluster',
      text: 'Prüfungen und Zeitpläne sind Kubernetes-Ressourcen: Sie können sie anwenden, beobachten und in Git verwalten.',
    },
    people: {
      title: 'Für Ihr Team',
      text: 'Das Dashboard zeigt jede Prüfung live, den Verlauf jeder Website und was seit dem letzten Mal neu oder behoben ist.',
    },
    readMore: 'API-Referenz lesen',
  },
  refused: {
    urlMissing: 'Bitte geben Sie die Adresse der Seite ein.',
    urlInvalid: 'Bitte geben Sie eine vollständige Adresse ein, zum Beispiel https://example.com/.',
    urlTooLong: 'Bitte geben Sie eine Adresse mit höchstens {max} Zeichen ein.',
    urlScheme: 'Bitte geben Sie eine Adresse ein, die mit https:// oder http:// beginnt.',
    urlCredentials: 'Bitte geben Sie die Adresse ohne Benutzernamen und Passwort ein.',
    urlPort: 'Bitte geben Sie eine Adresse mit Port 80, 443 oder ab 1024 ein.',
    urlPrivate: 'Bitte geben Sie die Adresse einer öffentlichen Seite ein. Diese gehört zu einem privaten Netz.',
    urlUnresolvable: 'Bitte prüfen Sie die Adresse: Es gibt keine Website mit diesem Namen.',
    emailMissing: 'Bitte geben Sie Ihre E-Mail-Adresse ein.',
    emailInvalid: 'Bitte geben Sie eine vollständige E-Mail-Adresse ein, zum Beispiel name@example.com.',
    rateLimited: 'Sie haben die Höchstzahl kostenloser Prüfungen erreicht. Bitte versuchen Sie es {when} erneut.',
    turnstileRefused: 'Die Prüfung, dass Sie kein Programm sind, ist fehlgeschlagen oder hat zu lange gedauert. Bitte wiederholen Sie sie.',
    turnstileUnavailable:
      'Die Prüfung, dass Sie kein Programm sind, ist zurzeit nicht verfügbar. Bitte versuchen Sie es in einer Minute erneut.',
    inProgress: 'Ihre Anfrage für diese Seite wird bereits bearbeitet. Bitte versuchen Sie es in einer Minute erneut.',
    dnsUnavailable: 'Die Adresse konnte gerade nicht nachgeschlagen werden. Bitte versuchen Sie es in einer Minute erneut.',
    queuePaused: 'Prüfungen sind zurzeit angehalten. Bitte versuchen Sie es in einigen Minuten erneut.',
    busy: 'Zurzeit laufen zu viele Prüfungen. Bitte versuchen Sie es in einigen Minuten erneut.',
    disabled: 'Kostenlose Prüfungen sind hier abgeschaltet.',
    internal:
      'Die Prüfung konnte nicht gestartet werden. Der Fehler liegt bei uns und wurde aufgezeichnet. Bitte versuchen Sie es später erneut.',
  },
  aboutSeconds: { one: 'etwa {n} Sekunde', other: 'etwa {n} Sekunden' },
  aboutMinutes: { one: 'etwa {n} Minute', other: 'etwa {n} Minuten' },
  inMinutes: { one: 'in {n} Minute', other: 'in {n} Minuten' },
  inHours: { one: 'in {n} Stunde', other: 'in {n} Stunden' },
  waiting: {
    title: 'Wir prüfen {site}',
    state: 'Stand',
    states: {
      queued: 'Wartet, bis sie an der Reihe ist',
      crawling: 'Die Seite wird geöffnet',
      scanning: 'Die Seite wird geprüft',
      aggregating: 'Die Ergebnisse werden geordnet',
      generating: 'Der Bericht wird geschrieben',
    },
    position: { one: 'Vor Ihrer Prüfung ist noch {n} andere.', other: 'Vor Ihrer Prüfung sind noch {n} andere.' },
    next: 'Ihre Prüfung ist die nächste.',
    progress: 'Fortschritt der Prüfung',
    estimate: 'Das Ergebnis sollte in {time} da sein.',
    mail: 'Sie können diese Seite schließen: Wir senden Ihnen das Ergebnis auch per E-Mail.',
    noMail:
      'Bitte behalten Sie die Adresse dieser Seite: Wir senden keine E-Mail, weil Ihre Adresse abgemeldet ist oder unsere E-Mails ablehnt.',
    again: 'Erneut nachsehen',
    noScripts: 'Ohne JavaScript aktualisiert sich diese Seite nicht selbst.',
  },
  result: {
    title: 'Ergebnis für {site}',
    scoreMeaning: 'Der Anteil der zutreffenden Regeln, die die Seite erfüllt. Schwerwiegende Regeln zählen mehr.',
    none: {
      title: 'Die automatischen Tests fanden keine Verstöße',
      text: 'Das ist ein guter Anfang. Was nur Menschen beurteilen können, wurde nicht geprüft.',
    },
    found: { one: '{n} Verstoß gefunden', other: '{n} Verstöße gefunden' },
    foundText: 'Ein Verstoß ist ein Element, das eine Regel nicht erfüllt. Elemente mit derselben Ursache stehen unten zusammen.',
    fixTitle: 'Das sollten Sie beheben',
    fixIntro: 'Ein Eintrag für jede Ursache, die schwersten zuerst.',
    criteria: 'WCAG-Erfolgskriterien',
    moreCauses: { one: '{n} weitere Ursache wird hier nicht gezeigt.', other: '{n} weitere Ursachen werden hier nicht gezeigt.' },
    all: { one: 'Das einzige Element zeigen', other: 'Alle {n} Elemente zeigen' },
    reviewIntro:
      'Bei diesen Elementen konnten die Tests nicht entscheiden. Vielleicht sind sie in Ordnung: Bitte sehen Sie sich jedes an. Sie zählen nicht als Verstöße und ändern die Punktzahl nicht.',
    reviewMark: 'Das muss ein Mensch prüfen',
    gapsTitle: 'Was fehlen kann',
    frames: { one: '{n} Frame der Seite wurde nicht geprüft.', other: '{n} Frames der Seite wurden nicht geprüft.' },
    pictureAlt: 'Bild der Seite: Das betroffene Element ist umrandet. {help}',
    anotherTitle: 'Erneut prüfen',
    another: 'Eine andere Seite prüfen',
    ready: 'Das Ergebnis ist da.',
    missing: {
      title: 'Die Einzelheiten sind nicht verfügbar',
      text: 'Die Prüfung ist beendet, aber die Einzelheiten können nicht gezeigt werden. Bitte prüfen Sie die Seite noch einmal.',
    },
  },
  share: {
    title: 'Ergebnis aufbewahren und teilen',
    pdf: 'Als PDF herunterladen',
    private:
      'Nur wer die Adresse dieser Seite hat, kann das Ergebnis sehen. Ein Link zum Teilen zeigt das Ergebnis und sonst nichts, und Sie können ihn zurücknehmen.',
    create: 'Link zum Teilen anlegen',
    link: 'Link zum Teilen',
    shared: 'Wer diesen Link hat, kann das Ergebnis bis zum {date} sehen.',
    revoke: 'Link zurücknehmen',
  },
  failed: {
    title: 'Die Prüfung von {site} ist fehlgeschlagen',
    reasons: {
      unreachable:
        'Die Seite ließ sich nicht laden. Bitte sehen Sie nach, ob sich die Adresse in einem privaten Browserfenster ohne Anmeldung öffnen lässt.',
      refused: 'Die Adresse führt zu einem Ort, den dieser Dienst nicht öffnen darf, zum Beispiel in ein privates Netz.',
      notHtml: 'Die Adresse führt nicht zu einer Webseite. Bitte geben Sie die Adresse einer Seite ein, nicht die einer Datei.',
      untestable:
        'Die Seite wurde geladen, ließ sich aber nicht prüfen. Vielleicht verlangt sie eine Anmeldung, sperrt automatisierte Browser oder zeigt nichts an.',
      signIn: 'Die Website hat die Anmeldung nicht angenommen.',
      prepare: 'Ein Schritt vor der Prüfung der Seite ist fehlgeschlagen.',
      robots:
        'Die robots.txt der Website erlaubt Programmen nicht, diese Seite zu öffnen. Wenn es Ihre Website ist, erlauben Sie die Seite bitte dort.',
      tooSlow:
        'Die Seite brauchte zu lange zum Laden oder Prüfen. Bitte versuchen Sie es noch einmal, wenn die Website schneller antwortet.',
      tooLarge: 'Die Seite hat mehr Befunde, als in einen Bericht passen.',
      crashed: 'Der Browser wurde während der Prüfung beendet. Vielleicht braucht die Seite mehr Speicher, als eine Prüfung hat.',
      ours: 'Die Prüfung ist durch einen Fehler auf unserer Seite fehlgeschlagen. Ihre Seite ist nicht die Ursache. Bitte versuchen Sie es später noch einmal.',
    },
    notCounted: 'Diese Prüfung zählt nicht zu den kostenlosen Prüfungen, die Sie pro Tag anfordern können.',
    details: 'Technische Einzelheiten (auf Englisch)',
  },
  canceled: {
    title: 'Die Prüfung von {site} wurde abgebrochen',
    text: 'Sie endete, bevor es ein Ergebnis gab. Bitte prüfen Sie die Seite noch einmal.',
  },
  again: 'Diese Seite noch einmal prüfen',
  unknown: {
    title: 'Dieses Ergebnis gibt es nicht oder nicht mehr',
    text: 'Ergebnisse werden nach einiger Zeit gelöscht, und ein Link zum Teilen kann zurückgenommen werden. Bitte sehen Sie nach, ob die Adresse vollständig ist, oder prüfen Sie die Seite noch einmal.',
  },
  unsubscribe: {
    title: 'Prüfergebnisse abbestellen',
    question: 'Wir senden dann keine Ergebnisse öffentlicher Prüfungen mehr an Ihre E-Mail-Adresse, wer auch immer sie anfordert.',
    unsubscribe: 'Abbestellen',
    doneTitle: 'Sie haben die Ergebnisse abbestellt',
    done: 'Wir senden keine Ergebnisse öffentlicher Prüfungen mehr an Ihre E-Mail-Adresse. Sie können das jederzeit ändern.',
    resubscribe: 'Ergebnisse wieder erhalten',
    unknownTitle: 'Dieser Link ist nicht gültig',
    unknown:
      'Der Link ist unvollständig oder abgelaufen. Verwenden Sie den Abmeldelink der letzten E-Mail, die Sie von uns erhalten haben.',
    stillSent: 'Einladungen und Links für ein neues Passwort erhalten Sie weiterhin.',
  },
};
