/** The texts of the public pages. The type requires every key in every language; `texts.test.ts` compares the placeholders. */
import type { Plural, PluralOf } from '../../../../core/i18n.ts';
import type { LivePhase } from '../../../../core/scan/phases.ts';
import type { Locale } from '../../../../core/scan/locales.ts';

/** The texts of any language. */
export type PublicTexts = TextsWith<Plural>;
/** The texts of one language, with all its plural forms. */
export type PublicTextsOf<L extends Locale> = TextsWith<PluralOf<L>>;

interface Part {
  title: string;
  text: string;
}

interface TextsWith<Forms> {
  home: {
    title: string;
    lead: string;
    description: string;
    formTitle: string;
    url: string;
    urlHint: string;
    email: string;
    emailHint: string;
    botCheck: string;
    botCheckNeedsScripts: string;
    submit: string;
    disabled: Part;
    getTitle: string;
    get: readonly [string, string, string];
    honest: Part;
    usesTitle: string;
    ci: Part;
    kubernetes: Part;
    people: Part;
    readMore: string;
  };
  /** One text for each refusal. */
  refused: {
    urlMissing: string;
    urlInvalid: string;
    /** `{max}` */
    urlTooLong: string;
    urlScheme: string;
    urlCredentials: string;
    urlPort: string;
    urlPrivate: string;
    urlUnresolvable: string;
    emailMissing: string;
    emailInvalid: string;
    /** `{when}` */
    rateLimited: string;
    turnstileRefused: string;
    turnstileUnavailable: string;
    inProgress: string;
    dnsUnavailable: string;
    queuePaused: string;
    busy: string;
    disabled: string;
    internal: string;
  };
  /** After "try again": in how long. */
  inMinutes: Forms;
  inHours: Forms;
  waiting: {
    /** `{site}` */
    title: string;
    state: string;
    states: Record<LivePhase, string>;
    position: Forms;
    next: string;
    progress: string;
    mail: string;
    again: string;
    noScripts: string;
  };
  result: {
    /** `{site}` */
    title: string;
    /** `{date}` */
    tested: string;
    score: string;
    outOf: string;
    scoreMeaning: string;
    none: Part;
    found: Forms;
    foundText: string;
    disclaimer: string;
    countsTitle: string;
    fixTitle: string;
    fixIntro: string;
    elements: Forms;
    why: string;
    fix: string;
    element: string;
    selector: string;
    inFrame: string;
    inShadow: string;
    criteria: string;
    /** `{rule}` */
    learnMore: string;
    moreCauses: Forms;
    all: Forms;
    reviewTitle: string;
    reviewIntro: string;
    gapsTitle: string;
    frames: Forms;
    /** `{help}`: what the rule asks for. */
    pictureAlt: string;
    anotherTitle: string;
    another: string;
    ready: string;
    missing: Part;
  };
  failed: Part & { reason: string };
  canceled: Part;
  again: string;
  unknown: Part;
}
