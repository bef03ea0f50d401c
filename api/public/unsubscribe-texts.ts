/** The texts of the unsubscribe page in each language. */
import type { Locale } from '../../core/scan/locales.ts';

export interface UnsubscribeTexts {
  title: string;
  /** What happens when the button is pressed. */
  question: string;
  unsubscribe: string;
  doneTitle: string;
  done: string;
  /** Which mails still arrive. */
  other: string;
  resubscribe: string;
  unknownTitle: string;
  unknown: string;
}

export const UNSUBSCRIBE_TEXTS: Record<Locale, UnsubscribeTexts> = {
  en: {
    title: 'Unsubscribe from scan results',
    question: 'We will no longer send results of public scans to your e-mail address, even if somebody requests them.',
    unsubscribe: 'Unsubscribe',
    doneTitle: 'You are unsubscribed',
    done: 'We send no more results of public scans to your e-mail address. You can change this at any time.',
    other: 'Invitations and links for a new password are still sent.',
    resubscribe: 'Receive results again',
    unknownTitle: 'This link is not valid',
    unknown: 'The link is incomplete or has expired. Use the unsubscribe link of the last mail that you received from us.',
  },
  de: {
    title: 'Prüfergebnisse abbestellen',
    question: 'Wir senden dann keine Ergebnisse öffentlicher Prüfungen mehr an Ihre E-Mail-Adresse, wer auch immer sie anfordert.',
    unsubscribe: 'Abbestellen',
    doneTitle: 'Sie haben die Ergebnisse abbestellt',
    done: 'Wir senden keine Ergebnisse öffentlicher Prüfungen mehr an Ihre E-Mail-Adresse. Sie können das jederzeit ändern.',
    other: 'Einladungen und Links für ein neues Passwort erhalten Sie weiterhin.',
    resubscribe: 'Ergebnisse wieder erhalten',
    unknownTitle: 'Dieser Link ist nicht gültig',
    unknown:
      'Der Link ist unvollständig oder abgelaufen. Verwenden Sie den Abmeldelink der letzten E-Mail, die Sie von uns erhalten haben.',
  },
  fr: {
    title: 'Ne plus recevoir les résultats d’analyse',
    question:
      'Nous n’enverrons plus de résultats d’analyses publiques à votre adresse e-mail, quelle que soit la personne qui les demande.',
    unsubscribe: 'Se désabonner',
    doneTitle: 'Vous êtes désabonné(e)',
    done: 'Nous n’envoyons plus de résultats d’analyses publiques à votre adresse e-mail. Vous pouvez changer d’avis à tout moment.',
    other: 'Vous recevrez toujours les invitations et les liens pour un nouveau mot de passe.',
    resubscribe: 'Recevoir à nouveau les résultats',
    unknownTitle: 'Ce lien n’est pas valide',
    unknown: 'Le lien est incomplet ou a expiré. Utilisez le lien de désabonnement du dernier message que vous avez reçu de notre part.',
  },
  nl: {
    title: 'Afmelden voor scanresultaten',
    question: 'Wij sturen dan geen resultaten van openbare scans meer naar uw e-mailadres, wie ze ook aanvraagt.',
    unsubscribe: 'Afmelden',
    doneTitle: 'U bent afgemeld',
    done: 'Wij sturen geen resultaten van openbare scans meer naar uw e-mailadres. U kunt dit op elk moment wijzigen.',
    other: 'Uitnodigingen en links voor een nieuw wachtwoord ontvangt u nog wel.',
    resubscribe: 'Resultaten weer ontvangen',
    unknownTitle: 'Deze link is niet geldig',
    unknown: 'De link is onvolledig of verlopen. Gebruik de afmeldlink in de laatste e-mail die u van ons hebt ontvangen.',
  },
  pl: {
    title: 'Rezygnacja z otrzymywania wyników testów',
    question: 'Nie będziemy już wysyłać wyników publicznych testów na Państwa adres e-mail, niezależnie od tego, kto je zamówi.',
    unsubscribe: 'Rezygnuję',
    doneTitle: 'Rezygnacja została zapisana',
    done: 'Nie wysyłamy już wyników publicznych testów na Państwa adres e-mail. Tę decyzję można zmienić w dowolnej chwili.',
    other: 'Zaproszenia i linki do ustawienia nowego hasła będą nadal wysyłane.',
    resubscribe: 'Chcę znowu otrzymywać wyniki',
    unknownTitle: 'Ten link jest nieprawidłowy',
    unknown: 'Link jest niepełny lub wygasł. Proszę użyć linku do rezygnacji z ostatniej wiadomości, którą Państwo od nas otrzymali.',
  },
};
