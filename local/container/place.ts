/** Whether a container has what the whole product needs. */
import { accessSync, constants, statfsSync } from 'node:fs';
import { totalmem } from 'node:os';

/** API, operator, stores, a scanner and Chromium with two tabs: 1.24 GB at the peak of a scan of the demo site. */
export const MEMORY_MIN = 1_500_000_000;
/** Reports, documents and logs of some scans; the profile of Chromium; also its shared memory if /dev/shm is small. */
export const FOLDER_MIN = 200_000_000;

export interface Place {
  /** The limit of the container, or what the machine has. */
  memoryBytes: number;
  /** Free space by folder. Null if the folder cannot be written. */
  folders: Readonly<Record<string, number | null>>;
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

/** What is missing, one sentence each. */
export function missingIn({ memoryBytes, folders }: Place): string[] {
  return [
    ...(memoryBytes >= MEMORY_MIN
      ? []
      : [
          `The container may use ${megabytes(memoryBytes)} of memory; Curbcut with a browser needs ${megabytes(MEMORY_MIN)} (docker run --memory 2g).`,
        ]),
    ...Object.entries(folders).flatMap(([folder, free]) => {
      if (free === null)
        return [
          `The container cannot write to ${folder}; with a read-only root, mount a tmpfs there (docker run --tmpfs ${folder}:mode=1777).`,
        ];
      return free >= FOLDER_MIN ? [] : [`${folder} has ${megabytes(free)} of free space; Curbcut needs ${megabytes(FOLDER_MIN)} there.`];
    }),
  ];
}

export function lookAround(folders: readonly string[]): Place {
  return {
    // Zero, or more than any machine has, if there is no limit.
    memoryBytes: Math.min(process.constrainedMemory() || Infinity, totalmem()),
    folders: Object.fromEntries(folders.map((folder) => [folder, freeIn(folder)])),
  };
}

function freeIn(folder: string): number | null {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return null; // Reported as a folder that cannot be written.
  }
}
