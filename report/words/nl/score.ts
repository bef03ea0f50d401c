import type { Translated } from '../translated.ts';

export const score: Translated<'score', 'nl'> = {
  average: {
    one: 'De score van {score} is die van de enige geteste pagina',
    other: 'De score van {score} is het gemiddelde van {n} geteste pagina’s',
  },
  counting: 'Een regel waaraan niet is voldaan, verlaagt de score van een pagina één keer, naar ernst, hoeveel elementen het ook betreft.',
  none: 'geen overtredingen',
  violations: {
    critical: { one: '{n} kritieke overtreding', other: '{n} kritieke overtredingen' },
    serious: { one: '{n} ernstige overtreding', other: '{n} ernstige overtredingen' },
    moderate: { one: '{n} matige overtreding', other: '{n} matige overtredingen' },
    minor: { one: '{n} geringe overtreding', other: '{n} geringe overtredingen' },
  },
  passed: { one: 'Geslaagd: de enige drempel is gehaald.', other: 'Geslaagd: alle {n} drempels zijn gehaald.' },
  notPassed: 'Niet geslaagd: {reasons}.',
  knownNotCounted: 'bekende problemen niet meegeteld',
  thresholds: {
    minScore: { name: 'Score', allowed: 'minstens {allowed}', missed: 'de score van {measured} ligt onder het minimum van {allowed}' },
    maxViolations: {
      name: 'Overtredingen',
      allowed: 'hoogstens {allowed}',
      missed: { one: '{n} overtreding, hoogstens {allowed} toegestaan', other: '{n} overtredingen, hoogstens {allowed} toegestaan' },
    },
    maxNewViolations: {
      name: 'Nieuwe overtredingen',
      allowed: 'hoogstens {allowed}',
      missed: {
        one: '{n} nieuwe overtreding, hoogstens {allowed} toegestaan',
        other: '{n} nieuwe overtredingen, hoogstens {allowed} toegestaan',
      },
    },
    failOnSeverity: { name: 'Overtredingen van ernst ‘{allowed}’ of erger', allowed: 'geen', missed: '{violations}, geen toegestaan' },
    minCoverage: {
      name: 'Geteste pagina’s (%)',
      allowed: 'minstens {allowed}',
      missed: 'slechts {measured}% van de pagina’s kon worden getest, minstens {allowed}% vereist',
    },
  },
  notCompared: 'er was geen uitgangsscan om mee te vergelijken, dus nieuwe overtredingen zijn niet geteld',
  scoreMet: 'de score van {score} haalt het minimum van {minimum}',
  scoreNotJudged: 'de score van {score} telt niet mee, omdat er geen minimum is ingesteld',
};
