/** The names and limits of the thresholds in every language. `{allowed}` is a number or the name of a severity. */
import type { Locale } from '../../../../core/scan/locales.ts';
import type { ThresholdName } from '../../../../core/scan/thresholds.ts';

export interface ThresholdTexts {
  name: string;
  allowed: string;
}

export const THRESHOLD_TEXTS: Record<Locale, Record<ThresholdName, ThresholdTexts>> = {
  en: {
    minScore: { name: 'Score', allowed: 'at least {allowed}' },
    maxViolations: { name: 'Violations', allowed: 'at most {allowed}' },
    failOnSeverity: { name: 'Violations of severity “{allowed}” or worse', allowed: 'none' },
    minCoverage: { name: 'Tested pages (%)', allowed: 'at least {allowed}' },
  },
  de: {
    minScore: { name: 'Punktzahl', allowed: 'mindestens {allowed}' },
    maxViolations: { name: 'Verstöße', allowed: 'höchstens {allowed}' },
    failOnSeverity: { name: 'Verstöße vom Schweregrad „{allowed}“ oder höher', allowed: 'keine' },
    minCoverage: { name: 'Geprüfte Seiten (%)', allowed: 'mindestens {allowed}' },
  },
  fr: {
    minScore: { name: 'Score', allowed: 'au moins {allowed}' },
    maxViolations: { name: 'Violations', allowed: 'au plus {allowed}' },
    failOnSeverity: { name: 'Violations de gravité « {allowed} » ou pire', allowed: 'aucune' },
    minCoverage: { name: 'Pages testées (%)', allowed: 'au moins {allowed}' },
  },
  nl: {
    minScore: { name: 'Score', allowed: 'minstens {allowed}' },
    maxViolations: { name: 'Overtredingen', allowed: 'hoogstens {allowed}' },
    failOnSeverity: { name: 'Overtredingen van ernst ‘{allowed}’ of erger', allowed: 'geen' },
    minCoverage: { name: 'Geteste pagina’s (%)', allowed: 'minstens {allowed}' },
  },
  pl: {
    minScore: { name: 'Wynik', allowed: 'co najmniej {allowed}' },
    maxViolations: { name: 'Naruszenia', allowed: 'co najwyżej {allowed}' },
    failOnSeverity: { name: 'Naruszenia wagi „{allowed}” lub wyższej', allowed: 'brak' },
    minCoverage: { name: 'Zbadane strony (%)', allowed: 'co najmniej {allowed}' },
  },
};
