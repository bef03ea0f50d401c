/** The provenance of a release: an in-toto statement with the predicate of SLSA 1.0. The release workflow signs it. */

export interface Digest {
  sha256: string;
}

export interface Subject {
  name: string;
  digest: Digest;
}

export interface Build {
  version: string;
  /** The commit, with `-dirty` if files differed from it. */
  revision: string;
  /** The address of the repository. Empty if it is unknown. */
  source: string;
  /** The image that all others start from. */
  base: string;
  lockFile: Digest;
  /** The workflow run that built it. Null on another machine, whose statement proves nothing. */
  run: { workflow: string; id: string } | null;
}

/** The statement about files and images. It holds no date, so that the same build gives the same bytes. */
export function provenanceOf(build: Build, subject: readonly Subject[]): object {
  const [image = '', pinned] = build.base.split('@sha256:');
  const commit = build.revision.replace(/-dirty$/, '');
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject,
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://curbcut.dev/release/v1',
        externalParameters: { version: build.version, source: build.source || 'unknown', revision: build.revision },
        internalParameters: { command: 'make release-dry-run', clean: commit === build.revision },
        resolvedDependencies: [
          { uri: build.source === '' ? 'git:unknown' : `git+${build.source}`, digest: { gitCommit: commit } },
          { uri: 'file:package-lock.json', digest: build.lockFile },
          { uri: `docker://${image}`, ...(pinned !== undefined && { digest: { sha256: pinned } }) },
        ],
      },
      runDetails: {
        builder: { id: build.run?.workflow ?? 'https://curbcut.dev/release/unsigned-local-build' },
        ...(build.run !== null && { metadata: { invocationId: build.run.id } }),
      },
    },
  };
}
