/** The defaults of comments. Loads nothing, for the texts of --help. */

/** GitHub refuses comments of more than 65,536 characters. */
export const COMMENT_MAX_CHARACTERS = 60_000;
/** How many root causes a comment describes. */
export const COMMENT_CAUSES = 10;
