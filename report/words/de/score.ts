import type { Translated } from '../translated.ts';

export const score: Translated<'score', 'de'> = {
  average: {
    one: 'Die Punktzahl {score} ist die der einzigen geprüften Seite',
    other: 'Die Punktzahl {score} ist der Mittelwert von {n} geprüften Seiten',
  },
  counting: 'Eine verletzte Regel senkt die Punktzahl einer Seite einmal, je nach Schweregrad, gleich wie viele Elemente betroffen sind.',
  none: 'keine Verstöße',
  violations: {
    critical: { one: '{n} kritischer Verstoß', other: '{n} kritische Verstöße' },
    serious: { one: '{n} schwerwiegender Verstoß', other: '{n} schwerwiegende Verstöße' },
    moderate: { one: '{n} mäßiger Verstoß', other: '{n} mäßige Verstöße' },
    minor: { one: '{n} geringer Verstoß', other: '{n} geringe Verstöße' },
  },
  passed: { one: 'Bestanden: Der einzige Schwellenwert ist eingehalten.', other: 'Bestanden: Alle {n} Schwellenwerte sind eingehalten.' },
  notPassed: 'Nicht bestanden: {reasons}.',
  knownNotCounted: 'bekannte Probleme nicht mitgezählt',
  thresholds: {
    minScore: {
      name: 'Punktzahl',
      allowed: 'mindestens {allowed}',
      missed: 'die Punktzahl {measured} liegt unter dem Minimum von {allowed}',
    },
    maxViolations: {
      name: 'Verstöße',
      allowed: 'höchstens {allowed}',
      missed: { one: '{n} Verstoß, erlaubt höchstens {allowed}', other: '{n} Verstöße, erlaubt höchstens {allowed}' },
    },
    maxNewViolations: {
      name: 'Neue Verstöße',
      allowed: 'höchstens {allowed}',
      missed: { one: '{n} neuer Verstoß, erlaubt höchstens {allowed}', other: '{n} neue Verstöße, erlaubt höchstens {allowed}' },
    },
    failOnSeverity: { name: 'Verstöße vom Schweregrad „{allowed}“ oder höher', allowed: 'keine', missed: '{violations}, erlaubt keine' },
    minCoverage: {
      name: 'Geprüfte Seiten (%)',
      allowed: 'mindestens {allowed}',
      missed: 'nur {measured} % der Seiten konnten geprüft werden, verlangt mindestens {allowed} %',
    },
  },
  notCompared: 'es gab keine Ausgangsprüfung zum Vergleich, deshalb sind neue Verstöße nicht gezählt',
  scoreMet: 'die Punktzahl {score} erreicht das Minimum von {minimum}',
  scoreNotJudged: 'die Punktzahl {score} entscheidet nicht, weil kein Minimum gesetzt ist',
};
