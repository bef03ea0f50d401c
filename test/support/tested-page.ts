import { emptyTally } from '../../report/results/score.ts';
import type { TestedPage } from '../../report/schema/page.ts';

/** A page that was tested completely, without findings. */
export const testedPage = (url: string, over: Partial<TestedPage> = {}): TestedPage => ({
  url,
  final_url: url,
  http_status: 200,
  title: '',
  language: 'en',
  size: { width: 1280, height: 900 },
  tested: true,
  score: 100,
  rules: emptyTally(),
  duration_ms: 10,
  violations: [],
  needs_review: [],
  advice: [],
  rules_passed: [],
  rules_not_applicable: [],
  frames_untested: [],
  caveats: [],
  ...over,
});
