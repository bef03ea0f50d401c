/** The options of a command as its --help describes them, which is where completion gets them from. */

/** An option in a help text. */
export interface HelpOption {
  name: string;
  /** One letter, such as `o` of `-o`. */
  short: string | null;
  /** The placeholder of its value, such as FILE. Null: it has none. */
  value: string | null;
  meaning: string;
}

/** A row starts with an option, or with several that belong together: `  --rule R --selector S`. */
const ROW = /^ {2}(?=-)((?:(?:-\w, )?--[a-z][a-z-]*(?: [A-Z][A-Z=]*(?= |$))?(?: |$))+) *(.*)$/;
/** A line that continues the meaning of the row above. */
const CONTINUED = /^ {8,}\S/;
const OPTION = /(?:-(\w), )?--([a-z][a-z-]*)(?: ([A-Z][A-Z=]*))?(?: |$)/g;

/** Returns the options in a help text. */
export function optionsIn(help: string): HelpOption[] {
  const lines = help.split('\n');
  return lines.flatMap((line, index) => {
    const [, head, rest] = ROW.exec(line) ?? [];
    if (head === undefined) return [];
    // The meaning of a long option starts on the next line, and any meaning may go on there.
    const after = lines.slice(index + 1);
    const more = after.slice(
      0,
      after.findIndex((one) => !CONTINUED.test(one)),
    );
    const meaning = [rest!, ...more].map((one) => one.trim()).join(' ').trim(); // prettier-ignore
    return [...head.matchAll(OPTION)].map(([, short, name, value]) => ({
      name: name!,
      short: short ?? null,
      value: value ?? null,
      meaning,
    }));
  });
}

/** Returns the meanings of the commands in the help of a program, by their names. */
export const commandsIn = (help: string): Map<string, string> =>
  new Map([...help.matchAll(/^ {2}curbcut ([a-z]+)\b.*? {2,}(\S.*)$/gm)].map(([, name, meaning]) => [name!, meaning!]));
