import type { Translated } from '../translated.ts';

export const score: Translated<'score', 'pl'> = {
  average: {
    one: 'Wynik {score} jest wynikiem jedynej zbadanej strony',
    few: 'Wynik {score} jest średnią z {n} zbadanych stron',
    many: 'Wynik {score} jest średnią z {n} zbadanych stron',
    other: 'Wynik {score} jest średnią z {n} zbadanej strony',
  },
  counting: 'Naruszona reguła obniża wynik strony raz, zależnie od wagi, bez względu na liczbę elementów.',
  none: 'brak naruszeń',
  violations: {
    critical: {
      one: '{n} krytyczne naruszenie',
      few: '{n} krytyczne naruszenia',
      many: '{n} krytycznych naruszeń',
      other: '{n} krytycznego naruszenia',
    },
    serious: {
      one: '{n} poważne naruszenie',
      few: '{n} poważne naruszenia',
      many: '{n} poważnych naruszeń',
      other: '{n} poważnego naruszenia',
    },
    moderate: {
      one: '{n} umiarkowane naruszenie',
      few: '{n} umiarkowane naruszenia',
      many: '{n} umiarkowanych naruszeń',
      other: '{n} umiarkowanego naruszenia',
    },
    minor: {
      one: '{n} drobne naruszenie',
      few: '{n} drobne naruszenia',
      many: '{n} drobnych naruszeń',
      other: '{n} drobnego naruszenia',
    },
  },
  passed: {
    one: 'Zaliczono: jedyny próg jest spełniony.',
    few: 'Zaliczono: wszystkie {n} progi są spełnione.',
    many: 'Zaliczono: wszystkich {n} progów jest spełnionych.',
    other: 'Zaliczono: spełniono {n} progu.',
  },
  notPassed: 'Nie zaliczono: {reasons}.',
  knownNotCounted: 'bez znanych problemów',
  thresholds: {
    minScore: { name: 'Wynik', allowed: 'co najmniej {allowed}', missed: 'wynik {measured} jest niższy od minimum {allowed}' },
    maxViolations: {
      name: 'Naruszenia',
      allowed: 'co najwyżej {allowed}',
      missed: {
        one: '{n} naruszenie, dozwolone najwyżej {allowed}',
        few: '{n} naruszenia, dozwolone najwyżej {allowed}',
        many: '{n} naruszeń, dozwolone najwyżej {allowed}',
        other: '{n} naruszenia, dozwolone najwyżej {allowed}',
      },
    },
    maxNewViolations: {
      name: 'Nowe naruszenia',
      allowed: 'co najwyżej {allowed}',
      missed: {
        one: '{n} nowe naruszenie, dozwolone najwyżej {allowed}',
        few: '{n} nowe naruszenia, dozwolone najwyżej {allowed}',
        many: '{n} nowych naruszeń, dozwolone najwyżej {allowed}',
        other: '{n} nowego naruszenia, dozwolone najwyżej {allowed}',
      },
    },
    failOnSeverity: { name: 'Naruszenia wagi „{allowed}” lub wyższej', allowed: 'brak', missed: '{violations}, dozwolone: brak' },
    minCoverage: {
      name: 'Zbadane strony (%)',
      allowed: 'co najmniej {allowed}',
      missed: 'zbadano tylko {measured}% stron, wymagane co najmniej {allowed}%',
    },
  },
  notCompared: 'nie było badania bazowego do porównania, więc nowych naruszeń nie policzono',
  scoreMet: 'wynik {score} spełnia minimum {minimum}',
  scoreNotJudged: 'wynik {score} nie ma znaczenia, ponieważ nie ustalono minimum',
};
