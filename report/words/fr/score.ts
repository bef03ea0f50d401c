import type { Translated } from '../translated.ts';

export const score: Translated<'score', 'fr'> = {
  average: {
    one: 'Le score de {score} est celui de la seule page testée',
    many: 'Le score de {score} est la moyenne de {n} de pages testées',
    other: 'Le score de {score} est la moyenne de {n} pages testées',
  },
  counting:
    'Une règle non respectée abaisse une seule fois le score d’une page, selon sa gravité, quel que soit le nombre d’éléments en défaut.',
  none: 'aucune violation',
  violations: {
    critical: { one: '{n} violation critique', many: '{n} de violations critiques', other: '{n} violations critiques' },
    serious: { one: '{n} violation grave', many: '{n} de violations graves', other: '{n} violations graves' },
    moderate: { one: '{n} violation modérée', many: '{n} de violations modérées', other: '{n} violations modérées' },
    minor: { one: '{n} violation mineure', many: '{n} de violations mineures', other: '{n} violations mineures' },
  },
  passed: {
    one: 'Réussi : le seul seuil est respecté.',
    many: 'Réussi : les {n} de seuils sont respectés.',
    other: 'Réussi : les {n} seuils sont respectés.',
  },
  notPassed: 'Non réussi : {reasons}.',
  knownNotCounted: 'problèmes connus non comptés',
  thresholds: {
    minScore: { name: 'Score', allowed: 'au moins {allowed}', missed: 'le score de {measured} est inférieur au minimum de {allowed}' },
    maxViolations: {
      name: 'Violations',
      allowed: 'au plus {allowed}',
      missed: {
        one: '{n} violation, au plus {allowed} admises',
        many: '{n} de violations, au plus {allowed} admises',
        other: '{n} violations, au plus {allowed} admises',
      },
    },
    maxNewViolations: {
      name: 'Nouvelles violations',
      allowed: 'au plus {allowed}',
      missed: {
        one: '{n} nouvelle violation, au plus {allowed} admises',
        many: '{n} de nouvelles violations, au plus {allowed} admises',
        other: '{n} nouvelles violations, au plus {allowed} admises',
      },
    },
    failOnSeverity: { name: 'Violations de gravité « {allowed} » ou pire', allowed: 'aucune', missed: '{violations}, aucune admise' },
    minCoverage: {
      name: 'Pages testées (%)',
      allowed: 'au moins {allowed}',
      missed: 'seulement {measured} % des pages ont pu être testées, au moins {allowed} % exigés',
    },
  },
  notCompared: 'il n’y avait pas d’analyse de référence, donc les nouvelles violations n’ont pas pu être comptées',
  scoreMet: 'le score de {score} atteint le minimum de {minimum}',
  scoreNotJudged: 'le score de {score} ne compte pas, car aucun minimum n’est fixé',
};
