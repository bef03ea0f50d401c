/** The texts about a rule in the dashboard, which is in English. */
import { ruleText, type RuleText } from '../../core/report/rule-texts/rule-texts.ts';
import type { ViewGroup } from '../../core/report/view-schema.ts';

/** Rules that this version does not know have the texts of their report, which are in the language of the scan. */
export const ruleTextOf = ({ rule, help, description }: Pick<ViewGroup, 'rule' | 'help' | 'description'>): RuleText =>
  ruleText(rule, 'en') ?? { help, description, why: '', fix: '' };
