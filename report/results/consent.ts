/** What a scan answered to the dialog that asks for consent to cookies: its schema. */
import { Type, type Static } from 'typebox';
import { CONSENT_CHOICES } from '../../core/scan/options.ts';
import { nullable, oneOf } from '../../core/schemas.ts';

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
