/** Shows the progress of a scan: one line that is redrawn on a terminal, plain lines elsewhere. */
import type { Step } from './service/follow.ts';
import { printable } from './errors.ts';
import { paint, type Terminal } from './terminal.ts';

export interface ProgressView {
  step(step: Step): void;
  /** Prints a notice, such as a wait or a fallback. It may quote untrusted text. */
  note(text: string): void;
  /** Removes the live line. */
  end(): void;
}

const BAR = 24;
const REDRAW_MS = 120;
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const ASCII_SPINNER = ['|', '/', '-', '\\'];

/** Shows nothing. */
export function noProgress(): ProgressView {
  return { step: () => {}, note: () => {}, end: () => {} };
}

/** Creates the view that suits the terminal. */
export function showProgress(terminal: Terminal, monotonic: () => number = () => performance.now()): ProgressView {
  return terminal.live ? liveLine(terminal, monotonic) : plainLines(terminal);
}

/** Prints a line for each phase and for each tenth of the pages. */
function plainLines(terminal: Terminal): ProgressView {
  let phase = '';
  let tenth = 0;
  return {
    step({ phase: next, pages }) {
      const reached = pages === null || pages.total === 0 ? 0 : Math.floor((10 * pages.scanned) / pages.total);
      if (next === phase && reached <= tenth) return;
      phase = next;
      tenth = Math.max(tenth, reached);
      terminal.write(`${next}${pages === null || pages.total === 0 ? '' : ` ${pages.scanned} of ${pages.total} pages`}\n`);
    },
    note: (text) => terminal.write(`${printable(text)}\n`),
    end: () => {},
  };
}

function liveLine(terminal: Terminal, monotonic: () => number): ProgressView {
  const start = monotonic();
  const frames = terminal.unicode ? SPINNER : ASCII_SPINNER;
  let step: Step | null = null;
  let frame = 0;
  let timer: NodeJS.Timeout | undefined;
  const draw = (): void => {
    if (step === null) return;
    const seconds = Math.floor((monotonic() - start) / 1000);
    terminal.write(`\r\u001b[2K${lineOf(step, frames[frame % frames.length]!, seconds, terminal)}`);
  };
  const clear = (): void => terminal.write('\r\u001b[2K');
  return {
    step(next) {
      // Polls have no page counts: keep the last ones of the stream.
      step = { phase: next.phase, pages: next.pages ?? step?.pages ?? null };
      draw();
      timer ??= setInterval(() => {
        frame += 1;
        draw();
      }, REDRAW_MS).unref();
    },
    note(text) {
      clear();
      terminal.write(`${paint(terminal, 'dim', printable(text))}\n`);
      draw();
    },
    end() {
      clearInterval(timer);
      if (step !== null) clear();
      step = null;
    },
  };
}

/** The live line, no wider than the terminal. */
export function lineOf({ phase, pages }: Step, spinner: string, seconds: number, terminal: Terminal): string {
  const share = pages === null || pages.total === 0 ? 0 : Math.min(1, pages.scanned / pages.total);
  const full = Math.round(share * BAR);
  const [done, open] = terminal.unicode ? ['█', '░'] : ['#', '.'];
  const counted = pages === null || pages.total === 0 ? '' : `  ${pages.scanned} of ${pages.total} pages`;
  const bar = `  ${done.repeat(full)}${open.repeat(BAR - full)}`;
  const head = `${spinner} ${phase.padEnd(11)}`;
  const room = terminal.columns() - 1;
  const tail = `${counted}  ${seconds} s`;
  // If the line is too long, drop the bar first.
  if (head.length + bar.length + tail.length <= room) return `${paint(terminal, 'cyan', head)}${bar}${tail}`;
  return `${head}${tail}`.slice(0, Math.max(0, room));
}
