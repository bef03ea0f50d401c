/** What a scan answered to the dialog that asks for consent to cookies: its schema, and one sentence in each language. */
import { Type, type Static } from 'typebox';
import type { Locale } from '../scan/locales.ts';
import { CONSENT_CHOICES } from '../scan/options.ts';
import { nullable, oneOf } from '../schemas.ts';

/** The maximum length of a product's name, in characters. */
export const PRODUCT_MAX = 100;

/**
 * - `answered`
 * - `shown_again`: it was answered, but shows again when the page is loaded again
 * - `not_found`: no dialog was recognised
 * - `failed`: the dialog did not react
 */
const OUTCOMES = ['answered', 'shown_again', 'not_found', 'failed'] as const;

export const ReportConsent = Type.Object(
  {
    action: oneOf(CONSENT_CHOICES.slice(1) as ['reject', 'accept']),
    outcome: oneOf(OUTCOMES),
    /** The consent product, by the name of its rule in autoconsent. Null if no dialog was recognised. */
    product: nullable(Type.String({ maxLength: PRODUCT_MAX })),
    /** The page that was searched for the dialog. */
    url: Type.String(),
  },
  { additionalProperties: false },
);
export type ReportConsent = Static<typeof ReportConsent>;

type Sentence = ReportConsent['action'] | Exclude<ReportConsent['outcome'], 'answered'>;

/** `{product}` `{url}` */
const SENTENCES: Readonly<Record<Locale, Readonly<Record<Sentence, string>>>> = {
  en: {
    reject:
      'The consent dialog of {product} on {url} was rejected: the start page was tested with the open dialog and after the answer, all other pages after it.',
    accept:
      'The consent dialog of {product} on {url} was accepted: the start page was tested with the open dialog and after the answer, all other pages after it.',
    shown_again:
      'The consent dialog of {product} on {url} was answered, but shows again when the page is loaded again, so pages may have been tested with it.',
    not_found: 'No consent dialog was recognised on {url}, so none was answered.',
    failed: 'The consent dialog of {product} on {url} could not be answered, so the pages were tested without an answer.',
  },
  de: {
    reject:
      'Der Einwilligungsdialog von {product} auf {url} wurde abgelehnt: Die Startseite wurde mit offenem Dialog und nach der Antwort geprüft, alle anderen Seiten danach.',
    accept:
      'Dem Einwilligungsdialog von {product} auf {url} wurde zugestimmt: Die Startseite wurde mit offenem Dialog und nach der Antwort geprüft, alle anderen Seiten danach.',
    shown_again:
      'Der Einwilligungsdialog von {product} auf {url} wurde beantwortet, erscheint aber beim nächsten Laden wieder; Seiten können daher mit dem Dialog geprüft worden sein.',
    not_found: 'Auf {url} wurde kein Einwilligungsdialog erkannt, daher wurde keiner beantwortet.',
    failed: 'Der Einwilligungsdialog von {product} auf {url} ließ sich nicht beantworten, daher wurden die Seiten ohne Antwort geprüft.',
  },
  fr: {
    reject:
      'La boîte de dialogue de consentement ({product}) sur {url} a été refusée\u00a0: la page de départ a été testée avec la boîte ouverte puis après la réponse, et toutes les autres pages après celle-ci.',
    accept:
      'La boîte de dialogue de consentement ({product}) sur {url} a été acceptée\u00a0: la page de départ a été testée avec la boîte ouverte puis après la réponse, et toutes les autres pages après celle-ci.',
    shown_again:
      'La boîte de dialogue de consentement ({product}) sur {url} a reçu une réponse, mais réapparaît au chargement suivant\u00a0; des pages ont donc pu être testées avec elle.',
    not_found: 'Aucune boîte de dialogue de consentement n’a été reconnue sur {url}\u00a0; aucune réponse n’a donc été donnée.',
    failed:
      'La boîte de dialogue de consentement ({product}) sur {url} n’a pas pu recevoir de réponse\u00a0; les pages ont donc été testées sans réponse.',
  },
  nl: {
    reject:
      'De toestemmingsdialoog van {product} op {url} is geweigerd: de startpagina is getest met de open dialoog en na het antwoord, alle andere pagina’s daarna.',
    accept:
      'De toestemmingsdialoog van {product} op {url} is geaccepteerd: de startpagina is getest met de open dialoog en na het antwoord, alle andere pagina’s daarna.',
    shown_again:
      'De toestemmingsdialoog van {product} op {url} is beantwoord, maar verschijnt bij het volgende laden opnieuw; pagina’s kunnen dus met de dialoog zijn getest.',
    not_found: 'Op {url} is geen toestemmingsdialoog herkend, dus er is er geen beantwoord.',
    failed: 'De toestemmingsdialoog van {product} op {url} kon niet worden beantwoord, dus de pagina’s zijn zonder antwoord getest.',
  },
  pl: {
    reject:
      'Okno zgody {product} na stronie {url} zostało odrzucone: stronę początkową przetestowano z otwartym oknem i po odpowiedzi, a wszystkie inne strony po niej.',
    accept:
      'Okno zgody {product} na stronie {url} zostało zaakceptowane: stronę początkową przetestowano z otwartym oknem i po odpowiedzi, a wszystkie inne strony po niej.',
    shown_again:
      'Na okno zgody {product} na stronie {url} odpowiedziano, ale pojawia się przy kolejnym wczytaniu, więc strony mogły zostać przetestowane z oknem.',
    not_found: 'Na stronie {url} nie rozpoznano okna zgody, więc na żadne nie odpowiedziano.',
    failed: 'Na okno zgody {product} na stronie {url} nie udało się odpowiedzieć, więc strony przetestowano bez odpowiedzi.',
  },
};

/** Describes in one sentence what was answered. */
export function consentSentence({ action, outcome, product, url }: ReportConsent, locale: Locale): string {
  const values = { product: product ?? '', url };
  const sentence = SENTENCES[locale][outcome === 'answered' ? action : outcome];
  return sentence.replace(/\{(product|url)\}/g, (_, name: keyof typeof values) => values[name]);
}
