/** The further hosts of a scan (`crawl.hosts`): robots.txt of each is read before its first page is requested. */
import type { CrawlRules } from '../../core/scan/options.ts';
import { bareHost } from '../../core/scan/site.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../platform/time-limits.ts';
import type { AddressParts } from './address.ts';
import { OUT_OF_TIME, type WrongPage } from './page-checks.ts';
import { fetchRobots, NO_ROBOTS, type Robots, type RobotsAnswer, type RobotsDeps, type RobotsFile } from './robots.ts';

/** The number of further hosts whose pages are requested, because a domain may have any number of names. */
const HOSTS_MAX = 20;
const TOO_MANY: WrongPage = {
  reason: 'excluded',
  message: `A scan tests pages of at most ${HOSTS_MAX} further hosts. To test this one, scan it by itself.`,
};

export function disallowed(robots: Robots, url: AddressParts): WrongPage | null {
  const message = robots.refusal(url);
  return message === null ? null : { reason: 'robots_disallowed', message };
}

/** @param deps.softDeadline the time after which no page is started, in milliseconds since the epoch */
export function createFurtherHosts(
  { respectRobots }: Pick<CrawlRules, 'respectRobots'>,
  { softDeadline, ...deps }: Pick<RobotsDeps, 'files' | 'signal'> & { softDeadline: number },
) {
  const asked = new Map<string, Promise<RobotsAnswer>>();
  const read = new Map<string, Robots>();

  /** What robots.txt of a host says; null if the time is up before it is read. */
  async function answerOf(url: URL, host: string): Promise<RobotsAnswer | null> {
    const answer = asked.get(host) ?? (respectRobots ? fetchRobots(url, deps) : Promise.resolve({ ok: true as const, robots: NO_ROBOTS }));
    asked.set(host, answer);
    return withTimeLimit(answer, softDeadline - Date.now(), 'reading robots.txt').catch((error: unknown) => {
      if (error instanceof TimeLimitExceeded) return null;
      throw error;
    });
  }

  return {
    /** The rules of the host of a page that was admitted. */
    robots: (url: URL): Robots => read.get(bareHost(url)) ?? NO_ROBOTS,
    /** The files that were read, by host. */
    files: (): [host: string, file: RobotsFile][] =>
      [...read].flatMap(([host, { source }]) => (source === null ? [] : [[host, source] as const])),
    /** Returns why a page must not be requested, or null. Credentials are never sent. @throws the reason of the signal of `files` */
    async admit(url: URL): Promise<WrongPage | null> {
      const host = bareHost(url);
      if (!asked.has(host) && asked.size === HOSTS_MAX) return TOO_MANY;
      const answer = await answerOf(url, host);
      if (answer === null) return OUT_OF_TIME;
      // The visit of a host that scans must not reach says so.
      if (!answer.ok) return answer.reason === 'refused' ? null : { reason: 'navigation_failed', message: answer.message };
      read.set(host, answer.robots);
      return disallowed(answer.robots, url);
    },
  };
}
