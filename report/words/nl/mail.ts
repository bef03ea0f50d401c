/** The words of mails, without those of the report in them. */
import type { Translated } from '../translated.ts';

export const mail: Translated<'mail', 'nl'> = {
  automatic: 'Deze e-mail is automatisch verzonden door Curbcut op {host}. Antwoorden worden niet gelezen.',
  linkFallback: 'Werkt de knop niet, open dan dit adres:',
  statusPage: 'Statuspagina openen',
  validUntil: 'De link werkt één keer, tot {date}.',
  result: {
    testedAt: 'Getest op',
    done: {
      subject: { one: 'Toegankelijkheid van {site}: {n} overtreding', other: 'Toegankelijkheid van {site}: {n} overtredingen' },
      subjectNone: 'Toegankelijkheid van {site}: geen overtredingen gevonden',
      heading: 'Uw toegankelijkheidsresultaat',
      summary: {
        one: 'De geautomatiseerde test heeft {n} overtreding op deze pagina gevonden.',
        other: 'De geautomatiseerde test heeft {n} overtredingen op deze pagina gevonden.',
      },
      summaryNone:
        'De geautomatiseerde test heeft geen overtredingen op deze pagina gevonden. Geautomatiseerde tests dekken maar een deel van de eisen; test ook met het toetsenbord en een schermlezer.',
      more: { one: 'De resultaatpagina toont nog {n} oorzaak.', other: 'De resultaatpagina toont nog {n} oorzaken.' },
      review: {
        one: 'Over {n} element konden de tests niet beslissen. Op de resultaatpagina staat wat u moet controleren.',
        other: 'Over {n} elementen konden de tests niet beslissen. Op de resultaatpagina staat wat u moet controleren.',
      },
      incomplete: 'Delen van de pagina konden niet worden getest. Op de resultaatpagina staat wat kan ontbreken.',
      button: 'Volledig resultaat openen',
    },
    failed: {
      subject: 'De toegankelijkheidsscan van {site} is mislukt',
      heading: 'De scan is mislukt',
      todo: 'Wat u kunt doen',
      steps: [
        'Open het adres in een privévenster van uw browser. De pagina moet zonder aanmelding laden.',
        'Controleer of een firewall of botbeveiliging geautomatiseerde browsers blokkeert.',
        'Vraag daarna een nieuwe scan aan.',
      ],
    },
    canceled: {
      subject: 'De toegankelijkheidsscan van {site} is geannuleerd',
      heading: 'De scan is geannuleerd',
      intro:
        'De scan van deze pagina is geannuleerd voordat hij klaar was. Er is daarom geen resultaat. U kunt op elk moment een nieuwe scan aanvragen.',
    },
    reason: 'U ontvangt deze e-mail omdat iemand op {host} een scan heeft aangevraagd en dit adres heeft opgegeven.',
    unsubscribe: 'Afmelden voor scanresultaten',
  },
  invitation: {
    subject: 'Uitnodiging voor {organisation} op Curbcut',
    heading: 'U bent uitgenodigd voor {organisation}',
    intro: '{invitedBy} nodigt u uit voor het toegankelijkheidsdashboard van {organisation} op Curbcut.',
    button: 'Uitnodiging accepteren',
    ignore: 'Verwachtte u deze uitnodiging niet, negeer deze e-mail dan.',
  },
  accountNotice: {
    sign_in: {
      subject: 'Nieuwe aanmelding bij uw Curbcut-account',
      heading: 'Aanmelding vanaf een nieuw netwerk',
      intro: 'Iemand heeft zich bij uw account op {host} aangemeld vanaf een netwerk dat u nog niet eerder gebruikte.',
    },
    password: {
      subject: 'Uw Curbcut-wachtwoord is gewijzigd',
      heading: 'Uw wachtwoord is gewijzigd',
      intro: 'Het wachtwoord van uw account op {host} is gewijzigd.',
    },
    factors: {
      subject: 'De tweede factoren van uw Curbcut-account zijn gewijzigd',
      heading: 'Uw tweede factoren zijn gewijzigd',
      intro: 'Een tweede factor of de herstelcodes van uw account op {host} zijn gewijzigd.',
    },
    at: 'Tijdstip',
    network: 'Netwerk',
    browser: 'Browser',
    ignore: 'Was u dit zelf, dan hoeft u niets te doen.',
    byAdministrator: 'De beheerder van de dienst heeft dit gewijzigd. Hebt u erom gevraagd, dan hoeft u niets te doen.',
    todo: 'Was u dit niet',
    steps: [
      'Open uw account en meld u overal af.',
      'Stel een nieuw wachtwoord in dat u nergens anders gebruikt.',
      'Licht een eigenaar van uw organisatie in. Het auditlogboek laat zien wat er is gedaan.',
    ],
    button: 'Account openen',
  },
  passwordReset: {
    subject: 'Nieuw wachtwoord voor Curbcut instellen',
    heading: 'Nieuw wachtwoord instellen',
    intro: 'Iemand heeft een link aangevraagd om een nieuw wachtwoord in te stellen voor uw account op {host}.',
    button: 'Nieuw wachtwoord instellen',
    ignore: 'Was u dat niet, negeer deze e-mail dan. Uw wachtwoord blijft hetzelfde.',
  },
  webhookStopped: {
    subject: 'Een webhook van {organisation} is uitgeschakeld',
    heading: 'Een webhook is uitgeschakeld',
    intro: '{host} verstuurt niets meer naar de webhook {webhook} van {organisation}.',
    gone: 'Het eindpunt {endpoint} heeft geantwoord dat het niet meer bestaat (410).',
    failing: 'Sinds {date} is elke poging om aan {endpoint} te bezorgen mislukt.',
    lost: 'Wat er gebeurt totdat u hem weer inschakelt, wordt niet bezorgd.',
    button: 'Webhook openen',
  },
};
